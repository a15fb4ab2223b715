/**
 * Judges what the pool said in one transaction against what was handed to it and what the ledger knows. Every
 * rule that the pool took an enclave's word for is checked here again, without that word.
 */
import type { Bytes32 } from "../../shared/protocol/brands.ts";
import { asBytes32 } from "../../shared/protocol/host/text.ts";
import { proposalText } from "../../proxy/base/chain/owner-events.ts";
import { judgeAftermath } from "./aftermath.ts";
import { hashOf, poolInterface, type Handed, type Member } from "./calls.ts";
import { Case, type CaseParts, type Said } from "./case.ts";
import { checkCredits, judgeCredited } from "./credits.ts";
import { Contradiction } from "./findings.ts";
import type { Ledger } from "./ledger.ts";
import { isBetween, type Between } from "./moved.ts";
import type { Header, Log } from "./node.ts";
import { judgeRoot } from "./root-updates.ts";
import { judgeExecuted, judgeRejected } from "./statements.ts";

/** The pool answers each member, and then the update, with exactly one of these; and `advance` with a root. */
const ANSWERS: Readonly<Record<string, readonly Handed["type"][]>> = {
  Executed: ["member"],
  Rejected: ["member"],
  RootUpdated: ["update", "advance"],
  RootUpdateSkipped: ["update"],
};

/** What has expired by a block's time, reported as of that block. */
export function expire(ledger: Ledger, header: Header): void {
  for (const proposal of ledger.expire(header.timestamp)) {
    ledger.report({ code: "EXPIRED", block: header.number, detail: proposalText(proposal) });
  }
}

export function judge(given: CaseParts): void {
  // Before its own words: what expired may be proposed again in this very transaction.
  expire(given.ledger, given.header);
  const its = new Case(given);
  try {
    pass(its);
  } catch (error) {
    if (error instanceof Contradiction) throw error;
    // Words that no pool says, such as a log that does not decode: the node's, and no reason to stop watching.
    its.contradict(`cannot be judged: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function pass(its: Case): void {
  const said = its.transaction.logs.flatMap((log) => parse(its, log));
  const answers = said.filter(({ event }) => event.name in ANSWERS);
  const handed = pair(its, answers);
  let notesHashed = 0;
  for (const [place, one] of said.entries()) {
    const at = answers.indexOf(one);
    const answered = typeof handed === "string" ? handed : handed[at];
    switch (one.event.name) {
      case "Executed": {
        const from = one.log.logIndex;
        const until = answers[at + 1]?.log.logIndex ?? Infinity;
        const own = said.filter(({ log }) => isBetween(log, { from, until }));
        const note = own.find(({ event }) => event.name === "NoteHashed");
        const isClaim = own.some(({ event }) => event.name === "ClaimAdded");
        const claimsPaid = own.filter(({ event }) => event.name === "ClaimPaid");
        if (note !== undefined) notesHashed += 1;
        const span = { from, until, note, isClaim, claimsPaid, own, earlier: earlierOf(said, place) };
        judgeExecuted(its, one, answered as Member | string, span);
        break;
      }
      case "Credited":
        judgeCredited(its, one);
        break;
      case "RootUpdated":
        judgeRoot(its, one.event, answered as Exclude<Handed, Member> | string);
        break;
      case "Rejected":
        if (typeof answered === "object") judgeRejected(its, answered as Member);
        break;
      case "RootUpdateSkipped":
      case "NoteHashed":
        break;
      default:
        judgeAftermath(its, one, { before: said[place - 1], after: said[place + 1] });
    }
  }
  for (const part of partsWithoutStatement(answers)) checkCredits(its, said, part);
  if (notesHashed !== said.filter(({ event }) => event.name === "NoteHashed").length)
    its.contradict("a hashed note belongs to no statement");
}

/** Of a statement that comes again the name of the suspended one, which the pool says directly before it. */
function earlierOf(said: readonly Said[], place: number): Bytes32 | undefined {
  const before = said[place - 1]?.event;
  return before?.name === "Confirmed" ? asBytes32(before.args["earlier"]) : undefined;
}

/** Where a transaction's money is no statement's: before the first answer, and behind each that is another. */
function partsWithoutStatement(answers: readonly Said[]): Between[] {
  const ends = [...answers.map(({ log }) => log.logIndex), Infinity];
  const parts = ends.map((until, i) => ({ from: ends[i - 1] ?? -1, until }));
  return parts.filter((_, i) => answers[i - 1]?.event.name !== "Executed");
}

function parse(its: Case, log: Log): Said[] {
  if (log.address !== its.pool.home.pool) return [];
  const event = poolInterface.parseLog({ topics: [...log.topics], data: log.data });
  if (event === null) its.contradict("the pool said something that this watcher does not know");
  return [{ log, event }];
}

/**
 * By position, never by hash: a batch may carry one statement twice, first with an honest proof and a bad
 * attestation, then with a false proof and a forged one. Only the second is executed, and it is to be judged.
 */
function pair(its: Case, answers: readonly Said[]): readonly Handed[] | string {
  const { handed } = its.transaction;
  if (typeof handed === "string") return handed;
  const fits =
    handed.length === answers.length &&
    handed.every((one, i) => {
      const { name, args } = answers[i]!.event;
      if (!ANSWERS[name]!.includes(one.type)) return false;
      if (one.type !== "member") return true;
      const hash = hashOf(one);
      return hash === undefined ? name === "Rejected" : hash === args["statementHash"];
    });
  return fits ? handed : "what was handed to the pool does not fit what it answered";
}
