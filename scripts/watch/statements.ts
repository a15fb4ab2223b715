/**
 * Judges a statement that the pool executed: the rules, the proof, whose word stood for it or that it needed nobody's,
 * the root, and the tokens that moved.
 */
import { asField, mustField, type Address, type Bytes32, type Field } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { poseidon3 } from "../../shared/protocol/host/poseidon.ts";
import { readExecuted, type Executed } from "../../shared/protocol/host/executed-log.ts";
import { PROOF_BYTES } from "../../shared/protocol/proof.ts";
import {
  canonicalSignals,
  checkStatement,
  kindById,
  KINDS,
  type Statement,
} from "../../shared/protocol/statements.ts";
import { hashOf, type Member } from "./calls.ts";
import type { Case, Said } from "./case.ts";
import { checkStill, confirmedBy, type Again } from "./confirmations.ts";
import { checkCredits, creditedIn } from "./credits.ts";
import { amountOf, tells } from "./executed.ts";
import type { FalseStatement } from "./evidence.ts";
import { movedIn, paidTo } from "./moved.ts";
import { digestOf, signersOf, type Recovered } from "./signatures.ts";
import type { HashedNote, Report, Span } from "./span.ts";

/** @param member a text instead says why it is not known */
export function judgeExecuted(its: Case, { log }: Said, member: Member | string, span: Span): void {
  const executed = readExecuted(log);
  if (executed === undefined) its.contradict("a statement was executed in words that no pool says");
  const { ledger, pool } = its;
  const { statement } = executed;
  const signers = typeof member === "string" ? [] : signersOf(pool, member);
  const report: Report = (code, detail) => its.report(code, detail, { statement, signers });
  if (ledger.everSigners.size === 0)
    its.contradict("a statement before any signer: the walk begins after the pool was made", "LEAF_GAP");

  const isPaid = ledger.isPaid(statement);
  const note = span.note === undefined ? undefined : hashedNote(its, span.note, executed);
  if ((note !== undefined) !== executed.commitments.length < executed.ciphertexts.length)
    its.contradict("the pool hashed a note where it has none to hash, or none where it must");
  const { earlier } = span;
  // A swap that moves nothing was made before, or is none.
  if (executed.moved !== undefined ? earlier !== undefined : earlier === undefined && note !== undefined)
    its.contradict("a statement comes again and moves something, or is new and moves nothing");
  const again = earlier === undefined ? undefined : { earlier, note, member };
  record(its, executed, { note, again, rootNumber: rootNumberOf(its, executed, member) }, report);
  let checked: Statement | undefined;
  if (typeof member !== "string") {
    const terms = { signers, isPaid, comesAgain: earlier !== undefined };
    checked = checkMember(its, member, executed, terms, report);
  } else {
    ledger.countUnseen(executed.firstLeafIndex);
    report("CALLDATA_UNSEEN", `${member}; ${amountOf(executed)}, proof ${executed.proofHash}`);
  }
  // What moved stands in the event, so what is owed is known also of a statement that nobody shows.
  if (earlier !== undefined) checkStill(its, checked, span, report);
  else if (!isPaid) checkMoney(its, executed, note, span, report);
  if (note !== undefined && checked !== undefined) checkNote(its, note, checked, span, report);
  const behind = { from: note?.logIndex ?? span.from, until: span.until };
  checkCredits(its, span.own, behind, isPaid ? undefined : executed.moved?.asset);
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
  const evidence = evidenceOf(its, member, signers as readonly Address[], undefined);
  its.report("PROOF_FORGED", `${fault}, refused by the pool`, {
    ...{ statement, signers, digest: evidence.digest },
  });
  its.ledger.keep(evidence);
}

interface Recorded {
  readonly note: HashedNote | undefined;
  readonly again: Again | undefined;
  readonly rootNumber: number | undefined;
}

/** Its leaves are in the queue whatever is wrong with it. */
function record(its: Case, executed: Executed, { note, again, rootNumber }: Recorded, report: Report): void {
  const { ledger, header } = its;
  const { statement, nullifiers, firstLeafIndex: first } = executed;
  if (BigInt(first) !== ledger.leafCount)
    its.contradict(`leaf ${first} came where leaf ${ledger.leafCount} belongs`, "LEAF_GAP");
  const leaves = executed.commitments.map((commitment) => leafOf(its, commitment));
  // Deposits have no nullifiers: the statement itself must come once.
  const marks = nullifiers.length > 0 ? nullifiers.map(String) : [statement];
  const confirmed = again && confirmedBy(its, executed, marks, again, report);
  const twice = ledger.execute({
    ...{ statement, marks, time: header.timestamp, rootNumber, confirms: confirmed?.firstLeaf },
    leaves: note === undefined ? leaves : [...leaves, note.commitment],
  });
  // Those of one that comes again were there, and `confirmedBy` says whose they must be.
  for (const mark of again === undefined ? twice : [])
    report("NULLIFIER_TWICE", `${toHex(word(BigInt(mark)))} was there before`);
}

/** 0 for a deposit. Undefined where the root is not known. */
function rootNumberOf({ ledger }: Case, { kind }: Executed, member: Member | string): number | undefined {
  if (KINDS[kind].signals.root === undefined) return 0;
  // The context stands before it.
  const root = typeof member === "string" ? undefined : member.signals[1];
  return root === undefined ? undefined : ledger.roots.find(root)?.sequence;
}

