/**
 * Judges what the pool said in one transaction against what was handed to it and what the ledger knows. Every
 * rule that the pool took an enclave's word for is checked here again, without that word.
 */
import { recoverAddress, type LogDescription } from "ethers";
import {
  attestationDigest,
  rootUpdateDigest,
  SIGNATURE_BYTES,
} from "../../../shared/protocol/attestation.ts";
import {
  addressFromField,
  asAddress,
  asField,
  mustField,
  type Address,
  type Bytes32,
  type Field,
} from "../../../shared/protocol/brands.ts";
import { concatBytes, toHex, word } from "../../../shared/protocol/bytes.ts";
import { keccakHex, poseidon3 } from "../../../shared/protocol/hash.ts";
import {
  checkStatement,
  KINDS,
  kindById,
  statementHashOf,
  type Home,
  type Kind,
  type Statement,
} from "../../../shared/protocol/statements.ts";
import { poolInterface, type Handed, type Member, type Update } from "./calls.ts";
import { Contradiction, type Code } from "./findings.ts";
import type { ProofVerifier } from "./groth16.ts";
import { ownerEventOf, proposalText, type Change } from "../owner-events.ts";
import type { Ledger } from "./ledger.ts";
import type { Header, Log } from "./node.ts";

/** What never changes of a pool. */
export interface WatchedPool {
  readonly home: Home;
  readonly threshold: number;
  readonly keyHashes: Readonly<Record<Kind, Bytes32>>;
}

export interface SeenTransaction {
  readonly hash: Bytes32;
  /** All that it logged, whoever wrote it, in order. */
  readonly logs: readonly Log[];
  /** A text says why it is not known. */
  readonly handed: readonly Handed[] | string;
}

/** One thing the pool said, and the logs of others that follow it up to its next word about a member. */
interface Said {
  readonly log: Log;
  readonly event: LogDescription;
}

const CODE_OF = {
  proposed: "PROPOSED",
  admitted: "ADMITTED",
  withdrawn: "WITHDRAWN",
  removed: "REMOVED",
} as const satisfies Record<Change, Code>;

/** The pool answers each member, and then the update, with exactly one of these. */
const ANSWERS: Readonly<Record<string, Handed["type"]>> = {
  Executed: "member",
  Rejected: "member",
  RootUpdated: "update",
  RootUpdateSkipped: "update",
};

/** Whether judging needs what was handed to the pool: where it only refused, or the owner spoke, nothing was believed. */
export function needsCalldata(logs: readonly Log[], pool: Address): boolean {
  return logs.some(({ address, topics }) => address === pool && BELIEVED.has(topics[0] ?? ""));
}
const BELIEVED = new Set(["Executed", "RootUpdated"].map((name) => poolInterface.getEvent(name)!.topicHash));

/** What has expired by a block's time, reported as of that block. */
export function expire(ledger: Ledger, header: Header): void {
  for (const proposal of ledger.expire(header.timestamp)) {
    ledger.report({ code: "EXPIRED", block: header.number, detail: proposalText(proposal) });
  }
}

export function judge(
  ledger: Ledger,
  pool: WatchedPool,
  verifier: ProofVerifier,
  header: Header,
  transaction: SeenTransaction,
): void {
  // Before its own words: what expired may be proposed again in this very transaction.
  expire(ledger, header);
  try {
    new Judgement(ledger, pool, verifier, header, transaction).pass();
  } catch (error) {
    if (error instanceof Contradiction) throw error;
    // Words that no pool says, such as a log that does not decode: the node's, and no reason to stop watching.
    const detail = `cannot be judged: ${error instanceof Error ? error.message : String(error)}`;
    throw new Contradiction({
      code: "LOG_CONTRADICTION",
      block: header.number,
      txHash: transaction.hash,
      detail,
    });
  }
}

class Judgement {
  readonly #ledger: Ledger;
  readonly #pool: WatchedPool;
  readonly #verifier: ProofVerifier;
  readonly #header: Header;
  readonly #transaction: SeenTransaction;

