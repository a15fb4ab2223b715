/** The facts of one address on one chain, out of what its ledger has of it. Nothing is remembered between two calls. */
import type { Key } from "../chains/events.ts";
import type { Arrival, Burn, Departure, Place, Refund, Return, Skip, Sweep, VaultFacts } from "./facts.ts";
import type { Entry, Ledger } from "../chains/ledger.ts";

/** One followed chain, as the facts need it. */
export interface ChainView {
  readonly name: string;
  readonly ledger: Ledger;
  /** A key as that chain writes an address. */
  readonly spell: (key: Key) => string;
  /** As CCTP numbers it; undefined where it is not. */
  readonly domain: number | undefined;
}

export function placeOf({ name, ledger }: ChainView, { block, tx, logIndex }: Entry): Place {
  return {
    ...{ chain: name, block: block.number, blockHash: block.hash, tx, logIndex, at: block.timestamp },
    confirmations: ledger.confirmationsOf(block),
    isFinal: ledger.isFinal(block),
  };
}

export interface VaultQuestion {
  readonly view: ChainView;
  readonly key: Key;
  /** As that chain writes it. */
  readonly address: string;
  /** The awaited token, lower case. */
  readonly token: string;
  readonly burns: readonly Burn[];
  /** What the delivery in this transaction brought, by its transaction and amount. */
  readonly broughtBy: (entry: Entry, amount: bigint) => string | undefined;
}

interface Lists {
  readonly arrivals: Arrival[];
  readonly departures: Departure[];
  readonly sweeps: Sweep[];
  readonly refunds: Refund[];
  readonly returns: Return[];
  readonly skips: Skip[];
}

export function vaultFacts({ view, key, address, token, burns, broughtBy }: VaultQuestion): VaultFacts {
  const lists: Lists = {
    ...{ arrivals: [], departures: [], sweeps: [], refunds: [], returns: [], skips: [] },
  };
  const balances = new Map<string, bigint>();
  let notFinal = 0n;
  let clock: VaultFacts["clock"];
  for (const entry of view.ledger.entriesOf(key)) {
    const { event } = entry;
    const place = placeOf(view, entry);
    switch (event.kind) {
      case "moved": {
        const { amount, from, to } = event;
        const change = (to === key ? amount : 0n) - (from === key ? amount : 0n);
        balances.set(event.token, (balances.get(event.token) ?? 0n) + change);
        if (event.token !== token || to !== key || from === key) break;
        if (!place.isFinal) notFinal += amount;
        lists.arrivals.push({ place, from: view.spell(from), amount, brought: broughtBy(entry, amount) });
        break;
      }
      case "touched":
        // A record of dust gives way to one that has the minimum, and never the other way.
        if (event.token === token && (clock === undefined || (event.hasMinimum && !clock.hasMinimum)))
          clock = { at: place.at, hasMinimum: event.hasMinimum };
        break;
      case "left": {
        const sent = burns.findLast(
          (burn) => burn.place.tx === entry.tx && burn.place.logIndex <= entry.logIndex,
        );
        lists.departures.push({ place, amount: event.amount, burn: sent?.id });
        clock = undefined;
        break;
      }
      case "swept":
        lists.sweeps.push({ place, leafIndex: event.leafIndex, amount: event.amount, fees: event.fees });
        clock = undefined;
        break;
      case "refunded":
        lists.refunds.push({ place, token: event.token, to: event.to, amount: event.amount });
        if (event.token === token) clock = undefined;
        break;
      case "returned":
        if (event.token !== token) break;
        lists.returns.push({ place, leafIndex: event.leafIndex, amount: event.amount });
        clock = undefined;
        break;
      case "skipped":
        lists.skips.push({ place, reason: event.reason });
        break;
      case "burned":
      case "minted":
      case "credited":
        break;
    }
  }
  const balance = balances.get(token) ?? 0n;
  balances.delete(token);
  const others = [...balances].filter(([, amount]) => amount > 0n);
  return {
    ...{ chain: view.name, address, token, balance, burns, clock, ...lists },
    finalBalance: balance > notFinal ? balance - notFinal : 0n,
    others: others.map(([other, amount]) => ({ token: other, balance: amount })),
  };
}
