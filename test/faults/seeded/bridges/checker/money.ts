/** What came to an address is at one end, once: in a note, burned and minted, paid back, or there and too little. */
import type { Act, Asked, AskedIn, ChainSeen, Observations } from "../observations.ts";
import { actsOf, amountsOf, isOfDollars, sum, type Say } from "./reading.ts";

/** What came to an address is what left it and what lies there. */
export function checkMoney(asked: Asked, { chains }: Pick<Observations, "chains">, say: Say): void {
  const { name, home } = asked;
  const isIn = asked.direction === "in";
  checkVault(
    `${name} at home`,
    home,
    chains.home,
    isIn ? ["Swept", "Refunded"] : ["Flushed", "Returned"],
    say,
  );
  for (const act of actsOf(chains.home, home.address)) checkHomeAct(asked, act, chains, say);
  if (!isIn) return;
  if (undelivered(asked, chains).isWorth)
    say("NOT_DELIVERED", `${name}: what the exchange burned for it is enough`);
  const far = chains[asked.source.on];
  checkVault(`${name} at its source`, asked.source, far, ["Forwarded", "Refunded"], say);
  for (const act of actsOf(far, asked.source.address)) {
    if (act.kind === "Forwarded")
      checkDeparture(asked, act, far, chains.home, { to: home.address, ceiling: asked.source.ceiling }, say);
    if (act.kind === "Refunded") checkRefund(asked, act, far, say);
  }
}

function checkHomeAct(asked: Asked, act: Act, chains: Observations["chains"], say: Say): void {
  const { home } = chains;
  const { name, npk } = asked;
  switch (act.kind) {
    case "Swept":
    case "Returned": {
      const note = home.credits.find(({ leafIndex, tx }) => leafIndex === act.leafIndex && tx === act.tx);
      if (note?.npk !== npk || note.value !== act.amount)
        say("NOTE_WRONG", `${name}: ${String(act.amount)} became leaf ${String(act.leafIndex)}`);
      if (act.fees > asked.home.ceiling || (act.kind === "Returned" && act.fees > 0n))
        say("FEE_WRONG", `${name}: ${String(act.fees)} of ${String(act.amount)}`);
      return;
    }
    case "Flushed":
      if (asked.direction === "out")
        checkDeparture(
          ...([asked, act, home, chains[asked.on]] as const),
          { to: asked.recipient, ceiling: asked.home.ceiling },
          say,
        );
      return;
    case "Refunded":
      if (asked.direction === "in") checkRefund(asked, act, home, say);
      return;
    case "Forwarded":
      say("BURN_WRONG", `${name}: forwarded at home`);
  }
}

function checkVault(
  name: string,
  { address, minimum }: { readonly address: string; readonly minimum: bigint },
  chain: ChainSeen,
  kinds: readonly Act["kind"][],
  say: Say,
): void {
  const acts = actsOf(chain, address).filter(isOfDollars);
  for (const { kind } of acts) if (!kinds.includes(kind)) say("BALANCE_WRONG", `${name}: ${kind}`);
  const came = sum(chain.transfers.filter(({ to }) => to === address).map(({ amount }) => amount));
  const went = sum(chain.transfers.filter(({ from }) => from === address).map(({ amount }) => amount));
  const told = sum(acts.map(({ amount, fees }) => amount + fees));
  if (went !== told) say("BALANCE_WRONG", `${name}: ${went} went, ${told} by what the contract says`);
  const strange = actsOf(chain, address).filter((act) => !isOfDollars(act));
  const lost = sum(chain.wrong.filter(({ from }) => from === address).map(({ amount }) => amount));
  if (lost !== sum(strange.map(({ amount }) => amount)))
    say("BALANCE_WRONG", `${name}: ${lost} of another token went`);
  const left = came - went;
  if (left < 0n) say("BALANCE_WRONG", `${name}: ${went} of ${came} went`);
  if (left >= minimum) say("NOT_MOVED", `${name}: ${left} lies there`);
}

/** One burn, and one mint of it, less no more than the ceiling. */
function checkDeparture(
  { name }: Asked,
  act: Act,
  from: ChainSeen,
  to: ChainSeen,
  terms: { readonly to: string; readonly ceiling: bigint },
  say: Say,
): void {
  const burns = from.burns.filter(({ tx, recipient }) => tx === act.tx && recipient === terms.to);
  const burn = burns.find(({ amount }) => amount === act.amount);
  if (burn === undefined) {
    say("BURN_WRONG", `${name}: ${String(act.amount)} left in ${act.tx} and is no burn to ${terms.to}`);
    return;
  }
  const mint = to.mints.find(({ nonce }) => nonce === burn.nonce);
  if (mint === undefined) {
    say("NOT_DELIVERED", `${name}: the burn of ${String(burn.amount)} in ${burn.tx}`);
    return;
  }
  if (mint.amount !== burn.amount || mint.recipient !== terms.to)
    say(
      "BURN_WRONG",
      `${name}: ${String(burn.amount)} burned, ${String(mint.amount)} minted to ${mint.recipient}`,
    );
  if (mint.fee > terms.ceiling) say("FEE_WRONG", `${name}: ${String(mint.fee)} for the way`);
}

/** So many small messages at most make up one minimum. */
const MOST_TOGETHER = 8;

/** What the exchange has burned for an address and nobody has delivered: too little is not worth it, and the status says so. */
export function undelivered(
  { home: { address, minimum } }: AskedIn,
  { home, exchange }: Observations["chains"],
): { readonly count: number; readonly isWorth: boolean } {
  const there = new Set(home.mints.map(({ nonce }) => nonce));
  const left = exchange.burns.filter(({ nonce, recipient }) => recipient === address && !there.has(nonce));
  const lies =
    sum(amountsOf(home.transfers.filter(({ to }) => to === address))) -
    sum(amountsOf(home.transfers.filter(({ from }) => from === address)));
  const isTogether =
    left.length > 0 && left.length <= MOST_TOGETHER && lies + sum(amountsOf(left)) >= minimum;
  return { count: left.length, isWorth: isTogether || left.some(({ amount }) => amount >= minimum) };
}

function checkRefund({ name, refund }: AskedIn, act: Act, chain: ChainSeen, say: Say): void {
  if (!isOfDollars(act)) return;
  const isPaid = chain.transfers.some(
    ({ from, to, amount, tx }) =>
      from === act.vault && to === refund && amount === act.amount && tx === act.tx,
  );
  if (act.to !== refund || !isPaid)
    say("REFUND_WRONG", `${name}: ${String(act.amount)} to ${String(act.to)}`);
}
