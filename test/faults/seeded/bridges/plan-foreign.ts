/** What a scenario does with the other blockchain: deposits to one-time keys, the device that signs, and what disturbs them. */
import type { Random } from "../../../../scripts/base/random.ts";
import type { RpcFault } from "../../../../scripts/stand-ins/between/node-relay.ts";
import { whomAt } from "./plan-faults.ts";
import { PROGRAMS } from "./spot.ts";
import { WAYS_TO_SIGN, type Step, type Via, type WayToSign } from "./steps.ts";

/** What its node can do to any question; what is drawn of the others is about their own methods. */
const ALT_FAULTS = [
  "lost-question",
  "lost-answer",
  "http-429",
  "http-500",
  "garbage",
  "no-result",
  "hang",
] as const satisfies readonly RpcFault[];
export type AltFault = (typeof ALT_FAULTS)[number];

export const FOREIGN_FAULT_NAMES = [
  ...ALT_FAULTS.map((fault) => `alt-${fault}` as const),
  ...WAYS_TO_SIGN.filter((how) => how !== "elsewhere").map((how) => `sign-${how}` as const),
  "kill-at-alt",
  "reorg-empty-alt",
  "reorg-later-alt",
] as const;
/** Signed for one proxy, and given to the other. */
export const FOREIGN_FAULT_NAMES_OF_TWO = ["sign-elsewhere"] as const;

/** Questions of a burn's way; the others are asked all the time. */
const METHODS = [
  undefined,
  "sendTransaction",
  "sendTransaction",
  "sendTransaction",
  "getLatestBlockhash",
  "getTransaction",
  "getBlock",
  "getSignaturesForAddress",
] as const;
const UNIT = 1_000_000;
const MINIMUM = 2 * UNIT;
/** The fee of a fast message is above the ceiling of the way from there. */
const ABOVE_FAST_FEE = 5_001 * UNIT;
/** Not final yet. */
const MAX_SLOTS = 8;
const KILLING_PERCENT = 60;

export function putForeign(random: Random, steps: Step[], chosen: readonly string[], isOfTwo: boolean): void {
  const via = (): Via => (isOfTwo && random.chance(50) ? 1 : 0);
  const put = (step: Step): void => void steps.splice(random.between(0, steps.length), 0, step);
  for (const what of chosen) putDeposit(random, steps, what, via, isOfTwo);
  for (let i = random.between(1, 3); i > 0; i--) put(drawAltFault(random, via()));
}

/** Asked for, paid, and signed by the device, which may be killed for, before and after. */
function putDeposit(random: Random, steps: Step[], what: string, via: () => Via, isOfTwo: boolean): void {
  let at = random.between(0, steps.length);
  const then = (step: Step): void => {
    steps.splice(at, 0, step);
    at = random.between(at + 1, steps.length);
  };
  const killing = random.chance(KILLING_PERCENT) ? random.between(1, 2) : 0;
  then({ do: "ask", what, via: via(), cutMs: undefined, waits: random.chance(70) });
  for (let i = random.chance(30) ? 2 : 1; i > 0; i--)
    then({ do: "pay", what, chain: "alt", amount: String(drawAmount(random)), token: "right" });
  // While it waits for the signature.
  if (random.chance(25))
    then({
      ...{ do: "kill", via: via(), at: { on: "now" } },
      ...{ whom: random.pick(PROGRAMS), pauseMs: random.between(0, 80) },
    });
  for (let i = random.between(1, 2); i > 0; i--) {
    const given = via();
    if (killing >= i) steps.splice(at, 0, drawAltKill(random, given));
    if (killing >= i) at += 1;
    then({ do: "sign", what, via: given, how: drawWay(random, isOfTwo) });
  }
}

function drawWay(random: Random, isOfTwo: boolean): WayToSign {
  const how = random.pick<WayToSign>(["once", "once", ...WAYS_TO_SIGN]);
  return how === "elsewhere" && !isOfTwo ? "once" : how;
}

function drawAmount(random: Random): number {
  const kind = random.between(1, 10);
  if (kind <= 2) return random.between(1, MINIMUM - 1);
  if (kind === 3) return MINIMUM;
  if (kind === 4) return ABOVE_FAST_FEE + random.between(0, 10_000) * UNIT;
  return MINIMUM + random.between(1, 300 * UNIT);
}

function drawAltKill(random: Random, via: Via): Step {
  const at = {
    ...({ on: "rpc", chain: "alt", method: random.pick(METHODS) } as const),
    ...{ moment: random.pick(["before", "after"] as const), nth: 1 },
  };
  return { do: "kill", via, at, whom: whomAt(random, at), pauseMs: random.between(0, 80) };
}

function drawAltFault(random: Random, via: Via): Step {
  const kind = random.between(1, 10);
  if (kind <= 3)
    return {
      ...{ do: "reorg", chain: "alt", depth: random.between(1, MAX_SLOTS) },
      content: random.pick(["empty", "later"]),
    };
  const method = random.pick(METHODS);
  const arming = {
    ...{ fault: random.pick(ALT_FAULTS), times: random.between(1, 6) },
    ...(method === undefined ? {} : { method }),
  };
  return { do: "rpc", via, chain: "alt", arming };
}
