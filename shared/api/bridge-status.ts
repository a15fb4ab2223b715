/**
 * Where the money of a bridge request is: states, reasons for waiting, and the whole status. Also the words that
 * addresses share with it.
 */
import * as z from "./zod.ts";
import { amount, bridgeId, count, timestamp } from "./values.ts";

export const BRIDGE_STATES = [
  "awaiting_funds",
  "awaiting_signature",
  "detected",
  "confirming",
  "bridging",
  "shielding",
  "completed",
  "below_minimum",
  "refunding",
  "refunded",
  "failed",
] as const;
export const bridgeState = z.enum(BRIDGE_STATES).meta({
  id: "BridgeState",
  description: "Where money of a bridge request is",
  "x-enumDescriptions": {
    awaiting_funds: "Nothing came yet",
    awaiting_signature:
      "Lies in the deposit account on the other blockchain; the client has to sign the burn",
    detected: "Seen on a chain",
    confirming: "Waits for confirmations",
    bridging: "Goes to another chain: is burned next, or is between the two",
    shielding: "At the forwarder; becomes a note next",
    completed: "A note, or with the other side. The end",
    below_minimum: "Too little to move on; more may be sent, or it is taken back",
    refunding: "Does not go on; goes back after the refund clock",
    refunded: "Went back. The end",
    failed: "Cannot go on by itself; `without_help` says what its owner can do. The money is not lost",
  },
});
export type BridgeState = z.infer<typeof bridgeState>;
/** Why money waits. A code keeps its meaning permanently; new ones may come. */
export const BRIDGE_REASONS = [
  "AMOUNT_TOO_SMALL",
  "MONEY_MISPLACED",
  "SIGNATURE_AWAITED",
  "ATTESTATION_PENDING",
  "SLOW_WAY",
  "ATTESTATION_EXPIRED",
  "ATTESTER_UNAVAILABLE",
  "CHAIN_UNAVAILABLE",
  "DELIVERY_BELOW_MINIMUM",
  "FEE_ABOVE_CEILING",
  "GAS_MISSING",
  "STEP_REFUSED",
  "SCREENING_REFUSED",
  "SCREENING_UNAVAILABLE",
  "ACCOUNT_UNKNOWN",
  "VENUE_PAUSED",
  "VENUE_UNAVAILABLE",
  "CREDIT_REFUSED",
  "NOT_WATCHED",
] as const;
export const bridgeReason = z.enum(BRIDGE_REASONS).meta({
  id: "BridgeReason",
  description: "Why money of a bridge request waits; new ones may come",
  "x-enumDescriptions": {
    AMOUNT_TOO_SMALL: "Less than `minimum` came. Send more, or take it back",
    MONEY_MISPLACED:
      "A token, or the chain's coin, lies at an address of the request where it is not awaited. Take it back, see `without_help`",
    SIGNATURE_AWAITED: "The client has to sign the burn: be online, see `sign`",
    ATTESTATION_PENDING: "The attester of the burn has not signed yet. Passes by itself",
    SLOW_WAY: "The slow, free way was taken. Passes by itself",
    ATTESTATION_EXPIRED: "The attestation is too old; a new one is asked for",
    ATTESTER_UNAVAILABLE: "The attester does not answer. Wait",
    CHAIN_UNAVAILABLE: "A chain cannot be asked. Wait",
    DELIVERY_BELOW_MINIMUM: "What arrived is less than the minimum. Send more, or take it back",
    FEE_ABOVE_CEILING: "Fees are above the address's ceiling now. Wait, or take it back after the clock",
    GAS_MISSING: "The service's account has no gas on that chain. Wait; anybody may send the step",
    STEP_REFUSED: "A contract refused the step. `without_help` says what remains",
    SCREENING_REFUSED: "The provider of the screening refused it. It goes back",
    SCREENING_UNAVAILABLE: "The provider of the screening does not answer. Wait",
    ACCOUNT_UNKNOWN: "The exchange knows no such account. Open it, or wait for the refund",
    VENUE_PAUSED: "The other side is paused. Wait",
    VENUE_UNAVAILABLE: "The other side does not answer. Wait",
    NOT_WATCHED:
      "Closed, and no room to watch it again: nothing is looked at. Ask again. The money is not lost",
    CREDIT_REFUSED: "The exchange did not take the money into the account. `without_help` says what remains",
  },
});
export type BridgeReason = z.infer<typeof bridgeReason>;
export const BRIDGE_VENUES = ["perpvenue", "altchain", "chain"] as const;
export type BridgeVenue = (typeof BRIDGE_VENUES)[number];
export const venue = z.enum(BRIDGE_VENUES).meta({
  description: "The other side",
  "x-enumDescriptions": {
    perpvenue: "The perpetuals exchange; on the way in also every EVM chain of `source`",
    altchain: "The other blockchain",
    chain: "Another EVM chain",
  },
});
export const direction = z.enum(["in", "out"]).meta({
  description: "Seen from the pool",
  "x-enumDescriptions": { in: "Money becomes a note", out: "A withdrawal leaves for the other side" },
});
export const MOST_DEPOSITS_SHOWN = 50;
const bridgeTransaction = z.object({
  chain: z.string().describe("Name of the chain it is on"),
  chain_id: count
    .nullable()
    .meta({ description: "EIP-155 id; null on the other blockchain, which has none" }),
  hash: z.string().max(128).describe("Its hash, in the spelling of its chain"),
  what: z.enum(["deposit", "burn", "delivery", "sweep", "flush", "refund", "return", "credit"]).meta({
    description: "What it did",
    "x-enumDescriptions": {
      deposit: "Somebody sent money to the address",
      burn: "The money left a chain for the next",
      delivery: "It arrived there",
      sweep: "It became a note",
      flush: "It left an out-address for the other side",
      refund: "It went to the refund address",
      return: "It became the refund note",
      credit: "The exchange took it into the account",
    },
  }),
});

