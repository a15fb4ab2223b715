/**
 * Judges a statement that is said to be a suspended one which comes again. Nothing moves for it, so it must be that one: of
 * other amounts or for somebody else, its notes would be money that nobody brought.
 */
import { addressFromField, type Bytes32 } from "../../shared/protocol/brands.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import type { Executed } from "../../shared/protocol/host/executed-log.ts";
import { contextOf, statementHashOf, type Kind, type Statement } from "../../shared/protocol/statements.ts";
import type { Member } from "./calls.ts";
import type { Case } from "./case.ts";
import { creditedIn } from "./credits.ts";
import { flowText } from "./executed.ts";
import type { Queued } from "./ledger.ts";
import { movedIn, paidTo } from "./moved.ts";
import type { HashedNote, Report, Span } from "./span.ts";

/** What comes again, and how it is shown. */
export interface Again {
  readonly earlier: Bytes32;
  readonly note: HashedNote | undefined;
  readonly member: Member | string;
}

/** The suspended statement that it is again; undefined where there is none. */
export function confirmedBy(
  { ledger, pool: { home } }: Case,
  { kind, commitments }: Executed,
  marks: readonly string[],
  { earlier, note, member }: Again,
  report: Report,
): Queued | undefined {
  const found = ledger.suspended(earlier, marks);
  if (found === undefined) {
    report("CONFIRMATION_WRONG", `${earlier} is not suspended, or spent other notes`);
    return undefined;
  }
  const leaves = ledger.leavesBetween(found.firstLeaf, found.firstLeaf + found.leaves);
  // A swap's last leaf says what its trade brought: the pool measured it once.
  const again = note === undefined ? commitments : [...commitments, note.commitment];
  const isShown = typeof member === "string" || shownBy(home, kind, member) === earlier;
  if (String(leaves) !== String(again) || !isShown)
    report("CONFIRMATION_WRONG", `${earlier} of leaf ${found.firstLeaf} had other notes, amounts or terms`);
  else report("CONFIRMED", `${earlier} of leaf ${found.firstLeaf}, ${flowText(ledger.originOf(found))}`);
  return found;
}

const WORD_CHARS = 64;

/** The name of what has all that this one has, but for the deadline and root that stand beside it. */
function shownBy(home: Case["pool"]["home"], kind: Kind, { signals, ext, authorization }: Member): Bytes32 {
  const shown = toHex(authorization)
    .slice(2)
    .padEnd(2 * WORD_CHARS, "0");
  const deadline = BigInt.asUintN(64, BigInt(`0x${shown.slice(0, WORD_CHARS)}`));
  const root = BigInt(`0x${shown.slice(WORD_CHARS, 2 * WORD_CHARS)}`);
  const own = [contextOf(home, kind, deadline, ext), root];
  return statementHashOf(kind, deadline, [...own, ...signals.slice(own.length)], ext);
}

/** Its money has moved. */
export function checkStill(its: Case, checked: Statement | undefined, span: Span, report: Report): void {
  const asset = checked === undefined ? undefined : addressFromField(checked.facts.asset);
  if (asset === undefined) return;
  const others = paidTo(span.claimsPaid, asset) - creditedIn(its, span.own, asset);
  const moved = movedIn(its.transaction.logs, its.pool.home.pool, asset, span) + others;
  if (moved < 0n) report("TRANSFER_MISMATCH", `${asset}: moved ${moved}, and it moved before`);
}
