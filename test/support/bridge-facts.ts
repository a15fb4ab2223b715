// What chains say of a bridge request, made by hand: builders with defaults, for tests of what is said and done about it.
import type { Seen } from "../../proxy/relay/fold/progress.ts";
import type {
  Arrival,
  BridgeFacts,
  Leaving,
  Spot,
  Terms,
  Vault,
  VaultFacts,
} from "../../proxy/relay/fold/facts.ts";
import { HOME_CHAIN, type BridgeRecord, type BridgeWay } from "../../proxy/base/store/bridge-records.ts";
import { madeHash } from "./bridges.ts";

export function spotOf(block: number, change: Partial<Spot> = {}): Spot {
  const its = {
    chain: HOME_CHAIN,
    block,
    blockHash: madeHash(block),
    tx: madeHash(block),
    logIndex: 0,
    at: 0,
  };
  return { ...its, confirmations: 5, isFinal: true, ...change };
}

export const arrivalOf = (amount: bigint, place: Spot, brought?: string): Arrival => ({
  ...{ place, from: "", amount, brought },
});

export const leavingOf = (
  what: Leaving["what"],
  amount: bigint,
  place: Spot,
  change: Partial<Leaving> = {},
): Leaving => ({ what, amount, place, leafIndex: undefined, burn: undefined, ...change });

/** Everything that is not said is zero or nothing. */
export function vaultOf(role: VaultFacts["role"], change: Partial<VaultFacts> = {}): VaultFacts {
  const chain = { home: HOME_CHAIN, source: "second", deposit: "altchain" }[role];
  return {
    ...{ role, chain, address: "", token: "", minimum: 0n, contract: undefined, lane: undefined },
    ...{ confirmations: 3, blockSecs: 2, balance: 0n, finalBalance: 0n, clock: undefined },
    ...{ arrivals: [], burns: [], leavings: [], skips: [] },
    ...change,
  };
}

export function contractAtHome(way: BridgeWay): Pick<Terms, "contract" | "lane"> {
  const contract: Vault =
    way.direction === "in" ? { kind: "in", terms: way.home } : { kind: "out", terms: way.home };
  if (way.direction === "in") return { contract, lane: undefined };
  return { contract, lane: { ...way.home.exit, feeCeiling: way.home.feeCeiling } };
}

/** With what the request itself says of its address on the pool's chain. */
export function factsAbout(
  { way }: Pick<BridgeRecord, "way">,
  { home = vaultOf("home"), before = [], incoming = [], misplaced = [] }: Partial<BridgeFacts>,
): BridgeFacts {
  const isCredited = way.kind === "to-exchange";
  return {
    bridgeId: "",
    before,
    home: { ...home, ...contractAtHome(way) },
    incoming,
    misplaced,
    isCredited,
  };
}

/** Of a request that nobody watches; or of one with these facts. */
export const seenOf = (facts: BridgeFacts | undefined, change: Partial<Seen> = {}): Seen => ({
  ...{ facts, remark: {}, attestationOf: () => undefined, isComplete: facts !== undefined },
  ...change,
});
