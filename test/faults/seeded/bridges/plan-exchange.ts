/** What a scenario does with the exchange: money in from its accounts by both of its doors, money out to them, and what disturbs it. */
import type { Random } from "../../../../scripts/base/random.ts";
import type { Moment } from "../../../../scripts/stand-ins/between/trap.ts";
import { EXCHANGE_FAULTS, EXCHANGE_QUESTIONS } from "../../../../scripts/stand-ins/between/exchange-relay.ts";
import { UNIT } from "./measures.ts";
import { drawChainFault, drawRpcFault, KILL_METHODS, whomAt } from "./plan-faults.ts";
import { EXCHANGE_ACTS, type ExchangeAct, type KillAt, type Step, type Supply, type Via } from "./steps.ts";

/** Ways of money between the exchange and a note that came to their ends, and refusals that did. */
export const EXCHANGE_LANES = [
  "from-exchange",
  "to-exchange",
  "to-exchange-below-minimum",
  "to-exchange-refused",
  "to-exchange-unknown-account",
] as const;

export const EXCHANGE_FAULT_NAMES = [
  ...EXCHANGE_FAULTS.map((fault) => `exchange-${fault}` as const),
  ...EXCHANGE_ACTS.map((act) => `exchange-${act}` as const),
  "kill-at-exchange-api",
  ...EXCHANGE_LANES,
] as const;

/** Of an address towards the exchange. */
const LEAST = 5 * Number(UNIT);
/** Of what it takes for a withdrawal. */
const FEE = Number(UNIT);
const KILLING_PERCENT = 60;
const FORGETTING_PERCENT = 75;

type Put = (step: Step) => void;

export function putExchange(
  random: Random,
  steps: Step[],
  supply: readonly Supply[],
  isOfTwo: boolean,
): void {
  const via = (): Via => (isOfTwo && random.chance(50) ? 1 : 0);
  const put = (step: Step): void => void steps.splice(random.between(0, steps.length), 0, step);
  const of = (direction: Supply["direction"]): Supply[] =>
    supply.filter((one) => one.direction === direction);

  for (const one of random.some(of("exchange"), random.between(1, 2))) putAccount(random, steps, one, via());
  if (random.chance(65))
    for (const { name } of random.some(of("in"), 1)) putArrival(random, steps, name, via());
  if (random.chance(KILLING_PERCENT)) put(drawExchangeKill(random, via()));
  for (let i = random.between(1, 2); i > 0; i--) put(drawExchangeFault(random, via()));
  for (let i = random.between(1, 2); i > 0; i--)
    put(random.chance(70) ? drawChainFault(random, "exchange") : drawRpcFault(random, via(), "exchange"));
  if (random.chance(60)) put({ do: "exchange", act: random.pick<ExchangeAct>(["restart", "pause", "away"]) });
  put({ do: "go", rounds: random.between(2, 7) });
}

/** One after the other, with others between them. */
function inOrder(random: Random, steps: Step[]): Put {
  let at = random.between(0, steps.length);
  return (step) => {
    steps.splice(at, 0, step);
    at = random.between(at + 1, steps.length);
  };
}

/** Money out to an account; of one that is not there nobody is told an address, and nobody pays. */
function putAccount(random: Random, steps: Step[], { name: what, account }: Supply, via: Via): void {
  const then = inOrder(random, steps);
  const isLeaving = account === "leaver" && random.chance(FORGETTING_PERCENT);
  then({ do: "ask", what, via, cutMs: undefined, waits: isLeaving || random.chance(70) });
  if (account === "never") return;
  const forgetsFirst = random.chance(60);
  if (isLeaving && forgetsFirst) then({ do: "exchange", act: "forget" });
  for (let i = random.chance(25) ? 2 : 1; i > 0; i--)
    then({ do: "pay", what, chain: "home", amount: String(drawAmount(random, LEAST)), token: "right" });
  if (isLeaving && !forgetsFirst) then({ do: "exchange", act: "forget" });
  if (random.chance(35))
    then({ do: "stranger", act: random.pick(["relay", "relay", "flush", "refund"]), what });
  if (random.chance(15)) then({ do: "drop", chain: "exchange" });
}

/** Money in from an account, for an address on the pool's chain. */
function putArrival(random: Random, steps: Step[], what: string, via: Via): void {
  const then = inOrder(random, steps);
  then({ do: "ask", what, via, cutMs: undefined, waits: random.chance(70) });
  for (let i = random.chance(30) ? 2 : 1; i > 0; i--)
    then({
      ...{ do: "withdraw", what },
      amount: String(FEE + drawAmount(random, 2 * Number(UNIT))),
    });
  if (random.chance(20)) then({ do: "stranger", act: random.pick(["deliver", "sweep"]), what });
}

function drawAmount(random: Random, least: number): number {
  const kind = random.between(1, 10);
  if (kind <= 2) return random.between(1, least - 1);
  return kind === 3 ? least : least + random.between(1, 300 * Number(UNIT));
}

function drawExchangeKill(random: Random, via: Via): Step {
  const moment = random.pick<Moment>(["before", "after"]);
  const method = random.pick(KILL_METHODS.exchange);
  const question = random.pick([undefined, ...EXCHANGE_QUESTIONS]);
  const at = random.pick<KillAt>([
    { on: "rpc", chain: "exchange", moment, method, nth: 1 },
    { on: "exchange-api", question, moment },
  ]);
  return { do: "kill", via, at, whom: whomAt(random, at), pauseMs: random.between(0, 80) };
}

/** Most questions are about accounts: that it is paused would be said too seldom. */
const EXCHANGE_WEIGHTED = [...EXCHANGE_FAULTS, "says-paused", "says-paused"] as const;

const drawExchangeFault = (random: Random, via: Via): Step => ({
  ...{ do: "exchange-api", via, fault: random.pick(EXCHANGE_WEIGHTED), times: random.between(1, 3) },
});
