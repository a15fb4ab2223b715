/** What a scenario of bridges will do, drawn from its seed before it begins: data, so that it can be printed and repeated. */
import { Random } from "../random.ts";
import { RPC_FAULTS } from "../rpc-faults.ts";
import type { StoreName } from "../stores.ts";
import type { Moment } from "../trap.ts";
import { ATTESTER_FAULTS, ATTESTER_QUESTIONS, FAULTS_OF_MESSAGES } from "./attester-faults.ts";
import { EXPIRES_AFTER_BLOCKS } from "./parties.ts";
import { FOREIGN_FAULT_NAMES, FOREIGN_FAULT_NAMES_OF_TWO, putForeign } from "./plan-foreign.ts";
import { STRANGERS_ACTS, type KillAt, type Step, type Via } from "./steps.ts";
import { CHAINS, CONFIRMATIONS, type ChainName } from "./world.ts";

export interface Plan {
  readonly seed: number;
  readonly number: number;
  readonly store: StoreName;
  readonly proxies: 1 | 2;
  /** Whether it has the other blockchain. */
  readonly hasAlt: boolean;
  /** Whether the wallet that gets the fees is restored at the end, too. */
  readonly looksAtFees: boolean;
  readonly steps: readonly (Step & { readonly thenMs: number })[];
}

const perChain = <Name extends string>(name: Name): readonly `${Name}-${ChainName}`[] =>
  CHAINS.map((chain) => `${name}-${chain}` as const);

/** Every way in which a scenario can be disturbed, by the name under which it is counted. */
export const BRIDGE_FAULT_NAMES = [
  ...RPC_FAULTS.filter((fault) => fault !== "cannot-simulate"),
  ...ATTESTER_FAULTS,
  "attester-away",
  "kill-now",
  ...perChain("kill-at"),
  "kill-at-attester",
  ...perChain("reorg-empty"),
  ...perChain("reorg-later"),
  ...perChain("rollback"),
  ...perChain("drop"),
  ...perChain("base-fee"),
  ...perChain("chain-clock"),
  "proxy-clock",
  "expired",
  "hang-up",
  "dust",
  "above-fast-fee",
  "several-deposits",
  "wrong-token",
  "forged-message",
  ...STRANGERS_ACTS.map((act) => `stranger-${act}` as const),
  ...FOREIGN_FAULT_NAMES,
] as const;
/** Of two proxies around one Redis. */
export const BRIDGE_FAULT_NAMES_OF_TWO = [
  ...(["freeze", "freeze-past-lease", "second-proxy"] as const),
  ...FOREIGN_FAULT_NAMES_OF_TWO,
] as const;
export type BridgeFaultName =
  (typeof BRIDGE_FAULT_NAMES)[number] | (typeof BRIDGE_FAULT_NAMES_OF_TWO)[number] | "cannot-simulate";

/** The questions in the way of a deposit; a kill at any other is drawn with an absent method. */
const KILL_METHODS: Readonly<Record<ChainName, readonly [string | undefined, ...(string | undefined)[]]>> = {
  home: [
    undefined,
    "eth_sendRawTransaction",
    "eth_sendRawTransaction",
    "eth_sendRawTransaction",
    "eth_getLogs",
    "eth_call",
    "eth_getTransactionReceipt",
    "eth_getTransactionCount",
    "eth_simulateV1",
  ],
  other: [
    undefined,
    "eth_sendRawTransaction",
    "eth_sendRawTransaction",
    "eth_sendRawTransaction",
    "eth_getLogs",
    "eth_call",
    "eth_getTransactionCount",
    "eth_getBalance",
  ],
};
/** A fault of the node that strikes one method, or any. */
const STRUCK_METHODS = [
  undefined,
  undefined,
  "eth_sendRawTransaction",
  "eth_getBlockByNumber",
  "eth_getLogs",
  "eth_call",
] as const;

export const UNIT = 1_000_000n;
/** Of everything here that is moved on. */
export const MINIMUM = 2n * UNIT;
/** From here on the attester's fee for a fast message is above the ceiling. */
export const ABOVE_FAST_FEE = 5_001n * UNIT;
const HOUR = 3_600;
export const DAY = 24 * HOUR;
export const MAX_DEPTH = CONFIRMATIONS - 1;
const STUCK_MS = 31_000;

const KILLING_PERCENT = 50;
const TWO_PROXIES_PERCENT = 35;
const STRANGER_PERCENT = 40;
const FEES_EVERY = 4;
const FOREIGN_PERCENT = 35;
/** Of the numbers that are drawn for the other blockchain, apart from the rest, so that the rest stays what it is. */
const FOREIGN_NUMBERS = 1_000_000;

export interface Supply {
  readonly name: string;
  /** `foreign`: in, from the other blockchain. */
  readonly direction: "in" | "out" | "foreign";
}

