/**
 * Compares what a scenario of bridges saw: every unit that arrived at an address is at one end, once; the chains, the
 * exchange's ledger, a restored wallet, the service's words and its stream tell one story. Knows nothing of how it came.
 */
import { checkExchange } from "./checker/exchange.ts";
import { checkMoney } from "./checker/money.ts";
import type { Say, Violation } from "./checker/reading.ts";
import { checkAnswers, checkGiven } from "./checker/requests.ts";
import { checkMints, checkNotes, checkTotals } from "./checker/totals.ts";
import { checkStatus, checkStream, type Said } from "./checker/words.ts";
import type { Asked, Observations } from "./observations.ts";

export type { Violation } from "./checker/reading.ts";

export function check(seen: Observations): Violation[] {
  const found: Violation[] = [];
  const say: Say = (code, text) => void found.push({ code, text });
  for (const asked of seen.asked) {
    checkAnswers(asked, seen.exchange, say);
    checkGiven(asked, say);
    checkMoney(asked, seen, say);
    checkStatus(asked, seen, say);
    checkStream(asked, seen, say);
  }
  checkMints(seen, say);
  checkNotes(seen, say);
  checkTotals(seen, say);
  checkExchange(seen, say);
  for (const [name, { nonces }] of Object.entries(seen.after))
    if (nonces.mined !== nonces.pending)
      say("NONCE_HOLE", `${name}: ${String(nonces.pending - nonces.mined)} transactions of ours still wait`);
  if (seen.outgoing.length > 0) say("OUTGOING_LEFT", `under the nonces ${seen.outgoing.join(", ")}`);
  if (seen.pendingLeaves > 0) say("TREE_BEHIND", `${String(seen.pendingLeaves)} leaves are under no root`);
  return found;
}

/** What is not at its end yet, by the chains and the exchange alone; the scenario goes on while there is something. */
export function unsettled(
  asked: readonly Asked[],
  chains: Observations["chains"],
  exchange: Observations["exchange"],
): string[] {
  const found: string[] = [];
  const say: Say = (code, text) => {
    if (OPEN.includes(code)) found.push(text);
  };
  for (const one of asked) checkMoney(one, { chains }, say);
  checkExchange({ asked, chains, exchange }, say);
  return found;
}

/** What the service does not say yet, though it is so. */
export function unsaid(asked: readonly Asked[], seen: Said): string[] {
  const found: string[] = [];
  for (const one of asked) checkStatus(one, seen, (_code, text) => found.push(text));
  return found;
}

const OPEN: readonly Violation["code"][] = ["NOT_MOVED", "NOT_DELIVERED", "NOT_CREDITED", "NOT_PAID"];
