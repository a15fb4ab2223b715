/**
 * Compares what a scenario saw: every answer, the chain, the wallets and the stream must tell one story, in which
 * nothing is lost, nothing happens twice, the order is kept and every balance is exact. Knows nothing of how it came.
 */
import type { Answer, Asked, Effects, Execution, Observations, StreamedState } from "./observations.ts";

export interface Violation {
  readonly code:
    | "NOT_SETTLED"
    | "TICKET_LOST"
    | "TICKET_TWICE"
    | "TICKET_UNKNOWN"
    | "EXECUTED_TWICE"
    | "EXECUTED_UNASKED"
    | "NOT_EXECUTED"
    | "WRONG_OUTCOME"
    | "UNJUSTIFIED_FAILURE"
    | "UNJUSTIFIED_REFUSAL"
    | "NOBODY_WON"
    | "BOTH_WON"
    | "ORDER_CHANGED"
    | "BALANCE_WRONG"
    | "WALLET_WRONG"
    | "EVENTS_DIFFER"
    | "FOLLOWER_DIFFERS"
    | "STATE_WENT_BACK"
    | "NONCE_HOLE"
    | "OUTGOING_LEFT"
    | "TREE_BEHIND"
    | "TREE_WRONG"
    | "FORGED_STANDS"
    | "HONEST_VOID"
    | "STOP_FAILED";
  readonly text: string;
}

export function check(seen: Observations): Violation[] {
  const found: Violation[] = [];
  const say = (code: Violation["code"], text: string): void => void found.push({ code, text });
  const executed = new Map<string, Execution>();
  for (const execution of seen.executions) {
    if (executed.has(execution.statement)) say("EXECUTED_TWICE", execution.statement);
    executed.set(execution.statement, execution);
  }
  const mayExecute = new Set(
    [...seen.asked, ...seen.foreign, ...seen.forged].map(({ statement }) => statement),
  );
  for (const statement of executed.keys()) if (!mayExecute.has(statement)) say("EXECUTED_UNASKED", statement);

  for (const asked of seen.asked) checkAnswers(asked, seen, executed, say);
  checkRivals(seen, executed, say);
  checkLogs(seen, say);
  checkOrder(seen, executed, say);
  checkMoney(seen, executed, say);
  checkEvents(seen, say);
  checkStates(seen.streamedStates, seen.excuses, say);

  const { mined, pending } = seen.nonces;
  if (mined !== pending)
    say("NONCE_HOLE", `${String(pending - mined)} transactions of the gas wallet still wait`);
  if (seen.outgoing.length > 0) say("OUTGOING_LEFT", `under the nonces ${seen.outgoing.join(", ")}`);
  checkForged(seen, executed, say);
  const { leaves, covered, root, shouldBe, told } = seen.tree;
  if (leaves !== covered)
    say("TREE_BEHIND", `${String(covered)} of ${String(leaves)} leaves are in the tree`);
  if (root !== shouldBe || told !== root)
    say("TREE_WRONG", `the leaves give ${shouldBe}, the pool has ${root}, the service says ${told}`);
  return found;
}

type Say = (code: Violation["code"], text: string) => void;

const idsOf = (answers: readonly Answer[]): string[] => [
  ...new Set(answers.flatMap((answer) => (answer.is === "ticket" ? [answer.id] : []))),
];

function checkAnswers(
  asked: Asked,
  seen: Observations,
  executed: ReadonlyMap<string, Execution>,
  say: Say,
): void {
  const { name, statement, answers, ticket } = asked;
  const ids = idsOf(answers);
  const execution = executed.get(statement);
  if (ticket === undefined) {
    if (ids.length > 0) {
      say("TICKET_LOST", `${name}: it had the ticket ${ids.join(", ")}`);
      return;
    }
    if (execution !== undefined) say("EXECUTED_UNASKED", `${name} was executed and has no ticket`);
    checkRefusal(asked, seen, executed, say);
    return;
  }
  // One that ended in vain may be followed by another; until then it is one ticket.
  if (ids.length > 1) say("TICKET_TWICE", `${name}: ${ids.join(", ")}`);
  if (ticket.statement !== statement) say("WRONG_OUTCOME", `${name}: its ticket is of another statement`);
  const stored = seen.stored.get(ticket.id);
  if (stored === undefined) say("TICKET_LOST", `${name}: the store does not have it`);
  else if (stored.state !== ticket.state || stored.statement !== statement)
    say("WRONG_OUTCOME", `${name}: the store says ${stored.state}, the service said ${ticket.state}`);
  switch (ticket.state) {
    case "finalized": {
      if (execution === undefined) {
        say("NOT_EXECUTED", `${name} is finalized and not on the chain`);
        return;
      }
      const leaves = execution.commitments.map((_, i) => execution.firstLeaf + i);
      if (ticket.txHash !== execution.txHash || ticket.block !== execution.block)
        say(
          "WRONG_OUTCOME",
          `${name}: it names ${String(ticket.txHash)} in ${String(ticket.block)}, the chain ${execution.txHash} in ${String(execution.block)}`,
        );
      if (String(ticket.leaves) !== String(leaves))
        say("WRONG_OUTCOME", `${name}: leaves ${String(ticket.leaves)} instead of ${String(leaves)}`);
      return;
    }
    case "failed":
    case "expired":
      if (execution !== undefined) say("WRONG_OUTCOME", `${name} is ${ticket.state} and on the chain`);
      else if (!isJustified(ticket.error, asked, seen, executed))
        say("UNJUSTIFIED_FAILURE", `${name}: ${ticket.state}, ${String(ticket.error)}`);
      return;
    case "queued":
    case "submitted":
    case "confirmed":
      say("NOT_SETTLED", `${name} is still ${ticket.state}`);
  }
}

