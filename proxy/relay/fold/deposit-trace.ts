/**
 * Follows each deposit from place to place: what leaves a place takes the oldest along, up to its amount. A forwarder is
 * emptied as a whole, or up to what the bridge burns at once; a deposit account loses what was signed for. What a burn
 * brought continues what had sent it.
 */
import type { BridgeState } from "../../../shared/api/bridge-status.ts";
import type { ProgressTransaction, Waits } from "../requests.ts";
import { burnsOf, vaultsOf } from "./facts.ts";
import type { Arrival, BridgeFacts, Burn, Leaving, Spot, VaultFacts } from "./facts.ts";

/** A deposit, and where it stands. */
export interface DepositTrace {
  readonly state: BridgeState;
  readonly amount: bigint | undefined;
  /** Where it came in, and when (Unix seconds). */
  readonly chain: string;
  readonly since: number | undefined;
  readonly transactions: readonly ProgressTransaction[];
  readonly leafIndex: number | undefined;
  /** Where it lies now, if it lies anywhere. */
  readonly at: { readonly vault: VaultFacts; readonly arrival: Arrival } | undefined;
  /** What it is in now, if it is under way between chains. */
  readonly inside: Burn | undefined;
}

type End = Pick<DepositTrace, "state" | "leafIndex" | "at" | "inside"> & {
  readonly transactions: readonly ProgressTransaction[];
};

export function isOver(state: BridgeState): boolean {
  return state === "completed" || state === "refunded" || state === "failed";
}

/** Money that came from outside, and not by a burn of one of the request's own addresses. */
export function arrivalsFromOutside(facts: BridgeFacts) {
  const own = ownBurns(vaultsOf(facts));
  return vaultsOf(facts).flatMap((vault) =>
    vault.arrivals
      .filter(({ brought }) => brought === undefined || !own.has(brought))
      .map((arrival) => ({ vault, arrival })),
  );
}

/** Oldest first. `isRefused`: it will not be swept or sent on by us, so the refund is what is left. */
export function traceDeposits(
  facts: BridgeFacts,
  { waits, isRefused }: { readonly waits: Waits; readonly isRefused: boolean },
): readonly DepositTrace[] {
  const vaults = vaultsOf(facts);
  const burns = new Map(burnsOf(facts).map((burn) => [burn.id, burn]));
  const own = ownBurns(vaults);
  const leavings = new Map(vaults.flatMap((vault) => [...leavingsOf(vault)]));
  const brought = broughtTo(vaults);

  const flows = arrivalsFromOutside(facts).map(({ vault, arrival }): DepositTrace => {
    const burn = arrival.brought === undefined ? undefined : burns.get(arrival.brought);
    const end = endOf(vault, arrival);
    const what = arrival.brought === undefined ? "deposit" : "delivery";
    return {
      ...end,
      amount: arrival.amount,
      chain: burn?.place.chain ?? vault.chain,
      since: (burn ?? arrival).place.at,
      transactions: [
        ...(burn === undefined ? [] : [stepAt(burn.place, "burn")]),
        ...[stepAt(arrival.place, what), ...end.transactions],
      ],
    };
  });
  // Burned by others and not here yet: nobody believes how much it is.
  const announced = burnsOf(facts)
    .filter(({ id, to }) => !own.has(id) && !brought.has(`${String(to)} ${id}`))
    .map((burn): DepositTrace => ({
      ...{ state: "bridging", amount: undefined, chain: burn.place.chain, since: burn.place.at },
      ...{ leafIndex: undefined, at: undefined, inside: burn },
      transactions: [stepAt(burn.place, "burn")],
    }));
  return [...flows, ...announced].sort((one, other) => (one.since ?? 0) - (other.since ?? 0));

  function endOf(vault: VaultFacts, arrival: Arrival): End {
    const leaving = leavings.get(arrival);
    if (leaving === undefined) {
      const state = standing(vault, arrival);
      return { state, leafIndex: undefined, at: { vault, arrival }, inside: undefined, transactions: [] };
    }
    const { what, place, leafIndex } = leaving;
    const isFinal = place.confirmations >= vault.confirmations;
    const step = stepAt(place, what);
    const here = { leafIndex, at: undefined, inside: undefined, transactions: [step] };
    switch (what) {
      case "sweep":
        return { ...here, state: isFinal ? "completed" : "shielding" };
      case "refund":
      case "return":
        return { ...here, state: isFinal ? "refunded" : "refunding" };
      case "burn":
      case "flush": {
        const after = afterBurn(leaving.burn === undefined ? undefined : burns.get(leaving.burn));
        return { ...after, transactions: [step, ...after.transactions] };
      }
    }
  }

  function afterBurn(burn: Burn | undefined): End {
    const onTheWay: End = {
      ...{ state: "bridging", leafIndex: undefined, at: undefined, inside: burn },
      transactions: [],
    };
    if (burn === undefined) return onTheWay;
    const found = brought.get(`${String(burn.to)} ${burn.id}`);
    if (found !== undefined) {
      const end = endOf(found.vault, found.arrival);
      return { ...end, transactions: [stepAt(found.arrival.place, "delivery"), ...end.transactions] };
    }
    return vaults.some(({ chain }) => chain === burn.to) ? onTheWay : endAbroad(burn, onTheWay);
  }

  /** On a chain where this request has no address. */
  function endAbroad({ delivery }: Burn, onTheWay: End): End {
    if (delivery === undefined) return onTheWay;
    const { place, credit } = delivery;
    const delivered = { ...onTheWay, transactions: [stepAt(place, "delivery")] };
    if (!facts.isCredited) return { ...delivered, state: "completed", inside: undefined };
    if (credit === undefined) return delivered;
    const credited = stepAt(credit.place, "credit");
    // The exchange's chain credits in the delivery itself; its hash is not said twice.
    const steps = credit.place.tx === place.tx ? [credited] : [...delivered.transactions, credited];
    return { ...delivered, state: "completed", inside: undefined, transactions: steps };
  }

  /** Of money that lies at a place. */
  function standing(vault: VaultFacts, { place }: Arrival): BridgeState {
    if (place.confirmations < vault.confirmations)
      return place.confirmations <= 1 ? "detected" : "confirming";
    if (vault.balance < vault.minimum) return "below_minimum";
    const code = waits[vault.chain]?.code;
    if (isRefused || code === "SCREENING_REFUSED" || code === "ACCOUNT_UNKNOWN") return "refunding";
    if (vault.role === "deposit") return "awaiting_signature";
    return vault.contract?.kind === "in" ? "shielding" : "bridging";
  }
}

