/**
 * Judges what the pool said in one transaction against what was handed to it and what the ledger knows. Every
 * rule that the pool took an enclave's word for is checked here again, without that word.
 */
import type { LogDescription } from "ethers";
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
import { poseidon3 } from "../../../shared/protocol/hash.ts";
import {
  checkStatement,
  KINDS,
  kindById,
  type Home,
  type Kind,
  type Statement,
} from "../../../shared/protocol/statements.ts";
import { ownerEventOf, proposalText, type Change } from "../owner-events.ts";
import { hashOf, poolInterface, type Handed, type Member, type Update } from "./calls.ts";
import { Contradiction, type Code } from "./findings.ts";
import type { ProofVerifier } from "./groth16.ts";
import type { Ledger } from "./ledger.ts";
import { isBetween, movedIn, type Between } from "./moved.ts";
import type { Header, Log } from "./node.ts";
import { signersOf, type Recovered } from "./signatures.ts";

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

/** A transaction of a block, and what is needed to judge it. */
export interface Case {
  readonly ledger: Ledger;
  readonly pool: WatchedPool;
  readonly verifier: ProofVerifier;
  readonly header: Header;
  readonly transaction: SeenTransaction;
}

/** One thing the pool said. */
interface Said {
  readonly log: Log;
  readonly event: LogDescription;
}

type Report = (code: Code, detail: string) => void;

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

/** What has expired by a block's time, reported as of that block. */
export function expire(ledger: Ledger, header: Header): void {
  for (const proposal of ledger.expire(header.timestamp)) {
    ledger.report({ code: "EXPIRED", block: header.number, detail: proposalText(proposal) });
  }
}

export function judge(given: Case): void {
  // Before its own words: what expired may be proposed again in this very transaction.
  expire(given.ledger, given.header);
  const judgement = new Judgement(given);
  try {
    judgement.pass();
  } catch (error) {
    if (error instanceof Contradiction) throw error;
    // Words that no pool says, such as a log that does not decode: the node's, and no reason to stop watching.
    judgement.contradict(`cannot be judged: ${error instanceof Error ? error.message : String(error)}`);
  }
}

class Judgement {
  readonly #case: Case;

  constructor(given: Case) {
    this.#case = given;
  }

  pass(): void {
    const said = this.#case.transaction.logs.flatMap((log) => this.#parse(log));
    const answers = said.filter(({ event }) => event.name in ANSWERS);
    const notes = said.filter(({ event }) => event.name === "NoteHashed");
    const handed = this.#pair(answers);
    let notesHashed = 0;
    for (const { log, event } of said) {
      const at = answers.findIndex((answer) => answer.log === log);
      const answered = typeof handed === "string" ? handed : handed[at];
      switch (event.name) {
        case "Executed": {
          const from = log.logIndex;
          const until = answers[at + 1]?.log.logIndex ?? Infinity;
          const note = notes.find((other) => isBetween(other.log, { from, until }));
          if (note !== undefined) notesHashed += 1;
          this.#executed(event, answered as Member | string, { from, until, note });
          break;
        }
        case "RootUpdated":
          this.#rootUpdated(event, answered as Update | string);
          break;
        case "Rejected":
        case "RootUpdateSkipped":
        case "NoteHashed":
        // Wei beside a signer's coming and going, which have events of their own.
        case "BondPosted":
        case "BondPaid":
          break;
        default:
          this.#governance(event);
      }
    }
    if (notesHashed !== notes.length) this.contradict("a hashed note belongs to no statement");
  }

  #parse(log: Log): Said[] {
    if (log.address !== this.#case.pool.home.pool) return [];
    const event = poolInterface.parseLog({ topics: [...log.topics], data: log.data });
    if (event === null) this.contradict("the pool said something that this watcher does not know");
    return [{ log, event }];
  }

  /**
   * By position, never by hash: a batch may carry one statement twice, first with an honest proof and a bad
   * attestation, then with a false proof and a forged one. Only the second is executed, and it is to be judged.
   */
  #pair(answers: readonly Said[]): readonly Handed[] | string {
    const { handed } = this.#case.transaction;
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

