/** What can happen to an address of ours on any chain, and what an event is filed under. */

import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";

/** 32 bytes, lower-case hex; an EVM address stands to the right, as in a topic. Everything is filed under such a key. */
export type Key = string;

/** A burn, as its message names it: enough to know it again where it is carried out. */
export interface BurnTerms {
  readonly sourceDomain: number;
  readonly destinationDomain: number;
  /** Who burned. */
  readonly burner: Key;
  readonly recipient: Key;
  readonly amount: bigint;
  readonly maxFee: bigint;
}

export type BridgeEvent =
  | {
      readonly kind: "moved";
      readonly token: string;
      readonly from: Key;
      readonly to: Key;
      readonly amount: bigint;
    }
  | {
      readonly kind: "touched";
      readonly vault: Key;
      readonly token: string;
      readonly hasMinimum: boolean;
    }
  | {
      readonly kind: "swept";
      readonly vault: Key;
      readonly leafIndex: number;
      readonly amount: bigint;
      readonly fees: bigint;
    }
  | { readonly kind: "skipped"; readonly vault: Key; readonly reason: string }
  /** Forwarded, or flushed: what the burn beside it says in more words. */
  | { readonly kind: "left"; readonly vault: Key; readonly amount: bigint }
  | {
      readonly kind: "refunded";
      readonly vault: Key;
      readonly token: string;
      readonly to: string;
      readonly amount: bigint;
    }
  | {
      readonly kind: "returned";
      readonly vault: Key;
      readonly token: string;
      readonly leafIndex: number;
      readonly amount: bigint;
    }
  /** `message` is as emitted; the other blockchain emits none. */
  | {
      readonly kind: "burned";
      readonly burn: BurnTerms;
      readonly minFinality: number;
      readonly message: string | undefined;
    }
  /** A burn's message was carried out here. `amount` is what was minted for it. */
  | {
      readonly kind: "minted";
      readonly burn: BurnTerms;
      readonly nonce: string;
      readonly amount: bigint;
    }
  /** The exchange's own contract on its chain has credited an account for the message with this nonce, which it received. */
  | {
      readonly kind: "credited";
      readonly account: Key;
      readonly nonce: string;
      readonly amount: bigint;
    };

/** In the place of a token: the chain's coin. */
export const COIN = ZERO_ADDRESS;

export const keyOf = (address: string): Key => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
export const addressIn = (key: Key): string => `0x${key.slice(26)}`;

/** What an address has more or less by it. */
export const gainOf = (key: Key, { from, to, amount }: Extract<BridgeEvent, { kind: "moved" }>): bigint =>
  (to === key ? amount : 0n) - (from === key ? amount : 0n);

export function keysOf(event: BridgeEvent): readonly Key[] {
  switch (event.kind) {
    case "moved":
      return event.from === event.to ? [event.from] : [event.from, event.to];
    case "burned":
    case "minted":
      return [event.burn.burner, event.burn.recipient];
    case "credited":
      return [event.account];
    case "touched":
    case "swept":
    case "skipped":
    case "left":
    case "refunded":
    case "returned":
      return [event.vault];
  }
}

/** Two burns with the same answer cannot be told apart before they have a nonce. */
export function likeness({ sourceDomain, destinationDomain, burner, recipient, amount, maxFee }: BurnTerms) {
  return [sourceDomain, destinationDomain, burner, recipient, amount, maxFee].join(" ");
}