  constructor(
    ledger: Ledger,
    pool: WatchedPool,
    verifier: ProofVerifier,
    header: Header,
    transaction: SeenTransaction,
  ) {
    this.#ledger = ledger;
    this.#pool = pool;
    this.#verifier = verifier;
    this.#header = header;
    this.#transaction = transaction;
  }

  pass(): void {
    const said = this.#transaction.logs.flatMap((log) => this.#parse(log));
    const answers = said.filter(({ event }) => event.name in ANSWERS);
    const handed = this.#pair(answers);
    let notesHashed = 0;
    for (const { log, event } of said) {
      const at = answers.findIndex((answer) => answer.log === log);
      switch (event.name) {
        case "Executed": {
          const until = answers[at + 1]?.log.logIndex ?? Infinity;
          const note = said.find(
            (other) => other.event.name === "NoteHashed" && isBetween(other.log, log.logIndex, until),
          );
          if (note !== undefined) notesHashed += 1;
          this.#executed(event, handed, at, { from: log.logIndex, until, note });
          break;
        }
        case "RootUpdated":
          this.#rootUpdated(event, handed, at);
          break;
        case "Rejected":
        case "RootUpdateSkipped":
        case "NoteHashed":
          break;
        default:
          this.#governance(event);
      }
    }
    if (notesHashed !== said.filter(({ event }) => event.name === "NoteHashed").length) {
      this.#contradict("LOG_CONTRADICTION", "a hashed note belongs to no statement");
    }
  }

  #parse(log: Log): Said[] {
    if (log.address !== this.#pool.home.pool) return [];
    const event = poolInterface.parseLog({ topics: [...log.topics], data: log.data });
    if (event === null)
      this.#contradict("LOG_CONTRADICTION", "the pool said something that this watcher does not know");
    return [{ log, event }];
  }

