/** Ways of money to and from the exchange that came to their ends in a scenario, by what was seen at the end. */
import { enteredOf } from "./checker/exchange.ts";
import type { AskedOut, Observations } from "./observations.ts";
import type { EXCHANGE_LANES } from "./plan-exchange.ts";

type Lane = (typeof EXCHANGE_LANES)[number];

export function lanesPlayed(seen: Observations): Lane[] {
  const { asked, chains, exchange } = seen;
  if (exchange === undefined) return [];
  const swept = new Set(chains.home.acts.filter(({ kind }) => kind === "Swept").map(({ vault }) => vault));
  const arrivals = exchange.after.withdrawals
    .slice(exchange.before.withdrawals.length)
    .filter(({ state, recipient }) => state === "paid" && swept.has(recipient));
  return [
    ...arrivals.map(() => "from-exchange" as const),
    ...asked.flatMap((one) => (one.direction === "out" ? lanesOf(one, seen) : [])),
  ];
}

function lanesOf({ account, answers, home }: AskedOut, seen: Observations): Lane[] {
  if (account === undefined) return [];
  const last = answers.at(-1);
  if (account.kind === "never")
    return last?.is === "refused" && last.code === "ACCOUNT_UNKNOWN" ? ["to-exchange-unknown-account"] : [];
  const acts = seen.chains.home.acts.filter(({ vault }) => vault === home.address);
  const flushed = new Set(acts.filter(({ kind }) => kind === "Flushed").map(({ tx }) => tx));
  const nonces = new Set(
    seen.chains.home.burns.filter(({ tx }) => flushed.has(tx)).map(({ nonce }) => nonce),
  );
  const lies = seen.after.home.vaults.get(home.address) ?? 0n;
  return [
    ...(enteredOf(seen, nonces).length > 0 ? (["to-exchange"] as const) : []),
    ...(lies > 0n && lies < home.minimum ? (["to-exchange-below-minimum"] as const) : []),
    ...(account.kind === "leaver" && acts.some(({ kind }) => kind === "Returned")
      ? (["to-exchange-refused"] as const)
      : []),
  ];
}
