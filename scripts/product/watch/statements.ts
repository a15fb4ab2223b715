/**
 * Judges a statement that the pool executed: the rules, the proof, whose word stood for it or that it needed nobody's,
 * the root, and the tokens that moved.
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
import { keccakHex, poseidon3 } from "../../../shared/protocol/hash.ts";
import { PROOF_BYTES } from "../../../shared/protocol/proof.ts";
import {
  canonicalSignals,
  checkStatement,
  KINDS,
  kindById,
  type Statement,
} from "../../../shared/protocol/statements.ts";
import { hashOf, type Member } from "./calls.ts";
import type { Case, Said } from "./case.ts";
import type { FalseStatement } from "./evidence.ts";
import type { Code } from "./findings.ts";
import { movedIn, type Between } from "./moved.ts";
import { digestOf, signersOf, type Recovered } from "./signatures.ts";

/** Where in a transaction's log a statement's own happenings lie. */
export interface Span extends Between {
  readonly note: Said | undefined;
  /** Its money stays here until a window has room. */
  readonly isClaim: boolean;
  /** Of claims that were paid meanwhile, the events. */
  readonly claimsPaid: readonly Said[];
}

type Report = (code: Code, detail: string) => void;

interface Told {
  readonly statement: Bytes32;
  readonly kindId: number;
  readonly firstLeaf: bigint;
  readonly nullifiers: readonly bigint[];
  readonly commitments: readonly bigint[];
  readonly ciphertexts: string;
}

interface HashedNote {
  readonly logIndex: number;
  readonly commitment: Field;
  readonly npk: Field;
  readonly asset: Address;
  readonly value: bigint;
}

/** The one place that reads the event. */
function toldBy({ args }: LogDescription): Told {
  return {
    statement: args["statementHash"] as Bytes32,
    kindId: Number(args["kind"]),
    firstLeaf: args["firstLeafIndex"] as bigint,
    nullifiers: [...(args["nullifiers"] as Iterable<bigint>)],
    commitments: [...(args["commitments"] as Iterable<bigint>)],
    ciphertexts: (args["ciphertexts"] as string).toLowerCase(),
  };
}

/** @param member a text instead says why it is not known */
export function judgeExecuted(its: Case, event: LogDescription, member: Member | string, span: Span): void {
  const { ledger, pool } = its;
  const told = toldBy(event);
  const { statement } = told;
  const signers = typeof member === "string" ? [] : signersOf(pool, member);
  const report: Report = (code, detail) => its.report(code, detail, { statement, signers });
  if (ledger.everSigners.size === 0)
    its.contradict("a statement before any signer: the walk begins after the pool was made", "LEAF_GAP");

  const isPaid = ledger.isPaid(statement);
  const note = span.note === undefined ? undefined : hashedNote(its, span.note, told);
  record(its, told, note, report);
  if (typeof member === "string") {
    ledger.countUnseen(Number(told.firstLeaf));
    report("CALLDATA_UNSEEN", member);
    return;
  }
  const checked = checkMember(its, member, signers, Number(told.firstLeaf), report);
  if (checked === undefined) {
    ledger.countUnseen(Number(told.firstLeaf));
    return;
  }
  const { facts, ext, kind } = checked;
  if (
    told.kindId !== member.kindId ||
    String(told.nullifiers) !== String(facts.nullifiers) ||
    String(told.commitments) !== String(facts.commitments) ||
    told.ciphertexts !== toHex(concatBytes(...ext.ciphertexts)) ||
    (note !== undefined) !== KINDS[kind].leaves > KINDS[kind].outputs
  )
    its.contradict("the pool's event is not what was handed to it");
  if (!isPaid) checkMoney(its, checked, { ...span, hashed: note, firstLeaf: Number(told.firstLeaf) }, report);
}

/** A member that the pool refused may still carry somebody's word for what is false. */
export function judgeRejected(its: Case, member: Member): void {
  const statement = hashOf(member);
  if (isProved(member) || statement === undefined) return;
  const signers = signersOf(its.pool, member);
  const isSigned =
    signers.length > 0 && signers.every((one) => one !== undefined && its.ledger.everSigners.has(one));
  if (!isSigned) return;
  const fault = faultOf(its, member);
  if (fault === undefined) return;
  its.report("PROOF_FORGED", `${fault}, refused by the pool`, { statement, signers });
  its.ledger.keep(evidenceOf(its, member, signers as readonly Address[], undefined));
}

/** Its leaves are in the queue whatever is wrong with it. */
function record(its: Case, told: Told, note: HashedNote | undefined, report: Report): void {
  const { ledger, header } = its;
  if (told.firstLeaf !== ledger.leafCount)
    its.contradict(`leaf ${told.firstLeaf} came where leaf ${ledger.leafCount} belongs`, "LEAF_GAP");
  const { statement, nullifiers } = told;
  const leaves = told.commitments.map((commitment) => leafOf(its, commitment));
  // Deposits have no nullifiers: the statement itself must come once.
  const marks = nullifiers.length > 0 ? nullifiers.map(String) : [statement];
  for (const mark of ledger.execute({
    ...{ statement, marks, time: header.timestamp },
    leaves: note === undefined ? leaves : [...leaves, note.commitment],
  }))
    report("NULLIFIER_TWICE", `${toHex(word(BigInt(mark)))} was there before`);
}