export const bridgeStatus = z
  .object({
    bridge_id: bridgeId.describe("Of this request"),
    venue,
    direction,
    state: bridgeState.meta({ description: "Of the newest deposit that is not at its end" }),
    address: z.string().describe("Where to send, as the answer to the request had it"),
    amount: amount.nullable().meta({ description: "Of that deposit; null until it was measured on a chain" }),
    received: amount.describe("All that ever came to its addresses, smallest units"),
    credited: amount.meta({ description: "What became notes, or reached the other side" }),
    refunded: amount.describe("What went back"),
    deposits: z
      .array(
        z.object({
          state: bridgeState,
          amount: amount.nullable().describe("Smallest units; null until it was measured on a chain"),
          chain: z.string().describe("Name of the chain on which it came"),
          transactions: z.array(bridgeTransaction).describe("Its way so far"),
          leaf_index: count.nullable().describe("Leaf of its note; null until there is one"),
        }),
      )
      .describe(
        `Each time money came, oldest first; of more than ${String(MOST_DEPOSITS_SHOWN)} the largest, as anybody can send grains`,
      ),
    transactions: z.array(bridgeTransaction).describe("Those of all deposits, each once"),
    reason: z
      .object({ code: bridgeReason, text: z.string().describe("The same in words") })
      .nullable()
      .meta({
        description: "Why that deposit waits; null while it moves on, or nothing is under way",
      }),
    next: z
      .object({
        text: z.string().describe("In words"),
        by: timestamp.nullable().describe("By when, as a rule; null: nobody can say"),
      })
      .describe("What happens next"),
    without_help: z.string().meta({ description: "What the user can do if nobody helps" }),
    refundable_at: timestamp
      .nullable()
      .describe(
        "From when anybody may send the money back; null: nothing lies there, or its clock was not started",
      ),
    watched_until: timestamp.describe("Asking for the status or the address again prolongs it"),
    sign: z
      .object({
        transaction: z.string().describe("The burn without the deposit key's signature, base64"),
        expires_after_slot: count.describe("Slot of that chain after which it is void and a new one is made"),
      })
      .nullable()
      .meta({
        description: "To be signed with the deposit key and sent back, or sent there by the client itself",
      }),
    error: z
      .object({ code: bridgeReason, detail: z.string().describe("The same in words") })
      .nullable()
      .meta({
        description: "The same reason where it is more than the usual wait",
      }),
  })
  .meta({
    id: "BridgeStatus",
    description: "Where the money of a bridge request is, from the chains themselves",
  });
export type BridgeStatus = z.infer<typeof bridgeStatus>;