export function drawPlan(seed: number, number: number, store: StoreName, supply: readonly Supply[]): Plan {
  const random = new Random(seed, number * 2 + (store === "redis" ? 1 : 0));
  const proxies = store === "redis" && random.chance(TWO_PROXIES_PERCENT) ? 2 : 1;
  const via = (): Via => (proxies === 2 && random.chance(50) ? 1 : 0);
  const evm = supply.filter(({ direction }) => direction !== "foreign");
  const far = new Random(seed, FOREIGN_NUMBERS + number * 2 + (store === "redis" ? 1 : 0));
  const hasAlt = far.chance(FOREIGN_PERCENT);
  // Instead of some others: a scenario takes no longer for it.
  const chosen = random.some(evm, random.between(2, 5)).slice(0, hasAlt ? 1 : undefined);
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
  if (proxies === 2 && random.chance(60)) {
    const at = random.between(0, steps.length - 1);
    steps.splice(at, 0, { do: "freeze", via: via(), lapses: random.chance(60) });
    steps.splice(random.between(at + 1, steps.length), 0, { do: "thaw" });
  }
  if (hasAlt) {
    const foreign = supply.filter(({ direction }) => direction === "foreign").map(({ name }) => name);
    putForeign(far, steps, far.some(foreign, far.between(1, 2)), proxies === 2);
  }
  return {
    ...{ seed, number, store, proxies, hasAlt, looksAtFees: number % FEES_EVERY === 0 },
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

function drawKill(random: Random, via: Via): Step {
  const moment: Moment = random.pick(["before", "after"]);
  const atChain = (chain: ChainName): KillAt => ({
    ...{ on: "rpc", chain, moment, method: random.pick(KILL_METHODS[chain]) },
    nth: random.between(1, 3),
  });
  const at = random.pick<KillAt>([
    { on: "now" },
    atChain("home"),
    atChain("home"),
    atChain("other"),
    atChain("other"),
    { on: "attester", question: random.pick([undefined, ...ATTESTER_QUESTIONS]), moment },
  ]);
  return { do: "kill", via, at, pauseMs: random.between(0, 80) };
}

function drawFault(random: Random, via: () => Via, chosen: readonly Supply[]): Step {
  const depth = random.between(1, MAX_DEPTH);
  const chain = random.pick(CHAINS);
  const what = random.some(chosen, 1)[0]!.name;
  const kind = random.between(1, 24);
  if (kind <= 6) return drawRpcFault(random, via(), chain);
  if (kind <= 11) {
    // What lies about a message is struck by fewer answers.
    const fault = random.pick(random.chance(50) ? FAULTS_OF_MESSAGES : ATTESTER_FAULTS);
    return { do: "attester", via: via(), fault, times: random.between(1, 3) };
  }
  switch (kind) {
    case 12:
    case 13:
    case 14:
      return { do: "reorg", chain, depth, content: random.pick(["empty", "later"]) };
    case 15:
      return { do: "rollback", chain, depth };
    case 16:
      return { do: "drop", chain };
    case 17:
      return { do: "base-fee", chain, gwei: random.pick([3, 20, 100, 300]) };
    case 18:
      return { do: "chain-clock", chain, secs: random.pick([random.between(1, 600), HOUR + 60, DAY + 60]) };
    case 19:
      return { do: "proxy-clock", ms: random.pick([STUCK_MS, 2 * STUCK_MS, HOUR * 1_000]) };
    case 20:
    case 21:
      return { do: "stranger", act: random.pick(["deliver", "refund"]), what };
    case 22:
      return { do: "forge", what };
    case 23:
      return { do: "attester-away" };
    default:
      return { do: "mine", chain, blocks: EXPIRES_AFTER_BLOCKS + random.between(0, 4) };
  }
}

function drawRpcFault(random: Random, via: Via, chain: ChainName): Step {
  const fault = random.pick(RPC_FAULTS);
  const isOfOneKind = RPC_FAULTS.indexOf(fault) >= RPC_FAULTS.indexOf("stale");
  const method = isOfOneKind ? undefined : random.pick(STRUCK_METHODS);
  const arming = {
    fault,
    ...(method === undefined ? {} : { method }),
    times: fault === "stale" ? random.between(10, 40) : random.between(1, 6),
    ...(fault === "stale" ? { behind: random.between(1, 3) } : {}),
  };
  return { do: "rpc", via, chain, arming };
}

/** In the same block as the money, before the service has seen it. */
function putStranger(random: Random, steps: Step[], chosen: readonly Supply[]): void {
  const paid = steps.flatMap((step, at) =>
    step.do === "pay" && step.token === "right" ? [{ step, at }] : [],
  );
  const [one] = random.some(paid, 1);
  if (one === undefined) return;
  const { what, chain } = one.step;
  const isOut = chosen.some(({ name, direction }) => name === what && direction === "out");
  const act = isOut ? "flush" : chain === "home" ? "sweep" : "forward";
  steps.splice(one.at + 1, 0, { do: "stranger", act, what });
}

/** One line a step. */
export function showPlan({ seed, number, store, proxies, steps }: Plan): string {
  const head = `bridges, seed ${String(seed)}, scenario ${String(number)}, store ${store}, ${String(proxies)} ${proxies === 1 ? "proxy" : "proxies"}`;
  return [head, ...steps.map((step, i) => `  ${String(i + 1).padStart(2)}. ${JSON.stringify(step)}`)].join(
    "\n",
  );
}