/** All that the pool believed. Undefined when it is no statement at all. */
function checkMember(
  its: Case,
  member: Member,
  signers: Recovered,
  firstLeaf: number,
  report: Report,
): Statement | undefined {
  const { ledger, pool, header } = its;
  const kind = kindById(member.kindId);
  const statement =
    kind === undefined
      ? "UNKNOWN_KIND"
      : checkStatement(pool.home, kind, member.deadline, member.signals, member.ext);
  const fault = faultOf(its, member);
  if (fault !== undefined && !isProved(member))
    ledger.keep(
      evidenceOf(
        its,
        member,
        signers.filter((one) => one !== undefined),
        firstLeaf,
      ),
    );
  if (typeof statement === "string") {
    report("STATEMENT_INVALID", statement);
    return undefined;
  }
  if (member.deadline < BigInt(header.timestamp) && !ledger.isPaid(hashOf(member)!))
    report("STATEMENT_INVALID", "DEADLINE_PASSED");
  if (fault !== undefined) report("PROOF_FORGED", `${fault}, ${statement.kind}, ${amountOf(statement)}`);
  // A proof needs nobody's word, and nobody's may stand beside it.
  if (!isProved(member) || member.attestations.length > 0) checkSigners(its, signers, report);
  checkRoot(its, statement, isProved(member), report);
  return statement;
}

function checkRoot(its: Case, statement: Statement, proved: boolean, report: Report): void {
  const { ledger, pool, header } = its;
  const { root } = statement.facts;
  if (root === undefined) return;
  const found = ledger.roots.find(root);
  if (found === undefined || found.truth !== found.announced)
    report("ROOT_UNKNOWN_TO_LOG", `root ${toHex(word(root))}, ${amountOf(statement)}`);
  else if (proved && header.timestamp < found.since + pool.provedDelay)
    report("ROOT_YOUNG", `root ${found.sequence} of ${found.since}, ${pool.provedDelay} seconds to wait`);
}

export function checkSigners({ ledger, pool }: Case, signers: Recovered, report: Report): void {
  const accepted = new Set(signers.filter((one) => one !== undefined && ledger.signers.has(one)));
  if (accepted.size === signers.length && signers.length >= pool.threshold) return;
  report(
    "ATTESTATION_INVALID",
    `${accepted.size} accepted signers of ${signers.length}, needed ${pool.threshold}`,
  );
}

function isProved({ proof }: Member): boolean {
  return proof.length === PROOF_BYTES;
}

/** Undefined when the proof shows the signals. */
function faultOf({ verifier }: Case, member: Member): string | undefined {
  const kind = kindById(member.kindId);
  if (kind === undefined) return "UNKNOWN_KIND";
  const signals = canonicalSignals(kind, member.signals);
  return typeof signals === "string" ? signals : verifier.faultOf(kind, member.proof, signals);
}

function evidenceOf(
  { pool }: Case,
  member: Member,
  signers: readonly Address[],
  firstLeaf: number | undefined,
): FalseStatement {
  return {
    type: "statement",
    digest: digestOf(pool, member)!,
    signers,
    statement: hashOf(member)!,
    kindId: member.kindId,
    deadline: String(member.deadline),
    signals: member.signals.map(String),
    extHash: keccakHex(member.ext),
    proof: toHex(member.proof),
    attestations: toHex(member.attestations),
    firstLeaf,
  };
}

/** What was owed afterwards, and that the tokens moved as they should. The pool may receive more than it must. */
function checkMoney(
  its: Case,
  { kind, facts, ext }: Statement,
  span: Span & { readonly hashed: HashedNote | undefined; readonly firstLeaf: number },
  report: Report,
): void {
  const { ledger, pool, transaction } = its;
  const { hashed: note, firstLeaf } = span;
  const asset = addressFromField(facts.asset)!;
  const amount: bigint = facts.amount;
  const change = span.isClaim ? 0n : kind === "deposit-shield" ? amount : -amount;
  if (change !== 0n) ledger.owe(asset, change, firstLeaf);
  if (amount !== 0n) {
    const moved = movedIn(transaction.logs, pool.home.pool, asset, span) + paidTo(span.claimsPaid, asset);
    if (moved < change) report("TRANSFER_MISMATCH", `${asset}: moved ${moved}, stated ${change}`);
  }
  if (note === undefined || ext.kind !== "private-swap") return;
  ledger.owe(note.asset, note.value, firstLeaf);
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

/** What left for claims in the same part of the log. */
function paidTo(claims: readonly Said[], asset: Address): bigint {
  return claims
    .filter(({ event }) => asAddress(event.args["asset"]) === asset)
    .reduce((sum, { event }) => sum + (event.args["amount"] as bigint), 0n);
}

function hashedNote(its: Case, { log, event }: Said, told: Told): HashedNote {
  const { statementHash, leafIndex, commitment, npk, asset, value } = event.args.toObject() as {
    statementHash: Bytes32;
    leafIndex: bigint;
    commitment: bigint;
    npk: bigint;
    asset: string;
    value: bigint;
  };
  if (statementHash !== told.statement) its.contradict("a hashed note belongs to another statement");
  if (leafIndex !== told.firstLeaf + BigInt(told.commitments.length))
    its.contradict(`a hashed note is leaf ${leafIndex}`, "LEAF_GAP");
  const { logIndex } = log;
  return {
    logIndex,
    commitment: leafOf(its, commitment),
    npk: mustField(npk),
    asset: asAddress(asset)!,
    value,
  };
}

function leafOf(its: Case, commitment: bigint): Field {
  const leaf = asField(commitment);
  if (leaf === undefined || leaf === 0n) its.contradict("a leaf is zero or not below the field order");
  return leaf;
}

function amountOf({ facts }: Statement): string {
  return facts.amount === 0n
    ? "a private transfer"
    : `${facts.amount} of ${addressFromField(facts.asset) ?? "?"}`;
}
