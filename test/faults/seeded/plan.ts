/** What a scenario will do, drawn from its seed before it begins: data, so that it can be printed and repeated. */
import { drawCalls, showCalls, type Calls } from "./calls.ts";
import { drawLiar, showLiar, type Liar } from "./liar.ts";
import { ENCLAVE_FAULTS, type EnclaveFault } from "./enclave-faults.ts";
import { Random } from "../../../scripts/base/random.ts";
import { RPC_FAULTS, type Arming } from "../../../scripts/stand-ins/between/node-relay.ts";
import type { Moment } from "../../../scripts/stand-ins/between/trap.ts";
import type { StoreName } from "./stores.ts";

/** Of a scenario's proxies. */
type Via = 0 | 1;

export type KillAt =
  | { readonly on: "now" }
  | { readonly on: "rpc"; readonly method: string | undefined; readonly moment: Moment }
  | { readonly on: "enclave"; readonly moment: Moment };

export type Step =
  | {
      readonly do: "send";
      readonly what: string;
      readonly via: Via;
      /** The caller hangs up so long after it asked. */
      readonly cutMs: number | undefined;
      /** The next step waits for the answer. */
      readonly waits: boolean;
    }
  | { readonly do: "mine"; readonly blocks: number }
  | { readonly do: "rpc"; readonly via: Via; readonly arming: Arming }
  | { readonly do: "enclave"; readonly via: Via; readonly fault: EnclaveFault; readonly times: number }
  | { readonly do: "kill"; readonly via: Via; readonly at: KillAt; readonly pauseMs: number }
  /** Held still past its lease, so that another takes over, or for less. */
  | { readonly do: "freeze"; readonly via: Via; readonly lapses: boolean }
  | { readonly do: "thaw" }
  /** Other blocks in the place of the newest; `later`: with our transactions again, each a block later. */
  | { readonly do: "reorg"; readonly depth: number; readonly content: "empty" | "later" }
  /** The newest blocks are gone, and nothing is in their place yet. */
  | { readonly do: "rollback"; readonly depth: number }
  /** The node forgets our waiting transaction. */
  | { readonly do: "drop" }
  | { readonly do: "base-fee"; readonly gwei: number }
  | { readonly do: "chain-clock"; readonly secs: number }
  | { readonly do: "proxy-clock"; readonly ms: number }
  /** A stranger lands our waiting call first, or a call with its last member alone. */
  | { readonly do: "copycat"; readonly part: "whole" | "last-member" }
  /** An owner sends what he has proved himself, without the service. */
  | { readonly do: "prove"; readonly what: string }
  /** The guardian closes the attested path for three days. */
  | { readonly do: "pause" }
  /** A thief has a forged transfer executed. */
  | { readonly do: "forge" }
  /** Somebody refutes it: at once, or when a root covers its leaves and what stands behind them. */
  | { readonly do: "refute"; readonly isRooted: boolean }
  /** A stranger puts waiting leaves into the tree. */
  | { readonly do: "advance" }
  /** Time passes until the attested path is open again. */
  | { readonly do: "reopen" }
  /** In each of the next blocks a stranger's deposit goes first. */
  | { readonly do: "race"; readonly blocks: number };

export interface Plan {
  readonly seed: number;
  readonly number: number;
  readonly store: StoreName;
  readonly proxies: 1 | 2;
  readonly calls: Calls;
  readonly liar: Liar;
  /** Those that are restored from their keys at the end. */
  readonly wallets: readonly string[];
  readonly steps: readonly (Step & { readonly thenMs: number })[];
}

/** Every way in which a scenario can be disturbed, by the name under which it is counted. */
export const FAULT_NAMES = [
  ...RPC_FAULTS,
  ...ENCLAVE_FAULTS,
  "kill-now",
  "kill-at-rpc",
  "kill-at-enclave",
  "reorg-empty",
  "reorg-later",
  "rollback",
  "drop",
  "base-fee",
  "chain-clock",
  "deadlines-pass",
  "proxy-clock",
  "copycat-whole",
  "copycat-last-member",
  "race",
  "hang-up",
  "double-spend",
  "proved-transfer",
  "proved-withdrawal",
  "proved-deposit",
  "proved-rival",
  "several-in-flight",
  "pause",
  "forge",
  "refute-fresh",
  "refute-rooted",
] as const;
/** Of two proxies around one Redis. */
export const FAULT_NAMES_OF_TWO = ["freeze", "freeze-past-lease", "second-proxy"] as const;
export type FaultName = (typeof FAULT_NAMES)[number] | (typeof FAULT_NAMES_OF_TWO)[number];

