/**
 * Burns and what was delivered for them, matched between the chains. A delivery counts only for a burn that we saw, and
 * says nothing about money: that is counted where it arrives.
 */
import { likeness, type Key } from "../chains/events.ts";
import type { Burn, Delivery } from "./facts.ts";
import type { Entry } from "../chains/ledger.ts";
import { placeOf, type ChainView } from "./vault-facts.ts";

export const burnId = (chain: string, { tx, logIndex, part }: Entry): string =>
  `${chain}:${tx}:${String(logIndex)}:${String(part)}`;

/** Burns on one chain that are filed under `key`, each with its delivery. */
export function burnsUnder(key: Key, view: ChainView, all: readonly ChainView[]): readonly Burn[] {
  const alike = new Map<string, number>();
  return view.ledger.entriesOf(key).flatMap((entry): readonly Burn[] => {
    const { event } = entry;
    if (event.kind !== "burned") return [];
    const { burn, minFinality, message } = event;
    const to = all.find(({ domain }) => domain === burn.destinationDomain);
    const name = likeness(burn);
    const before = alike.get(name) ?? 0;
    alike.set(name, before + 1);
    const delivery = to && mintedAt(to, key, name, before);
    const place = placeOf(view, entry);
    return [{ id: burnId(view.name, entry), place, to: to?.name, ...burn, minFinality, message, delivery }];
  });
}

/** Burns that are alike have only an order until a nonce is known, and so have their deliveries. */
function mintedAt(view: ChainView, key: Key, name: string, before: number): Delivery | undefined {
  const found = view.ledger
    .entriesOf(key)
    .filter(({ event }) => event.kind === "minted" && likeness(event.burn) === name)[before];
  if (found?.event.kind !== "minted") return undefined;
  return {
    place: placeOf(view, found),
    amount: found.event.amount,
    nonce: found.event.nonce,
    credit: undefined,
  };
}