  /**
   * By position, never by hash: a batch may carry one statement twice, first with an honest proof and a bad
   * attestation, then with a false proof and a forged one. Only the second is executed, and it is to be judged.
   */
  #pair(answers: readonly Said[]): readonly Handed[] | string {
    const { handed } = this.#transaction;
    if (typeof handed === "string") return handed;
    const fits =
      handed.length === answers.length &&
      handed.every((one, i) => {
        const { name, args } = answers[i]!.event;
        if (one.type !== ANSWERS[name]) return false;
        if (one.type === "update") return true;
        const hash = hashOf(one);
        return hash === undefined ? name === "Rejected" : hash === args["statementHash"];
      });
    return fits ? handed : "what was handed to the pool does not fit what it answered";
  }

  // ------------------------------------------------------------------ statements

  #executed(event: LogDescription, handed: readonly Handed[] | string, at: number, span: Span): void {
    const args = event.args as unknown as {
      statementHash: Bytes32;
      kind: bigint;
      firstLeafIndex: bigint;
      nullifiers: Iterable<bigint>;
      commitments: Iterable<bigint>;
      ciphertexts: string;
    };
    const ledger = this.#ledger;
    const { statementHash: statement, kind } = args;
    const [nullifiers, commitments] = [[...args.nullifiers], [...args.commitments]];
    const member = typeof handed === "string" ? handed : (handed[at] as Member);
    const signers = typeof member === "string" ? [] : this.#signersOf(member);
    const report = (code: Code, detail: string): void => this.#report(code, detail, { statement, signers });

    if (ledger.signers.size === 0) {
      this.#contradict("LEAF_GAP", "a statement before any signer: the walk begins after the pool was made");
    }
    if (args.firstLeafIndex !== ledger.leafCount) this.#gap(args.firstLeafIndex);
    ledger.statements += 1;
    for (const commitment of commitments) ledger.append(this.#leaf(commitment));
    // Deposits have no nullifiers: the statement itself must come once.
    const marks = nullifiers.length > 0 ? nullifiers : [statement];
    for (const mark of marks) {
      if (!ledger.mark(mark)) report("NULLIFIER_TWICE", `${toHex(word(BigInt(mark)))} was there before`);
    }
    const note = span.note === undefined ? undefined : this.#noteHashed(span.note, statement);

    if (typeof member === "string") {
      ledger.unseen += 1;
      report("CALLDATA_UNSEEN", member);
      return;
    }
    const checked = this.#checkMember(member, signers, report);
    if (checked === undefined) {
      ledger.unseen += 1;
      return;
    }
    const { facts, ext } = checked;
    const ciphertexts = toHex(concatBytes(...ext.ciphertexts));
    if (
      kind !== BigInt(member.kindId) ||
      String(nullifiers) !== String(facts.nullifiers) ||
      String(commitments) !== String(facts.commitments) ||
      args.ciphertexts.toLowerCase() !== ciphertexts ||
      (note !== undefined) !== KINDS[checked.kind].leaves > KINDS[checked.kind].outputs
    ) {
      this.#contradict("LOG_CONTRADICTION", "the pool's event is not what was handed to it");
    }
    this.#checkMoney(checked, note, span, report);
  }

  /** All that the pool believed because it was signed. Undefined when it is no statement at all. */
  #checkMember(
    member: Member,
    signers: readonly (Address | undefined)[],
    report: (code: Code, detail: string) => void,
  ): Statement | undefined {
    const kind = kindById(member.kindId);
    const statement =
      kind === undefined
        ? "UNKNOWN_KIND"
        : checkStatement(this.#pool.home, kind, member.deadline, member.signals, member.ext);
    if (typeof statement === "string") {
      report("STATEMENT_INVALID", statement);
      return undefined;
    }
    if (member.deadline < BigInt(this.#header.timestamp)) report("STATEMENT_INVALID", "DEADLINE_PASSED");
    this.#checkSigners(signers, report);
    const fault = this.#verifier.faultOf(statement.kind, member.proof, statement.signals);
    if (fault !== undefined) report("PROOF_FORGED", `${fault}, ${statement.kind}, ${amountOf(statement)}`);
    const { root } = statement.facts;
    if (root !== undefined && !this.#ledger.hasRoot(root)) {
      report("ROOT_UNKNOWN_TO_LOG", `root ${toHex(word(root))}, ${amountOf(statement)}`);
    }
    return statement;
  }

  /** What was owed afterwards, and that the tokens moved as they should. The pool may receive more than it must. */
  #checkMoney(
    { kind, facts, ext }: Statement,
    note: HashedNote | undefined,
    span: Span,
    report: (code: Code, detail: string) => void,
  ): void {
    const asset = addressFromField(facts.asset)!;
    const amount: bigint = facts.amount;
    const change = kind === "deposit-shield" ? amount : -amount;
    if (amount !== 0n) {
      this.#ledger.owe(asset, change);
      const moved = this.#moved(asset, span.from, span.until);
      if (moved < change) report("TRANSFER_MISMATCH", `${asset}: moved ${moved}, stated ${change}`);
    }
    if (note === undefined || ext.kind !== "private-swap") return;
    this.#ledger.owe(note.asset, note.value);
    const received = this.#moved(note.asset, span.from, note.logIndex);
    const faults = [
      ...(note.asset === ext.tokenOut && note.npk === ext.npkOut
        ? []
        : ["another asset or owner than signed"]),
      ...(note.commitment === poseidon3(note.npk, BigInt(note.asset), note.value)
        ? []
        : ["not the hash of its parts"]),
      ...(note.value >= ext.minAmountOut ? [] : [`below the floor of ${ext.minAmountOut}`]),
      ...(note.value === received ? [] : [`received ${received}`]),
    ];
    if (faults.length > 0) report("NOTE_FORGED", `${note.asset}: value ${note.value}, ${faults.join(", ")}`);
  }

  #noteHashed({ log, event }: Said, statement: Bytes32): HashedNote {
    const args = event.args as unknown as {
      statementHash: Bytes32;
      leafIndex: bigint;
      commitment: bigint;
      npk: bigint;
      asset: string;
      value: bigint;
    };
    if (args.statementHash !== statement) {
      this.#contradict("LOG_CONTRADICTION", "a hashed note belongs to another statement");
    }
    if (args.leafIndex !== this.#ledger.leafCount) this.#gap(args.leafIndex);
    const commitment = this.#leaf(args.commitment);
    this.#ledger.append(commitment);
    const { npk, value } = args;
    return { logIndex: log.logIndex, commitment, npk: mustField(npk), asset: asAddress(args.asset)!, value };
  }

  /** What the pool gained of a token by the token's own log, between two places of the transaction's log. */
  #moved(token: Address, from: number, until: number): bigint {
    const own = topicOf(this.#pool.home.pool);
    let moved = 0n;
    for (const log of this.#transaction.logs) {
      const [topic, payer, payee] = log.topics;
      if (log.address !== token || topic !== TRANSFER || !isBetween(log, from, until)) continue;
      const amount = BigInt(log.data === "0x" ? 0 : log.data);
      if (payee === own) moved += amount;
      if (payer === own) moved -= amount;
    }
    return moved;
  }

  #leaf(commitment: bigint): Field {
    const leaf = asField(commitment);
    if (leaf === undefined || leaf === 0n) {
      this.#contradict("LOG_CONTRADICTION", "a leaf is zero or not below the field order");
    }
    return leaf;
  }

  // ------------------------------------------------------------------ roots

  #rootUpdated(event: LogDescription, handed: readonly Handed[] | string, at: number): void {
    const { root, leafCount, sequence } = event.args as unknown as Record<
      "root" | "leafCount" | "sequence",
      bigint
    >;
    const ledger = this.#ledger;
    const update = typeof handed === "string" ? undefined : (handed[at] as Update);
    const signers = update === undefined ? [] : this.#signersOf(update);
    const report = (code: Code, detail: string): void => this.#report(code, detail, { signers });

    const before = ledger.rootedHead;
    const truth = ledger.advance(leafCount);
    if (truth === undefined) {
      this.#contradict(
        "LOG_CONTRADICTION",
        `a root over ${leafCount} leaves, of which the log shows ${ledger.leafCount}`,
      );
    }
    if (Number(sequence) !== ledger.announced.sequence + 1) {
      this.#contradict("LOG_CONTRADICTION", `root ${sequence} came after root ${ledger.announced.sequence}`);
    }
    // The pool compared these heads with its own, so another leaf in our log shows at once.
    if (update !== undefined && (update.headBefore !== before || update.headAfter !== truth.head)) {
      this.#contradict("LOG_CONTRADICTION", "the pool's queue holds other leaves than the log");
    }
    ledger.announced = { root, sequence: Number(sequence) };
    if (root !== truth.root) {
      const [told, real] = [root, truth.root].map((value) => toHex(word(value)));
      report("ROOT_FORGED", `${told} for ${leafCount} leaves, whose root is ${real}`);
    }
    if (update !== undefined) this.#checkSigners(signers, report);
    else if (typeof handed === "string") report("CALLDATA_UNSEEN", `a root update: ${handed}`);
  }

  // ------------------------------------------------------------------ signatures

  #signersOf(handed: Handed): (Address | undefined)[] {
    const { home, keyHashes } = this.#pool;
    if (handed.type === "update") {
      const { oldRoot, newRoot } = handed;
      // Signed as they stand: a forged root need not be below the field order.
      const fields = { ...handed, oldRoot: oldRoot as Field, newRoot: newRoot as Field };
      return recoverAll(rootUpdateDigest(home, fields), handed.attestations);
    }
    const kind = kindById(handed.kindId);
    if (kind === undefined) return [];
    const message = {
      kind,
      verifyingKeyHash: keyHashes[kind],
      statementHash: hashOf(handed)!,
      proofHash: keccakHex(handed.proof),
      deadline: handed.deadline,
    };
    return recoverAll(attestationDigest(home, message), handed.attestations);
  }

  #checkSigners(
    signers: readonly (Address | undefined)[],
    report: (code: Code, detail: string) => void,
  ): void {
    const accepted = new Set(
      signers.filter((signer) => signer !== undefined && this.#ledger.signers.has(signer)),
    );
    if (accepted.size === signers.length && signers.length >= this.#pool.threshold) return;
    report(
      "ATTESTATION_INVALID",
      `${accepted.size} accepted signers of ${signers.length}, needed ${this.#pool.threshold}`,
    );
  }

  // ------------------------------------------------------------------ the rest

  #governance({ name, args }: LogDescription): void {
    const told = args.toObject() as Record<string, unknown>;
    const event = ownerEventOf(name, told);
    if (event === undefined) this.#contradict("LOG_CONTRADICTION", `${name} is no word of this watcher's`);
    this.#ledger.change(event);
    const { change, role, subject, proposal } = event;
    const { genesisDocument: document } = told;
    const ofDocument = typeof document === "string" ? `, genesis document ${shown(document)}` : "";
    const what = proposal === undefined ? `${role} ${subject}` : proposalText(proposal);
    this.#report(CODE_OF[change], `${what}${ofDocument}`);
  }

  #report(
    code: Code,
    detail: string,
    more: { statement?: Bytes32; signers?: readonly (Address | undefined)[] } = {},
  ): void {
    const { signers, ...rest } = more;
    this.#ledger.report({
      code,
      block: this.#header.number,
      txHash: this.#transaction.hash,
      ...rest,
      ...(signers === undefined ? {} : { signers: signers.filter((signer) => signer !== undefined) }),
      detail,
    });
  }

  #contradict(code: Code, detail: string): never {
    throw new Contradiction({ code, block: this.#header.number, txHash: this.#transaction.hash, detail });
  }

  #gap(index: bigint): never {
    this.#contradict("LEAF_GAP", `leaf ${index} came where leaf ${this.#ledger.leafCount} belongs`);
  }
}

