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
    const id = burnId(view.name, entry);
    const place = placeOf(view, entry);
    if (event.kind === "burned") {
      const { burn, minFinality, message } = event;
      const to = all.find(({ domains }) => domains.cctp === burn.destinationDomain);
      const name = likeness(burn);
      const before = alike.get(name) ?? 0;
      alike.set(name, before + 1);
      const delivery = to && mintedAt(to, key, name, before);
      return [
        {
          id,
          place,
          protocol: 0,
          to: to?.name,
          ...burn,
          minFinality,
          message,
          messageId: undefined,
          delivery,
        },
      ];
    }
    if (event.kind !== "dispatched") return [];
    const { messageId, domain, recipient, amount, vault } = event;
    const to = all.find(({ domains }) => domains.warp === domain);
    return [
      {
        ...{ id, place, protocol: 1, to: to?.name, burner: vault, recipient, amount, messageId },
        ...{ sourceDomain: view.domains.warp ?? 0, destinationDomain: domain },
        ...{ maxFee: 0n, minFinality: 0, message: undefined },
        delivery: to && processedAt(to, recipient, messageId),
      },
    ];
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

function processedAt(view: ChainView, recipient: Key, messageId: string): Delivery | undefined {
  const found = view.ledger
    .entriesOf(recipient)
    .find(({ event }) => event.kind === "processed" && event.messageId === messageId);
  if (found?.event.kind !== "processed") return undefined;
  return { place: placeOf(view, found), amount: found.event.amount, nonce: undefined, credit: undefined };
}