const LATE = new Set([
  "DEADLINE_PASSED",
  "AUTHORIZATION_EXPIRED",
  "INVALID_REQUEST",
  "AUTHORIZATION_INVALID",
]);
const SPENT = new Set(["NULLIFIER_SPENT", "NULLIFIER_PENDING"]);

function isJustified(
  code: string | null,
  { rivals, deadline }: Asked,
  seen: Observations,
  executed: ReadonlyMap<string, Execution>,
): boolean {
  if (code === null) return false;
  if (LATE.has(code)) return deadline < seen.excuses.time;
  if (!SPENT.has(code)) return false;
  return [...seen.asked, ...seen.foreign].some(
    ({ name, statement }) => rivals.includes(name) && executed.has(statement),
  );
}

/** The last answer is of a healthy service. */
function checkRefusal(
  asked: Asked,
  seen: Observations,
  executed: ReadonlyMap<string, Execution>,
  say: Say,
): void {
  const last = asked.answers.at(-1);
  if (last?.is === "refused" && isJustified(last.code, asked, seen, executed)) return;
  say(
    "UNJUSTIFIED_REFUSAL",
    `${asked.name}: ${last?.is === "refused" ? `${String(last.status)} ${last.code}` : "no answer"}`,
  );
}

/** Of those that spend one note, one wins, whoever carried it; all lose only when there was no time left. */
function checkRivals(seen: Observations, executed: ReadonlyMap<string, Execution>, say: Say): void {
  for (const { name, statement, rivals, deadline } of seen.asked) {
    const others = [...seen.asked, ...seen.foreign].filter((other) => rivals.includes(other.name));
    const winners = [statement, ...others.map((other) => other.statement)].filter((each) =>
      executed.has(each),
    );
    if (winners.length > 1) say("BOTH_WON", `${name} and its rival`);
    if (winners.length === 0 && rivals.length > 0 && deadline >= seen.excuses.time)
      say("NOBODY_WON", `${name}, ${others.length === 0 ? "alone" : "nor its rival"}`);
  }
}

/** Nothing else is void, and nothing of it is left: its leaves count for nobody. */
function checkForged(seen: Observations, executed: ReadonlyMap<string, Execution>, say: Say): void {
  const forged = new Set<number>();
  for (const { name, statement } of seen.forged) {
    const execution = executed.get(statement);
    if (execution === undefined) continue;
    const leaves = execution.commitments.map((_, i) => execution.firstLeaf + i);
    for (const leaf of leaves) forged.add(leaf);
    if (!leaves.every((leaf) => seen.voids.has(leaf)))
      say("FORGED_STANDS", `${name}: not all of its leaves ${leaves.join(", ")} are void`);
  }
  const honest = [...seen.voids].filter((leaf) => !forged.has(leaf));
  if (honest.length > 0) say("HONEST_VOID", `leaves ${honest.join(", ")}`);
}

/**
 * A proxy that wrote "accepted" into its log has promised; a caller that heard nothing finds it by asking again. Not
 * one that ended in vain before he asked: then he is told why it cannot be, which `checkRefusal` judges.
 */
function checkLogs(seen: Observations, say: Say): void {
  const known = new Set(seen.asked.flatMap(({ answers }) => idsOf(answers)));
  for (const id of seen.acceptedInLogs) {
    const state = seen.stored.get(id)?.state;
    if (!known.has(id) && state !== "expired" && state !== "failed")
      say("TICKET_UNKNOWN", `${id} was accepted, is ${state ?? "not stored"}, and no answer names it`);
  }
}