/** The questions in the way of a ticket; a kill at any other is drawn with an absent method. */
const KILL_METHODS = [
  undefined,
  "eth_simulateV1",
  "eth_getBalance",
  "eth_maxPriorityFeePerGas",
  "eth_sendRawTransaction",
  "eth_sendRawTransaction",
  "eth_getLogs",
  "eth_getTransactionReceipt",
  "eth_getTransactionCount",
  "eth_call",
] as const;
/** A fault of the node that strikes one method, or any. */
const STRUCK_METHODS = [
  undefined,
  undefined,
  "eth_sendRawTransaction",
  "eth_getBlockByNumber",
  "eth_getLogs",
  "eth_call",
] as const;

const MINUTE = 60;
/** Past every deadline that a world's transactions have. */
export const PAST_DEADLINES_SECS = 25 * 60 * MINUTE;
/** A transaction is replaced when it waits for half a minute. */
const STUCK_MS = 31_000;
export const MAX_DEPTH = 6;

const KILLING_PERCENT = 36;
const PROVING_PERCENT = 45;
const PAUSING_PERCENT = 8;
const FORGING_PERCENT = 20;
const TWO_PROXIES_PERCENT = 30;
/** Restoring all of them takes longer than all the rest of a scenario. */
const SOME_WALLETS = 1;
const ALL_WALLETS_EVERY = 50;

/** What there is to draw from. */
export interface Supply {
  readonly transactions: readonly string[];
  /** That their owners send themselves, with the rivals among the transactions. */
  readonly proved: readonly { readonly name: string; readonly rivals: readonly string[] }[];
  readonly wallets: readonly string[];
}

export function drawPlan(
  seed: number,
  number: number,
  store: StoreName,
  supply: Supply,
  isLiar = false,
): Plan {
  const stream = number * 2 + (store === "redis" ? 1 : 0);
  const random = new Random(seed, stream);
  const proxies = store === "redis" && random.chance(TWO_PROXIES_PERCENT) ? 2 : 1;
  const via = (): Via => (proxies === 2 && random.chance(50) ? 1 : 0);

  const sends: Step[] = random.some(supply.transactions, random.between(4, 9)).map((what) => ({
    do: "send",
    what,
    via: via(),
    cutMs: random.chance(15) ? random.between(0, 60) : undefined,
    waits: random.chance(70),
  }));
  // Some are put twice, perhaps to the other proxy.
  for (const again of random.some(sends, random.between(0, 2)))
    if (again.do === "send") sends.push({ ...again, via: via(), cutMs: undefined });

  const steps: Step[] = [...sends];
  const put = (step: Step): void => void steps.splice(random.between(0, steps.length), 0, step);

  for (let i = random.between(2, 6); i > 0; i--) put({ do: "mine", blocks: random.between(1, 3) });
  for (let i = random.between(3, 6); i > 0; i--) put(drawFault(random, via));
  if (random.chance(PROVING_PERCENT))
    for (const { name, rivals } of random.some(supply.proved, random.between(1, 3))) {
      put({ do: "prove", what: name });
      for (const what of rivals)
        if (!sends.some((send) => send.do === "send" && send.what === what))
          put({ do: "send", what, via: via(), cutMs: undefined, waits: random.chance(70) });
    }
  if (random.chance(PAUSING_PERCENT)) put({ do: "pause" });
  if (random.chance(FORGING_PERCENT)) putForgery(random, steps);
  if (random.chance(KILLING_PERCENT)) {
    for (let i = random.chance(20) ? 2 : 1; i > 0; i--) put(drawKill(random, via()));
  }
  if (proxies === 2 && random.chance(60)) {
    const at = random.between(0, steps.length - 1);
    steps.splice(at, 0, { do: "freeze", via: via(), lapses: random.chance(60) });
    steps.splice(random.between(at + 1, steps.length), 0, { do: "thaw" });
  }
  return {
    seed,
    number,
    store,
    proxies,
    calls: drawCalls(seed, stream),
    liar: drawLiar(seed, stream, isLiar),
    wallets: number % ALL_WALLETS_EVERY === 0 ? supply.wallets : random.some(supply.wallets, SOME_WALLETS),
    steps: steps.map((step) => ({ ...step, thenMs: random.chance(60) ? random.between(0, 60) : 0 })),
  };
}