/** All that the pool believed. Undefined when it is no statement at all. */
function checkMember(
  its: Case,
  member: Member,
  executed: Executed,
  {
    signers,
    isPaid,
    comesAgain,
  }: { readonly signers: Recovered; readonly isPaid: boolean; readonly comesAgain: boolean },
  report: Report,
): Statement | undefined {
  const { ledger, pool, header } = its;
  // A trace may show another proof of the same statement: the event says which one the pool was given.
  if (keccakHex(member.proof) !== executed.proofHash)
    its.contradict("the proof that was handed to the pool is not the one that its event names");
  const amount = amountOf(executed, comesAgain);
  const fault = faultOf(its, member);
  const known = signers.filter((one) => one !== undefined);
  const evidence =
    fault === undefined || isProved(member)
      ? undefined
      : evidenceOf(its, member, known, executed.firstLeafIndex);
  if (evidence !== undefined) ledger.keep(evidence);
  const statement = checkStatement(pool.home, executed.kind, member.deadline, member.signals, member.ext);
  if (typeof statement === "string") {
    report("STATEMENT_INVALID", statement);
    return undefined;
  }
  if (!tells(executed, statement, comesAgain))
    its.contradict("the pool's event is not what was handed to it");
  // A deposit that was taken in time and voided may be proved later.
  if (member.deadline < BigInt(header.timestamp) && !isPaid) report("STATEMENT_INVALID", "DEADLINE_PASSED");
  if (fault === undefined && ledger.wasRefuted(executed.statement)) report("PROVED_AGAIN", amount);
  if (fault !== undefined)
    its.report("PROOF_FORGED", `${fault}, ${amount}`, {
      ...{ statement: executed.statement, signers },
      ...(evidence && { digest: evidence.digest }),
    });
  // A proof needs nobody's word, and nobody's may stand beside it.
  if (!isProved(member) || member.attestations.length > 0) checkSigners(its, signers, report);
  checkRoot(its, statement, isProved(member), (code, detail) => report(code, `${detail}, ${amount}`));
  return statement;
}

function checkRoot(its: Case, { facts: { root } }: Statement, proved: boolean, report: Report): void {
  const { ledger, pool, header } = its;
  if (root === undefined) return;
  const found = ledger.roots.find(root);
  if (found === undefined || found.truth !== found.announced)
    report("ROOT_UNKNOWN_TO_LOG", `root ${toHex(word(root))}`);
  else if (proved && header.timestamp < found.since + pool.provedDelay)
    report("ROOT_YOUNG", `root ${found.sequence} of ${found.since}, ${pool.provedDelay} seconds to wait`);
}

export function checkSigners({ ledger, pool }: Case, signers: Recovered, report: Report): void {
  const accepted = new Set(signers.filter((one) => one !== undefined && ledger.signers.has(one)));
  const kinds = new Set([...accepted].map((one) => ledger.signers.get(one!))).size;
  if (accepted.size === signers.length && signers.length >= pool.threshold && kinds >= kindsNeeded(pool))
    return;
  report(
    "ATTESTATION_INVALID",
    `${accepted.size} accepted signers of ${signers.length}, of ${kinds} kinds, needed ${pool.threshold} of ${kindsNeeded(pool)}`,
  );
}

/** Kinds of verifier that have to vouch together. */
export function kindsNeeded({ threshold }: Pick<Case["pool"], "threshold">): number {
  return Math.min(threshold, 2);
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
  { kind, moved: stated, firstLeafIndex: first }: Executed,
  note: HashedNote | undefined,
  span: Span,
  report: Report,
): void {
  const { ledger, pool, transaction } = its;
  if (stated !== undefined) {
    const { asset, amount } = stated;
    const change = span.isClaim ? 0n : kind === "deposit-shield" ? amount : -amount;
    if (change !== 0n) ledger.owe(asset, change, first);
    const others = paidTo(span.claimsPaid, asset) - creditedIn(its, span.own, asset);
    const moved = movedIn(transaction.logs, pool.home.pool, asset, span) + others;
    if (moved < change) report("TRANSFER_MISMATCH", `${asset}: moved ${moved}, stated ${change}`);
  }
  if (note !== undefined) ledger.owe(note.asset, note.value, first);
}

function checkNote(its: Case, note: HashedNote, { ext }: Statement, span: Span, report: Report): void {
  if (ext.kind !== "private-swap") return;
  const until = note.logIndex;
  const received = movedIn(its.transaction.logs, its.pool.home.pool, note.asset, { from: span.from, until });
  const rules: readonly (readonly [boolean, string])[] = [
    [note.asset === ext.tokenOut && note.npk === ext.npkOut, "another asset or owner than signed"],
    [note.commitment === poseidon3(note.npk, BigInt(note.asset), note.value), "not the hash of its parts"],
    [note.value >= ext.minAmountOut, `below the floor of ${ext.minAmountOut}`],
    // What came in for one that comes again, came in before: see `confirmedBy`.
    [span.earlier !== undefined || note.value === received, `received ${received}`],
  ];
  const faults = rules.flatMap(([holds, fault]) => (holds ? [] : [fault]));
  if (faults.length > 0) report("NOTE_FORGED", `${note.asset}: value ${note.value}, ${faults.join(", ")}`);
}

function hashedNote(its: Case, { log, event }: Said, executed: Executed): HashedNote {
  const { statementHash, leafIndex, commitment, npk, asset, value } = event.args.toObject() as {
    statementHash: Bytes32;
    leafIndex: bigint;
    commitment: bigint;
    npk: bigint;
    asset: string;
    value: bigint;
  };
  if (statementHash !== executed.statement) its.contradict("a hashed note belongs to another statement");
  if (leafIndex !== BigInt(executed.firstLeafIndex + executed.commitments.length))
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
