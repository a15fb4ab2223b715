/** What a scenario of bridges will do, drawn from its seed before it begins: data, so that it can be printed and repeated. */
import { drawCalls, showCalls, type Calls } from "../calls.ts";
import { drawLiar, showLiar, type Liar } from "../liar.ts";
import { Random } from "../../../../scripts/base/random.ts";
import type { StoreName } from "../stores.ts";
import { ABOVE_FAST_FEE, MINIMUM, UNIT } from "./measures.ts";
import { putExchange } from "./plan-exchange.ts";
import { drawFault, drawKill, putStranger } from "./plan-faults.ts";
import { putForeign } from "./plan-foreign.ts";
import type { Step, Supply, Via } from "./steps.ts";
import type { ChainName, Extras } from "./world.ts";
import { PROGRAMS } from "./spot.ts";

export interface Plan {
  readonly seed: number;
  readonly number: number;
  readonly store: StoreName;
  readonly proxies: 1 | 2;
  readonly calls: Calls;
  readonly liar: Liar;
  readonly extras: Extras;
  /** Whether the wallet that gets the fees is restored at the end, too. */
  readonly looksAtFees: boolean;
  readonly steps: readonly (Step & { readonly thenMs: number })[];
}

const KILLING_PERCENT = 50;
const TWO_PROXIES_PERCENT = 35;
const STRANGER_PERCENT = 40;
const FEES_EVERY = 4;
const FOREIGN_PERCENT = 35;
const EXCHANGE_PERCENT = 35;
/** Of the numbers that are drawn for the other blockchain and for the exchange, apart from the rest, so that the rest stays what it is. */
const [FOREIGN_NUMBERS, EXCHANGE_NUMBERS] = [1_000_000, 2_000_000];

export function drawPlan(
  seed: number,
  number: number,
  store: StoreName,
  supply: readonly Supply[],
  isLiar = false,
): Plan {
  const stream = number * 2 + (store === "redis" ? 1 : 0);
  const random = new Random(seed, stream);
  const proxies = store === "redis" && random.chance(TWO_PROXIES_PERCENT) ? 2 : 1;
  const via = (): Via => (proxies === 2 && random.chance(50) ? 1 : 0);
  const evm = supply.filter(({ direction }) => direction === "in" || direction === "out");
  const far = new Random(seed, FOREIGN_NUMBERS + stream);
  const venue = new Random(seed, EXCHANGE_NUMBERS + stream);
  const extras = { alt: far.chance(FOREIGN_PERCENT), exchange: venue.chance(EXCHANGE_PERCENT) };
  const hasMore = extras.alt || extras.exchange;
  // Instead of some others: a scenario takes no longer for it.
  const chosen = random.some(evm, random.between(2, 5)).slice(0, hasMore ? 1 : undefined);
  const steps: Step[] = [];
  const put = (step: Step): void => void steps.splice(random.between(0, steps.length), 0, step);

  for (const one of chosen) putRequest(random, steps, one, via);
  for (const { name: what } of random.some(chosen, random.between(0, 1)))
    put({ do: "ask", what, via: via(), cutMs: undefined, waits: true });
  for (let i = random.between(2, 4); i > 0; i--) put({ do: "go", rounds: random.between(1, 7) });
  for (let i = random.between(4, 8); i > 0; i--) put(drawFault(random, via, chosen));
  if (random.chance(STRANGER_PERCENT)) putStranger(random, steps, chosen);
  if (random.chance(KILLING_PERCENT))
    for (let i = random.chance(30) ? 2 : 1; i > 0; i--) put(drawKill(random, via()));
  const isAlone = proxies === 1;
  if (random.chance(isAlone ? 30 : 60)) {
    const at = random.between(0, steps.length - 1);
    // Where there is one proxy alone, nobody answers while it is frozen.
    const whom = isAlone ? "relay" : random.pick(PROGRAMS);
    steps.splice(at, 0, { do: "freeze", via: via(), whom, lapses: random.chance(60) });
    steps.splice(random.between(at + 1, steps.length), 0, { do: "thaw" });
  }
  if (extras.alt) {
    const foreign = supply.filter(({ direction }) => direction === "foreign").map(({ name }) => name);
    putForeign(far, steps, far.some(foreign, far.between(1, 2)), proxies === 2);
  }
  if (extras.exchange)
    putExchange(
      venue,
      steps,
      supply.filter((one) => !chosen.includes(one)),
      proxies === 2,
    );
  return {
    ...{
      seed,
      number,
      store,
      proxies,
      extras,
      calls: drawCalls(seed, stream),
      liar: drawLiar(seed, stream, isLiar),
      looksAtFees: number % FEES_EVERY === 0,
    },
    steps: steps.map((step) => ({ ...step, thenMs: random.chance(50) ? random.between(0, 60) : 0 })),
  };
}

/** Asked for, then paid once or several times. */
function putRequest(random: Random, steps: Step[], { name: what, direction }: Supply, via: () => Via): void {
  let at = random.between(0, steps.length);
  const then = (step: Step): void => {
    steps.splice(at, 0, step);
    at = random.between(at + 1, steps.length);
  };
  const cutMs = random.chance(15) ? random.between(0, 60) : undefined;
  then({ do: "ask", what, via: via(), cutMs, waits: random.chance(70) });
  const chain: ChainName = direction === "in" && random.chance(65) ? "other" : "home";
  for (let i = random.chance(35) ? random.between(2, 3) : random.chance(95) ? 1 : 0; i > 0; i--)
    then({
      ...{ do: "pay", what, amount: String(drawAmount(random)) },
      chain: direction === "in" && random.chance(15) ? "home" : chain,
      token: random.chance(6) ? "wrong" : "right",
    });
}

function drawAmount(random: Random): bigint {
  const kind = random.between(1, 10);
  if (kind <= 2) return BigInt(random.between(1, Number(MINIMUM) - 1));
  if (kind === 3) return MINIMUM;
  if (kind === 4) return ABOVE_FAST_FEE + BigInt(random.between(0, 10_000)) * UNIT;
  return MINIMUM + BigInt(random.between(1, 300_000_000));
}

/** One line a step. */
export function showPlan({ seed, number, store, proxies, calls, liar, steps }: Plan): string {
  const head = `bridges, seed ${String(seed)}, scenario ${String(number)}, store ${store}, ${String(proxies)} ${proxies === 1 ? "proxy" : "proxies"}, ${showCalls(calls)}, ${showLiar(liar)}`;
  return [head, ...steps.map((step, i) => `  ${String(i + 1).padStart(2)}. ${JSON.stringify(step)}`)].join(
    "\n",
  );
}