/** With the others of the plan before, between and behind. */
function putForgery(random: Random, steps: Step[]): void {
  const acts: Step[] = [{ do: "forge" }];
  if (random.chance(25)) acts.push({ do: "forge" });
  if (random.chance(85)) acts.push({ do: "refute", isRooted: random.chance(50) });
  if (random.chance(60)) acts.push({ do: "advance" });
  if (random.chance(30)) acts.push({ do: "reopen" });
  let at = random.between(0, steps.length);
  for (const act of acts) {
    steps.splice(at, 0, act);
    at = random.between(at + 1, steps.length);
  }
}

function drawKill(random: Random, via: Via): Step {
  const moment: Moment = random.pick(["before", "after"]);
  const at = random.pick<KillAt>([
    { on: "now" },
    { on: "rpc", method: random.pick(KILL_METHODS), moment },
    { on: "rpc", method: random.pick(KILL_METHODS), moment },
    { on: "enclave", moment },
  ]);
  return { do: "kill", via, at, pauseMs: random.between(0, 80) };
}

function drawFault(random: Random, via: () => Via): Step {
  const depth = random.between(1, MAX_DEPTH);
  switch (random.between(1, 16)) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 5: {
      const fault = random.pick(RPC_FAULTS);
      const method = isOfOneKind(fault) ? undefined : random.pick(STRUCK_METHODS);
      const arming = {
        fault,
        ...(method === undefined ? {} : { method }),
        times: fault === "stale" ? random.between(10, 40) : random.between(1, 6),
        ...(fault === "stale" ? { behind: random.between(1, 3) } : {}),
      };
      return { do: "rpc", via: via(), arming };
    }
    case 6:
    case 7:
      return {
        do: "enclave",
        via: via(),
        fault: random.pick(ENCLAVE_FAULTS),
        times: random.between(1, 3),
      };
    case 8:
    case 9:
      return { do: "reorg", depth, content: random.pick(["empty", "later"]) };
    case 10:
      return { do: "rollback", depth };
    case 11:
      return { do: "drop" };
    case 12:
      return { do: "base-fee", gwei: random.pick([3, 20, 100, 300]) };
    case 13:
      return { do: "chain-clock", secs: random.chance(30) ? PAST_DEADLINES_SECS : random.between(1, 600) };
    case 14:
      return { do: "proxy-clock", ms: random.pick([STUCK_MS, 2 * STUCK_MS, 10 * STUCK_MS]) };
    case 15:
      return { do: "copycat", part: random.pick(["whole", "last-member"]) };
    default:
      return { do: "race", blocks: random.between(1, 4) };
  }
}

/** Those that know their methods themselves. */
function isOfOneKind(fault: (typeof RPC_FAULTS)[number]): boolean {
  return RPC_FAULTS.indexOf(fault) >= RPC_FAULTS.indexOf("stale");
}

/** One line a step. */
export function showPlan({ seed, number, store, proxies, calls, liar, steps }: Plan): string {
  const head = `seed ${String(seed)}, scenario ${String(number)}, store ${store}, ${String(proxies)} ${proxies === 1 ? "proxy" : "proxies"}, ${showCalls(calls)}, ${showLiar(liar)}`;
  return [head, ...steps.map((step, i) => `  ${String(i + 1).padStart(2)}. ${JSON.stringify(step)}`)].join(
    "\n",
  );
}