/** Where in a transaction's log a statement's own happenings lie. */
interface Span {
  readonly from: number;
  readonly until: number;
  readonly note: Said | undefined;
}

interface HashedNote {
  readonly logIndex: number;
  readonly commitment: Field;
  readonly npk: Field;
  readonly asset: Address;
  readonly value: bigint;
}

/** keccak256 of `Transfer(address,address,uint256)` (EIP-20). */
const TRANSFER = keccakHex(new TextEncoder().encode("Transfer(address,address,uint256)"));

function topicOf(address: Address): string {
  return toHex(word(BigInt(address)));
}

function isBetween({ logIndex }: Log, from: number, until: number): boolean {
  return logIndex > from && logIndex < until;
}

/** Undefined for a kind that is not in the table, which no pool executes. */
function hashOf({ kindId, deadline, signals, ext }: Member): Bytes32 | undefined {
  const kind = kindById(kindId);
  return kind === undefined ? undefined : statementHashOf(kind, deadline, signals, ext);
}

/** Undefined for what is no signature. */
function recoverAll(digest: Uint8Array, attestations: Uint8Array): (Address | undefined)[] {
  const signers: (Address | undefined)[] = [];
  for (let at = 0; at < attestations.length; at += SIGNATURE_BYTES) {
    try {
      signers.push(asAddress(recoverAddress(digest, toHex(attestations.slice(at, at + SIGNATURE_BYTES)))));
    } catch {
      signers.push(undefined);
    }
  }
  return signers;
}

function amountOf({ facts }: Statement): string {
  return facts.amount === 0n
    ? "a private transfer"
    : `${facts.amount} of ${addressFromField(facts.asset) ?? "?"}`;
}

/** A genesis document is kilobytes, and stands in the transaction. */
function shown(document: string): string {
  return document.length <= 66 ? document : `of ${(document.length - 2) / 2} bytes`;
}
