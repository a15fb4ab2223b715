/** Faults of a scenario of bridges that need nothing but a proxy, two chains and an attester. */
import type { Random } from "../../../../scripts/base/random.ts";
import { RPC_FAULTS } from "../../../../scripts/stand-ins/between/node-relay.ts";
import type { Moment } from "../../../../scripts/stand-ins/between/trap.ts";
import {
  ATTESTER_FAULTS,
  ATTESTER_LIES,
  ATTESTER_QUESTIONS,
} from "../../../../scripts/stand-ins/between/attester-relay.ts";
import { DAY, HOUR, MAX_DEPTH, STUCK_MS } from "./measures.ts";
import { EXPIRES_AFTER_BLOCKS } from "./parties.ts";
import { PROGRAMS, type Whom } from "./spot.ts";
import type { KillAt, Step, Supply, Via } from "./steps.ts";
import { OWN_CHAINS, type ChainName } from "./world.ts";

/** The questions in the way of a deposit; a kill at any other is drawn with an absent method. */
export const KILL_METHODS: Readonly<
  Record<ChainName, readonly [string | undefined, ...(string | undefined)[]]>
> = {
  exchange: [
    undefined,
    "eth_sendRawTransaction",
    "eth_sendRawTransaction",
    "eth_getLogs",
    "eth_getTransactionCount",
  ],
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

export function drawKill(random: Random, via: Via): Step {
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
  return { do: "kill", via, at, whom: whomAt(random, at), pauseMs: random.between(0, 80) };
}

/** Who asks there: the other chains are asked by the relay alone. */
export function whomAt(random: Random, at: KillAt): Whom {
  const isRelays = at.on === "attester" || (at.on === "rpc" && at.chain !== "home");
  return random.pick<Whom>(isRelays ? ["relay", "relay", "both"] : PROGRAMS);
}

export function drawFault(random: Random, via: () => Via, chosen: readonly Supply[]): Step {
  const chain = random.pick(OWN_CHAINS);
  const what = random.some(chosen, 1)[0]!.name;
  const kind = random.between(1, 24);
  if (kind <= 6) return drawRpcFault(random, via(), chain);
  if (kind <= 11) {
    // What lies about a message is struck by fewer answers.
    const fault = random.pick(random.chance(50) ? ATTESTER_LIES : ATTESTER_FAULTS);
    return { do: "attester", via: via(), fault, times: random.between(1, 3) };
  }
  if (kind <= 18) return drawChainFault(random, chain);
  switch (kind) {
    case 19:
      return { do: "proxy-clock", ms: random.pick([STUCK_MS, 2 * STUCK_MS, HOUR * 1_000]) };
    case 20:
    case 21:
      return { do: "stranger", act: random.pick(["deliver", "refund"]), what };
    case 22:
      return random.chance(50) ? { do: "forge", what } : { do: "flood", what, times: random.between(20, 80) };
    case 23:
      return { do: "attester-away" };
    default:
      return { do: "mine", chain, blocks: EXPIRES_AFTER_BLOCKS + random.between(0, 4) };
  }
}

/** What a chain does by itself. */
export function drawChainFault(random: Random, chain: ChainName): Step {
  const depth = random.between(1, MAX_DEPTH);
  switch (random.between(1, 7)) {
    case 1:
    case 2:
    case 3:
      return { do: "reorg", chain, depth, content: random.pick(["empty", "later"]) };
    case 4:
      return { do: "rollback", chain, depth };
    case 5:
      return { do: "drop", chain };
    case 6:
      return { do: "base-fee", chain, gwei: random.pick([3, 20, 100, 300]) };
    default:
      return { do: "chain-clock", chain, secs: random.pick([random.between(1, 600), HOUR + 60, DAY + 60]) };
  }
}

export function drawRpcFault(random: Random, via: Via, chain: ChainName): Step {
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
export function putStranger(random: Random, steps: Step[], chosen: readonly Supply[]): void {
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
