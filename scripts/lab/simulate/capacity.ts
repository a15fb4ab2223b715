/**
 * What a number of hosts carries, in closed form: each part has a greatest rate of tickets, the least of them is the
 * capacity. Hosts share one pool, so one of them submits, one chain takes its calls and one Redis orders the tickets;
 * proxies and enclaves are added with hosts. Pure.
 */
import { KIND_FIGURES, type FigureName, type SimulatedKind, type Values } from "./measured.ts";

/** Of equal ones the earlier is named: what a block holds also bounds what a call holds. */
export const BOUNDS = {
  "block-gas": "gas of a block that we may use",
  "in-flight": "calls in flight: the next call waits until the one before is mined and noticed",
  turn: "turn of the submitter: one makes all calls, one after the other",
  proxy: "processor time of the proxy that submits: signers to recover, requests, and its turns",
  verification: "verifications of the enclaves",
  signing: "main program of the enclaves: a signature for each ticket, the root updates",
  redis: "operations of the one Redis",
} as const;

export type BoundName = keyof typeof BOUNDS;

/** Any of these, improved alone, lifts the bound. */
export const LIFTED_BY: Readonly<Record<BoundName, readonly FigureName[]>> = {
  "in-flight": ["in-flight"],
  turn: ["turn-member"],
  "block-gas": ["block-gas"],
  proxy: ["recovery"],
  verification: ["verifications", "enclaves"],
  signing: ["enclaves", "sign"],
  redis: ["redis"],
};

export interface Bound {
  readonly name: BoundName;
  readonly ticketsPerSecond: number;
}

export interface Capacity {
  readonly ticketsPerSecond: number;
  /** Least first: the first is what breaks first. */
  readonly bounds: readonly Bound[];
  /** Of a full call. Where a fuller one would cost more time than it carries, less than is allowed. */
  readonly members: number;
  /** What forbids fuller calls; undefined when none would carry more. */
  readonly membersHeldBy: MemberLimit | undefined;
  /** From the beginning of one call to the beginning of the next, with one in flight. */
  readonly callEverySecs: number;
}

export type MemberLimit = Extract<FigureName, "members" | "leaves" | "call-gas" | "call-bytes" | "block-gas">;

/**
 * Gas that a call is allowed besides what a simulation used: what may have been given back, a member's whole share with
 * what the EVM keeps back and the price of its call, and a reserve. proxy/submission/batch.ts.
 */
const RESERVE = {
  givenBack: 5 / 4,
  memberShare: (500_000 * 64) / 63 + 5_000,
  share: 1 / 8,
  gas: 100_000,
} as const;
/** A member is some 1,500 bytes and 40,000 gas at least: no call that a chain takes has more. */
const MOST_MEMBERS = 10_000;
/** Sums of decimal fractions are a little off; a call that takes just one block takes one. */
const ROUNDING = 1e-9;

/** Gas that a call uses. */
export function callGas({ gasAlone, gasEachOf16 }: GasOf, members: number): number {
  const each = (16 * gasEachOf16 - gasAlone) / 15;
  return gasAlone - each + members * each;
}

/** Gas that it must be allowed, and so takes of a block while it is chosen. */
export function callGasLimit(gas: GasOf, members: number): number {
  const least = callGas(gas, members) * RESERVE.givenBack + RESERVE.memberShare;
  return least * (1 + RESERVE.share) + RESERVE.gas;
}

export interface GasOf {
  readonly gasAlone: number;
  readonly gasEachOf16: number;
}

/** The submitter's, from what waits to a call that is sent. */
export function turnSecs(values: Values, kind: SimulatedKind, members: number): number {
  const node = values.turn + members * values["turn-member"];
  return (node + rootUpdateMs(values, kind, members)) / 1_000;
}

function rootUpdateMs(values: Values, kind: SimulatedKind, members: number): number {
  const leaf = (values["root-update-256"] - values["root-update-64"]) / 192;
  return Math.max(values["root-update-64"] + (members * KIND_FIGURES[kind].leaves - 64) * leaf, 0);
}

/** Processor time of the proxy that submits, for a call. */
export function turnCpuSecs(values: Values, members: number): number {
  return (values["turn-cpu"] + members * values["turn-member-cpu"]) / 1_000;
}

/** Of a proxy for a ticket that came to it. */
export function proxySecs({ recovery, request, requests }: Values): number {
  return (recovery + request * requests) / 1_000;
}

