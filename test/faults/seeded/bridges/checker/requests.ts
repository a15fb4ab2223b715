/** What callers were told: one request for the same terms, at the address that the client computed. */
import type { Answer, Asked, ExchangeSeen } from "../observations.ts";
import { addressesOf, idsOf, type Say } from "./reading.ts";

/** One request, whoever heard of it: asked again it is the same, and its address is what the client has computed. */
export function checkAnswers(asked: Asked, exchange: ExchangeSeen | undefined, say: Say): void {
  const { name, answers, status } = asked;
  const ids = idsOf(asked);
  if (ids.length > 1) say("REQUEST_TWICE", `${name}: ${ids.join(", ")}`);
  if (ids.length > 0 && status?.id !== ids.at(-1)) say("REQUEST_LOST", `${name} was ${ids.join(", ")}`);
  const last = answers.at(-1);
  const account = asked.direction === "out" ? asked.account : undefined;
  if (account?.kind === "never" && ids.length > 0) say("ACCOUNT_TAKEN", `${name} is for nobody's account`);
  if (account !== undefined && isRefusedFor(account.address, last, exchange)) return;
  if (last?.is !== "made")
    say(
      "REFUSED",
      `${name}: ${last?.is === "refused" ? `${String(last.status)} ${last.code}` : "no answer"}`,
    );
  else if (last.status !== 200) say("REQUEST_LOST", `${name}: asked again it was new`);
  if (answers.filter((answer) => answer.is === "made" && answer.status === 201).length > 1)
    say("REQUEST_TWICE", `${name} was new more than once`);
  for (const answer of answers)
    if (answer.is === "made" && String(answer.addresses) !== String(addressesOf(asked)))
      say("ADDRESS_WRONG", `${name}: ${answer.addresses.join(", ")}`);
}

/** It waits for no such signature (any more), or the blockchain did not take it: both say to ask for the status. */
const CODES_OF_SIGNATURES = ["BRIDGE_STATE", "VENUE_UNAVAILABLE"];

/** What the service wrote and the deposit key signed is sent, or is out of date; it is never called wrong. */
export function checkGiven(asked: Asked, say: Say): void {
  for (const { status, code } of asked.direction === "in" ? asked.given : [])
    if (status !== undefined && status !== 200 && !CODES_OF_SIGNATURES.includes(code) && status < 500)
      say("SIGNATURE_REFUSED", `${asked.name}: ${String(status)} ${code}`);
}

/** Nobody is told an address for an account that the exchange does not know (any more). */
function isRefusedFor(
  account: string,
  last: Answer | undefined,
  exchange: ExchangeSeen | undefined,
): boolean {
  const isKnown = exchange?.after.ledger.has(`perps:${account}`) === true;
  return !isKnown && last?.is === "refused" && last.code === "ACCOUNT_UNKNOWN";
}