/**
 * Leaves stand in the order of acceptance. Exempt are tickets that the pool refused at some time (they wait, and
 * others pass), those whose note a rival had spent in a block that was taken back (nobody sent them before), and
 * those that a stranger's call executed: he chooses what he copies.
 */
function checkOrder(seen: Observations, executed: ReadonlyMap<string, Execution>, say: Say): void {
  const rivalsBefore = new Set(
    [...seen.asked, ...seen.foreign]
      .filter(({ statement }) => seen.executedBefore.has(statement))
      .map(({ name }) => name),
  );
  const line = seen.asked
    .flatMap(({ name, statement, rivals, ticket }) => {
      const execution = executed.get(statement);
      const stored = ticket === undefined ? undefined : seen.stored.get(ticket.id);
      if (execution === undefined || stored === undefined) return [];
      if (execution.from !== seen.sender || seen.rejected.has(statement)) return [];
      if (rivals.some((rival) => rivalsBefore.has(rival))) return [];
      return [{ name, sequence: stored.sequence, leaf: execution.firstLeaf }];
    })
    .sort((a, b) => a.sequence - b.sequence);
  for (const [i, after] of line.entries()) {
    const before = line[i - 1];
    if (before !== undefined && before.leaf > after.leaf)
      say("ORDER_CHANGED", `${before.name} was accepted before ${after.name} and stands behind it`);
  }
  // What a caller can know of the order: whose answer it had before it asked again.
  const answered = seen.asked.flatMap(({ name, answers, ticket }) => {
    const first = answers.find((answer) => answer.is === "ticket");
    const stored = ticket === undefined ? undefined : seen.stored.get(ticket.id);
    const isFirst = first !== undefined && answers[0] === first;
    return isFirst && stored !== undefined ? [{ name, ...first, sequence: stored.sequence }] : [];
  });
  for (const one of answered)
    for (const other of answered)
      if (one.answeredAt < other.sentAt && one.sequence > other.sequence)
        say("ORDER_CHANGED", `${one.name} was answered before ${other.name} was asked, and is behind it`);
}

function checkMoney(seen: Observations, executed: ReadonlyMap<string, Execution>, say: Say): void {
  const effects = [...seen.asked, ...seen.foreign]
    .filter(({ statement }) => executed.has(statement))
    .map((each) => each.effects);
  const sum = (of: (effects: Effects) => bigint | undefined): bigint =>
    effects.reduce((total, each) => total + (of(each) ?? 0n), 0n);

  const { before, after } = seen.balances;
  const pool = before.pool + sum((each) => each.pool);
  if (after.pool !== pool) say("BALANCE_WRONG", `the pool holds ${after.pool} instead of ${pool}`);
  for (const [name, had] of Object.entries(before.accounts)) {
    const should = had + sum((each) => each.accounts[name]);
    if (after.accounts[name] !== should)
      say("BALANCE_WRONG", `${name} holds ${String(after.accounts[name])} instead of ${should}`);
  }
  for (const [name, has] of Object.entries(seen.wallets.after)) {
    const should = (seen.wallets.before[name] ?? 0n) + sum((each) => each.wallets[name]);
    if (has !== should) say("WALLET_WRONG", `${name} finds ${has} instead of ${should}`);
  }
}

function checkEvents({ chainEvents, streamEvents, followedEvents }: Observations, say: Say): void {
  const difference = (told: readonly string[]): string | undefined => {
    for (let i = 0; i < Math.max(told.length, chainEvents.length); i++)
      if (told[i] !== chainEvents[i])
        return `at ${String(i)}: ${told[i]?.slice(0, 60) ?? "nothing"} instead of ${chainEvents[i]?.slice(0, 60) ?? "nothing"}`;
    return undefined;
  };
  const whole = difference(streamEvents);
  if (whole !== undefined) say("EVENTS_DIFFER", whole);
  const followed = difference(followedEvents);
  if (followed !== undefined) say("FOLLOWER_DIFFERS", followed);
}

const RANK = { queued: 0, submitted: 1, confirmed: 2, finalized: 3, failed: 3, expired: 3 } as const;

/** Only where the chain went back, or what was sent had to be given up, and never from an end. */
function checkStates(states: readonly StreamedState[], excuses: Observations["excuses"], say: Say): void {
  const last = new Map<string, StreamedState["state"]>();
  for (const { ticket, state } of states) {
    const before = last.get(ticket);
    last.set(ticket, state);
    if (before === undefined || before === state) continue;
    const isEnd = RANK[before] === RANK.finalized;
    const isGivenUp = excuses.hidReceipts && before === "submitted" && state === "queued";
    if (isEnd || (RANK[state] < RANK[before] && !excuses.wentBack && !isGivenUp))
      say("STATE_WENT_BACK", `${ticket}: ${before}, then ${state}`);
  }
}