/** A proxy that is alone needs no Redis, but may have one; its polling is part of what Redis does. */
export function redisPerSecond(values: Values, hosts: number, tickets: number, calls: number): number {
  return tickets * values["redis-ticket"] + calls * values["redis-call"] + hosts * values["redis-host"];
}

export function capacityOf(values: Values, hosts: number, kind: SimulatedKind): Capacity {
  const { most, heldBy } = memberLimit(values, kind);
  let best = { members: 0, rate: 0, line: 0 };
  // An operator would allow no fuller calls than pay: the best size is taken, which is seldom another than the most.
  for (let members = 1; members <= most; members++) {
    const rate = boundsOf(values, hosts, kind, members)[0]?.ticketsPerSecond ?? 0;
    const line = lineRate(values, kind, members);
    if (rate > best.rate || (rate === best.rate && line > best.line)) best = { members, rate, line };
  }
  const fuller = boundsOf(values, hosts, kind, best.members + 1)[0]?.ticketsPerSecond ?? 0;
  return {
    ticketsPerSecond: best.rate,
    bounds: boundsOf(values, hosts, kind, Math.max(best.members, 1)),
    members: best.members,
    // A fuller call than a block takes would carry nothing, which says nothing about larger blocks.
    membersHeldBy:
      best.members === most && (fuller > best.rate || heldBy === "block-gas") ? heldBy : undefined,
    callEverySecs: cycleSecs(values, kind, best.members),
  };
}

function memberLimit(values: Values, kind: SimulatedKind): { most: number; heldBy: MemberLimit } {
  const gas = KIND_FIGURES[kind];
  const [none, one] = [callGasLimit(gas, 0), callGasLimit(gas, 1)];
  const limits: [MemberLimit, number][] = [
    ["members", values.members],
    ["leaves", Math.floor(values.leaves / gas.leaves)],
    ["call-gas", Math.floor((values["call-gas"] - none) / (one - none))],
    ["block-gas", Math.floor((values["block-gas"] - none) / (one - none))],
    ["call-bytes", Math.floor(values["call-bytes"] / values["member-bytes"])],
  ];
  const [[heldBy, most]] = limits.sort(([, a], [, b]) => a - b) as [[MemberLimit, number]];
  return { heldBy, most: Math.max(Math.min(most, MOST_MEMBERS), 0) };
}

/** A call is mined by the first block after it was sent; the next begins when that block was noticed. */
function cycleSecs(values: Values, kind: SimulatedKind, members: number): number {
  const secs = values.poll / 1_000 + turnSecs(values, kind, members);
  return values["block-time"] * Math.max(Math.ceil(secs / values["block-time"] - ROUNDING), 1);
}

function lineRate(values: Values, kind: SimulatedKind, members: number): number {
  const each = (members * values["in-flight"]) / cycleSecs(values, kind, members);
  return Math.min(each, members / turnSecs(values, kind, members));
}

function boundsOf(values: Values, hosts: number, kind: SimulatedKind, members: number): Bound[] {
  const enclaves = hosts * values.enclaves;
  const perCall = 1 / members;
  const signMs = values.sign + perCall * rootUpdateMs(values, kind, members);
  const forTickets = values.redis - redisPerSecond(values, hosts, 0, 0);
  const rates: Readonly<Record<BoundName, number>> = {
    "in-flight": (members * values["in-flight"]) / cycleSecs(values, kind, members),
    turn: members / turnSecs(values, kind, members),
    "block-gas": membersOfBlock(values, kind, members) / values["block-time"],
    // All take their share of the requests, also the one that submits.
    proxy: 1 / (proxySecs(values) / hosts + perCall * turnCpuSecs(values, members)),
    verification: enclaves * values.verifications,
    signing: (enclaves * 1_000) / signMs,
    redis: Math.max(forTickets, 0) / redisPerSecond(values, 0, 1, perCall),
  };
  return (Object.keys(BOUNDS) as BoundName[])
    .map((name) => ({ name, ticketsPerSecond: rates[name] }))
    .sort((a, b) => a.ticketsPerSecond - b.ticketsPerSecond);
}

/** Full calls only: nobody makes one to the measure of what is left in a block. */
function membersOfBlock(values: Values, kind: SimulatedKind, members: number): number {
  return Math.floor(values["block-gas"] / callGasLimit(KIND_FIGURES[kind], members)) * members;
}