const stepAt = ({ chain, tx: hash }: Spot, what: ProgressTransaction["what"]): ProgressTransaction => ({
  ...{ chain, hash, what },
});

/** Sent by the request's own addresses. */
const ownBurns = (vaults: readonly VaultFacts[]): ReadonlySet<string | undefined> =>
  new Set(vaults.flatMap(({ leavings }) => leavings.map(({ burn }) => burn)));

/** By chain and burn: what has brought its money to one of our places is the money there. */
function broughtTo(vaults: readonly VaultFacts[]) {
  const found = new Map<string, { readonly vault: VaultFacts; readonly arrival: Arrival }>();
  for (const vault of vaults)
    for (const arrival of vault.arrivals)
      if (arrival.brought !== undefined) found.set(`${vault.chain} ${arrival.brought}`, { vault, arrival });
  return found;
}

/** With what each arrival has left. One walk over both: strangers can make as many arrivals as they like. */
export function leavingsOf({ role, arrivals, leavings }: VaultFacts): ReadonlyMap<Arrival, Leaving> {
  const found = new Map<Arrival, Leaving>();
  const waiting = [...leavings].reverse();
  let [arrived, left] = [0n, 0n];
  for (const arrival of [...arrivals].sort((one, other) => (isBefore(one.place, other.place) ? -1 : 1))) {
    arrived += arrival.amount;
    for (let next = waiting.at(-1); next !== undefined; next = waiting.at(-1)) {
      // What is left behind would otherwise be said to be gone, and lie there. A burn of a deposit account is signed before.
      const isThere = role === "deposit" || isBefore(arrival.place, next.place);
      const canLeaveSome = next.what === "burn" || next.what === "flush";
      if (isThere && (!canLeaveSome || left + next.amount >= arrived)) {
        found.set(arrival, next);
        break;
      }
      left += next.amount;
      waiting.pop();
    }
  }
  return found;
}

function isBefore(one: Spot, other: Spot): boolean {
  return one.block < other.block || (one.block === other.block && one.logIndex < other.logIndex);
}