  /** A text instead of the member says why it is not known. */
  #executed(event: LogDescription, member: Member | string, span: Span): void {
    const args = event.args as unknown as {
      statementHash: Bytes32;
      kind: bigint;
      firstLeafIndex: bigint;
      nullifiers: Iterable<bigint>;
      commitments: Iterable<bigint>;
      ciphertexts: string;
    };
    const { ledger, pool } = this.#case;
    const { statementHash: statement, kind } = args;
    const [nullifiers, commitments] = [[...args.nullifiers], [...args.commitments]];
    const signers = typeof member === "string" ? [] : signersOf(pool, member);
    const report: Report = (code, detail) => this.#report(code, detail, { statement, signers });

    if (ledger.signers.size === 0) {
      this.contradict("a statement before any signer: the walk begins after the pool was made", "LEAF_GAP");
    }
    this.#checkPlace(args.firstLeafIndex);
    ledger.statements += 1;
    for (const commitment of commitments) this.#append(commitment);
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
      this.contradict("the pool's event is not what was handed to it");
    }
    this.#checkMoney(checked, note, span, report);
  }

  /** All that the pool believed because it was signed. Undefined when it is no statement at all. */
  #checkMember(member: Member, signers: Recovered, report: Report): Statement | undefined {
    const { ledger, pool, verifier, header } = this.#case;
    const kind = kindById(member.kindId);
    const statement =
      kind === undefined
        ? "UNKNOWN_KIND"
        : checkStatement(pool.home, kind, member.deadline, member.signals, member.ext);
    if (typeof statement === "string") {
      report("STATEMENT_INVALID", statement);
      return undefined;
    }
    if (member.deadline < BigInt(header.timestamp)) report("STATEMENT_INVALID", "DEADLINE_PASSED");
    this.#checkSigners(signers, report);
    const fault = verifier.faultOf(statement.kind, member.proof, statement.signals);
    if (fault !== undefined) report("PROOF_FORGED", `${fault}, ${statement.kind}, ${amountOf(statement)}`);
    const { root } = statement.facts;
    if (root !== undefined && !ledger.hasRoot(root)) {
      report("ROOT_UNKNOWN_TO_LOG", `root ${toHex(word(root))}, ${amountOf(statement)}`);
    }
    return statement;
  }

  /** What was owed afterwards, and that the tokens moved as they should. The pool may receive more than it must. */
  #checkMoney(statement: Statement, note: HashedNote | undefined, span: Span, report: Report): void {
    const { kind, facts, ext } = statement;
    const { ledger, pool, transaction } = this.#case;
    const asset = addressFromField(facts.asset)!;
    const amount: bigint = facts.amount;
    const change = kind === "deposit-shield" ? amount : -amount;
    if (amount !== 0n) {
      ledger.owe(asset, change);
      const moved = movedIn(transaction.logs, pool.home.pool, asset, span);
      if (moved < change) report("TRANSFER_MISMATCH", `${asset}: moved ${moved}, stated ${change}`);
    }
    if (note === undefined || ext.kind !== "private-swap") return;
    ledger.owe(note.asset, note.value);
    const until = note.logIndex;
    const received = movedIn(transaction.logs, pool.home.pool, note.asset, { from: span.from, until });
    const rules: readonly (readonly [boolean, string])[] = [
      [note.asset === ext.tokenOut && note.npk === ext.npkOut, "another asset or owner than signed"],
      [note.commitment === poseidon3(note.npk, BigInt(note.asset), note.value), "not the hash of its parts"],
      [note.value >= ext.minAmountOut, `below the floor of ${ext.minAmountOut}`],
      [note.value === received, `received ${received}`],
    ];
    const faults = rules.flatMap(([holds, fault]) => (holds ? [] : [fault]));
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
    if (args.statementHash !== statement) this.contradict("a hashed note belongs to another statement");
    this.#checkPlace(args.leafIndex);
    const commitment = this.#append(args.commitment);
    const { npk, value } = args;
    return { logIndex: log.logIndex, commitment, npk: mustField(npk), asset: asAddress(args.asset)!, value };
  }

  #append(commitment: bigint): Field {
    const leaf = asField(commitment);
    if (leaf === undefined || leaf === 0n) this.contradict("a leaf is zero or not below the field order");
    this.#case.ledger.append(leaf);
    return leaf;
  }

  // ------------------------------------------------------------------ roots

  #rootUpdated(event: LogDescription, handed: Update | string): void {
    const { root, leafCount, sequence } = event.args as unknown as Record<
      "root" | "leafCount" | "sequence",
      bigint
    >;
    const { ledger, pool } = this.#case;
    const update = typeof handed === "string" ? undefined : handed;
    const signers = update === undefined ? [] : signersOf(pool, update);
    const report: Report = (code, detail) => this.#report(code, detail, { signers });

    const before = ledger.rootedHead;
    const truth = ledger.advance(leafCount);
    if (truth === undefined) {
      this.contradict(`a root over ${leafCount} leaves, of which the log shows ${ledger.leafCount}`);
    }
    if (Number(sequence) !== ledger.announced.sequence + 1) {
      this.contradict(`root ${sequence} came after root ${ledger.announced.sequence}`);
    }
    // The pool compared these heads with its own, so another leaf in our log shows at once.
    if (update !== undefined && (update.headBefore !== before || update.headAfter !== truth.head)) {
      this.contradict("the pool's queue holds other leaves than the log");
    }
    ledger.announced = { root, sequence: Number(sequence) };
    if (root !== truth.root) {
      const [told, real] = [root, truth.root].map((value) => toHex(word(value)));
      report("ROOT_FORGED", `${told} for ${leafCount} leaves, whose root is ${real}`);
    }
    if (update !== undefined) this.#checkSigners(signers, report);
    else if (typeof handed === "string") report("CALLDATA_UNSEEN", `a root update: ${handed}`);
  }

  #checkSigners(signers: Recovered, report: Report): void {
    const { ledger, pool } = this.#case;
    const accepted = new Set(signers.filter((one) => one !== undefined && ledger.signers.has(one)));
    if (accepted.size === signers.length && signers.length >= pool.threshold) return;
    report(
      "ATTESTATION_INVALID",
      `${accepted.size} accepted signers of ${signers.length}, needed ${pool.threshold}`,
    );
  }

  // ------------------------------------------------------------------ the rest

  #governance({ name, args }: LogDescription): void {
    const told = args.toObject() as Record<string, unknown>;
    const event = ownerEventOf(name, told);
    if (event === undefined) this.contradict(`${name} is no word of this watcher's`);
    this.#case.ledger.change(event);
    const { change, role, subject, proposal } = event;
    const { genesisDocument: document } = told;
    const ofDocument = typeof document === "string" ? `, genesis document ${shown(document)}` : "";
    const what = proposal === undefined ? `${role} ${subject}` : proposalText(proposal);
    this.#report(CODE_OF[change], `${what}${ofDocument}`);
  }

  #report(code: Code, detail: string, more: { statement?: Bytes32; signers?: Recovered } = {}): void {
    const { signers, ...rest } = more;
    this.#case.ledger.report({
      ...this.#place(),
      code,
      ...rest,
      ...(signers === undefined ? {} : { signers: signers.filter((signer) => signer !== undefined) }),
      detail,
    });
  }

  contradict(detail: string, code: Code = "LOG_CONTRADICTION"): never {
    throw new Contradiction({ code, ...this.#place(), detail });
  }

  #checkPlace(index: bigint): void {
    const { leafCount } = this.#case.ledger;
    if (index !== leafCount)
      this.contradict(`leaf ${index} came where leaf ${leafCount} belongs`, "LEAF_GAP");
  }

  #place(): { readonly block: number; readonly txHash: Bytes32 } {
    return { block: this.#case.header.number, txHash: this.#case.transaction.hash };
  }
}

/** Where in a transaction's log a statement's own happenings lie. */
interface Span extends Between {
  readonly note: Said | undefined;
}

interface HashedNote {
  readonly logIndex: number;
  readonly commitment: Field;
  readonly npk: Field;
  readonly asset: Address;
  readonly value: bigint;
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
