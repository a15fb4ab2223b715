/** The facts of one address on one chain, out of what its ledger has of it. Nothing is remembered between two calls. */
import { COIN, gainOf, type Key } from "../chains/events.ts";
import type { Arrival, Burn, Leaving, Misplaced, Skip, Spot, Terms, VaultFacts } from "./facts.ts";
import type { Entry, Ledger } from "../chains/ledger.ts";

/** One followed chain, as the facts need it. */
export interface ChainView {
  readonly name: string;
  readonly ledger: Ledger;
  /** A key as that chain writes an address. */
  readonly spell: (key: Key) => string;
  /** As CCTP numbers it; undefined where it is not. */
  readonly domain: number | undefined;
  readonly confirmations: number;
  /** Of one block, about. */
  readonly blockSecs: number;
}

export function placeOf({ name, ledger }: ChainView, { block, tx, logIndex }: Entry): Spot {
  return {
    ...{ chain: name, block: block.number, blockHash: block.hash, tx, logIndex, at: block.timestamp },
    confirmations: ledger.confirmationsOf(block),
    isFinal: ledger.isFinal(block),
  };
}

export interface VaultQuestion {
  readonly view: ChainView;
  readonly key: Key;
  readonly terms: Terms;
  readonly burns: readonly Burn[];
  /** What the delivery in this transaction brought, by its transaction and amount. */
  readonly broughtBy?: (entry: Entry, amount: bigint) => string | undefined;
}

export function vaultFacts({ view, key, terms, burns, broughtBy }: VaultQuestion): VaultFacts {
  const { token } = terms;
  const arrivals: Arrival[] = [];
  const leavings: Leaving[] = [];
  const skips: Skip[] = [];
  let balance = 0n;
  let notFinal = 0n;
  let clock: VaultFacts["clock"];
  const leave = (
    place: Spot,
    what: Leaving["what"],
    amount: bigint,
    { burn, leafIndex }: { readonly burn?: string | undefined; readonly leafIndex?: number } = {},
  ): void => {
    leavings.push({ place, what, amount, leafIndex, burn });
    clock = undefined;
  };
  for (const entry of view.ledger.entriesOf(key)) {
    const { event } = entry;
    const place = placeOf(view, entry);
    switch (event.kind) {
      case "moved": {
        const { amount, from, to } = event;
        if (event.token !== token) break;
        balance += gainOf(key, event);
        if (to !== key || from === key) break;
        if (!place.isFinal) notFinal += amount;
        const brought = broughtBy?.(entry, amount);
        arrivals.push({ place, from: view.spell(from), amount, brought });
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
        leave(place, terms.contract?.kind === "out" ? "flush" : "burn", event.amount, { burn: sent?.id });
        break;
      }
      case "swept":
        leave(place, "sweep", event.amount, event);
        break;
      case "refunded":
        if (event.token === token) leave(place, "refund", event.amount);
        break;
      case "returned":
        if (event.token === token) leave(place, "return", event.amount, event);
        break;
      case "skipped":
        skips.push({ place, reason: event.reason });
        break;
      case "burned":
      case "minted":
      case "credited":
        break;
    }
  }
  const { name: chain, confirmations, blockSecs } = view;
  return {
    ...{ ...terms, chain, confirmations, blockSecs, balance, burns, clock, arrivals, leavings, skips },
    finalBalance: balance > notFinal ? balance - notFinal : 0n,
  };
}

/** At this key: coins, and of every token that is watched there but these. */
export function misplacedAt(view: ChainView, key: Key, awaited: ReadonlySet<string>): readonly Misplaced[] {
  const balances = new Map<string, bigint>([[COIN, view.ledger.coinsOf(key)]]);
  for (const { event } of view.ledger.entriesOf(key))
    if (event.kind === "moved" && !awaited.has(event.token))
      balances.set(event.token, (balances.get(event.token) ?? 0n) + gainOf(key, event));
  return [...balances].flatMap(([token, balance]) =>
    balance > 0n ? [{ chain: view.name, address: view.spell(key), token, balance }] : [],
  );
}
