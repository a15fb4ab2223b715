/**
 * Bridges: addresses at which money from other chains becomes a note, or a private withdrawal leaves for them. An
 * address commits to all its terms, and an answer holds every one of them, so the client computes the address again
 * before it shows it to anybody.
 */
import * as z from "zod";
import { ciphertext, ephemeralKey } from "./transactions.ts";
import { address, amount, bridgeId, bytes32, count, fieldElement, timestamp } from "./values.ts";

/** The pool takes no note of nobody. */
const npk = fieldElement
  .refine((text) => /[1-9a-f]/.test(text.slice(2)), "must not be zero")
  .meta({ description: "Whose note the money becomes: H(owner, blinding)" });
const receiver = { npk, ephemeral_key: ephemeralKey, ciphertext };
/** Never the zero address: what comes back has to come to somebody. */
const payable = address.refine((text) => /[1-9a-fA-F]/.test(text.slice(2)), "must not be the zero address");
const refundAddress = payable.meta({
  description: "Gets the money back when it cannot be shielded, on whichever EVM chain it is",
});
/** Base58 of 32 bytes; its bytes are looked at by the service. */
export const foreignKey = z
  .string()
  .regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, "base58 of 32 bytes")
  .meta({ description: "Public key or account on the other blockchain, base58" });
const foreignHash = z.string().max(128);

export const bridgeInRequest = z
  .strictObject({
    ...receiver,
    refund_address: refundAddress,
    asset: address.optional().meta({ description: "Default: the first of `bridges.assets` in GET /info" }),
  })
  .meta({ id: "BridgeInRequest" });
export type BridgeInRequest = z.infer<typeof bridgeInRequest>;

export const bridgeOutRequest = z
  .union([
    z.strictObject({
      account: payable.meta({ description: "On the exchange; nobody else can be paid" }),
      ...receiver,
    }),
    z.strictObject({
      to: z
        .strictObject({ chain_id: count, recipient: payable })
        .meta({ description: "One of `bridges.chains` in GET /info; nobody else can be paid" }),
      ...receiver,
    }),
  ])
  .meta({
    id: "BridgeOutRequest",
    description: "The note is the one that gets the money back when the other side does not take it",
  });
export type BridgeOutRequest = z.infer<typeof bridgeOutRequest>;

/** 1,232 bytes: the largest transaction of that chain. */
const foreignTransaction = z
  .string()
  .max(1644)
  .regex(/^([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, "base64")
  .meta({ description: "`sign.transaction` of the status with the deposit key's signature in it, base64" });
export const bridgeDepositRequest = z
  .union([
    z.strictObject({
      ...receiver,
      deposit_key: foreignKey.meta({
        description: "One-time key that the client derived; it signs the burn",
      }),
      refund_address: refundAddress,
    }),
    z.strictObject({ bridge_id: bridgeId, transaction: foreignTransaction }),
  ])
  .meta({
    id: "BridgeDepositRequest",
    description: "For an address; or, with a bridge_id, the signature that the status asks for",
  });
export type BridgeDepositRequest = z.infer<typeof bridgeDepositRequest>;

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
export const bridgeState = z.enum(BRIDGE_STATES).meta({ id: "BridgeState" });
export type BridgeState = z.infer<typeof bridgeState>;
/** Why money waits. A code keeps its meaning for good; new ones may come. */
export const BRIDGE_REASONS = [
  "AMOUNT_TOO_SMALL",
  "SIGNATURE_AWAITED",
  "ATTESTATION_PENDING",
  "SLOW_WAY",
  "ATTESTATION_EXPIRED",
  "ATTESTER_UNAVAILABLE",
  "RELAY_PENDING",
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
] as const;
export const bridgeReason = z.enum(BRIDGE_REASONS).meta({ id: "BridgeReason" });
export type BridgeReason = z.infer<typeof bridgeReason>;
export const BRIDGE_VENUES = ["perpvenue", "altchain", "chain"] as const;
export type BridgeVenue = (typeof BRIDGE_VENUES)[number];
const venue = z.enum(BRIDGE_VENUES);
const direction = z.enum(["in", "out"]);
const protocol = z.int().min(0).max(255).meta({ description: "0: CCTP v2; 1: Hyperlane warp route" });
const domain = count.meta({ description: "That protocol's own number of the chain the money goes to" });

export const bridgeExit = z
  .object({
    protocol,
    messenger: address,
    domain,
    recipient: bytes32,
    caller: bytes32.meta({ description: "Who alone may deliver there; zero: anybody" }),
    hook: z.string().meta({ description: "What the delivery calls, hex; 0x: nothing" }),
  })
  .meta({ id: "BridgeExit" });

const laneParts = {
  name: z.string(),
  chain_id: count,
  protocol,
  token: address.meta({ description: "Of that chain: what to send to the address there" }),
  messenger: address,
  domain: count.meta({ description: "Of the pool's chain" }),
  minimum: amount,
  fee_ceiling: amount,
};
export const bridgeLane = z.object(laneParts).meta({ id: "BridgeLane" });

export const bridgeTerms = z
  .object({
    factory: address,
    vault_code_hash: bytes32,
    salt: bytes32,
    pool: address,
    npk: fieldElement,
    ephemeral_key: bytes32,
    ciphertext: z.string(),
    collector: address
      .nullable()
      .meta({ description: "The only one who may take fees; null on the way out" }),
    refund_address: address.nullable().meta({ description: "Null on the way out: the note is the refund" }),
    exit: bridgeExit.optional().meta({ description: "On the way out only" }),
  })
  .meta({
    id: "BridgeTerms",
    description: "With `asset`, `minimum` and `fee_ceiling`: all that the address is made of",
  });

export const bridgeAddress = z
  .object({
    bridge_id: bridgeId,
    venue,
    direction,
    state: bridgeState,
    address: z.string().meta({
      description: "Where to send; in the spelling of the chain it is on (altchain: a token account)",
    }),
    asset: address,
    minimum: amount.meta({ description: "Less than this is not moved on; it is refundable, never lost" }),
    fee_ceiling: amount.meta({ description: "The most that all fees together may take" }),
    timeout_secs: count.meta({ description: "After which anybody may send the money back" }),
    fees: z
      .object({
        service: amount,
        developer: amount,
        capped: z.boolean().meta({ description: "The rules ask for more than the ceiling leaves" }),
      })
      .meta({
        description:
          "Of one deposit of `minimum`, as the rules are now; none on the way out, where the withdrawal has paid its own",
      }),
    venue_fees: z.array(z.object({ chain: z.string(), fee: amount, of: z.string() })).meta({
      description: "What the way itself takes, estimated; `of` says who",
    }),
    terms: bridgeTerms,
    source: z
      .object({
        address,
        salt: bytes32,
        recipient: bytes32,
        refund_address: address,
        lanes: z.array(bridgeLane),
      })
      .nullable()
      .meta({ description: "One address that is good on every one of these chains" }),
    altchain: z
      .object({
        deposit_key: foreignKey,
        token_account: foreignKey,
        mint: foreignKey,
        program: foreignKey,
        home_address: address.meta({ description: "On the pool's chain: where the burn is minted to" }),
      })
      .nullable(),
    estimated_secs: count,
    watched_until: timestamp.meta({ description: "Asking for the address or its status takes it up again" }),
    created_at: timestamp,
  })
  .meta({ id: "BridgeAddress", description: "With what the caller needs to compute the address again" });
export type BridgeAddress = z.infer<typeof bridgeAddress>;

const bridgeTransaction = z.object({
  chain: z.string(),
  chain_id: count.nullable().meta({ description: "Null on the other blockchain, which has none" }),
  hash: foreignHash,
  what: z.enum(["deposit", "burn", "delivery", "sweep", "flush", "refund", "return", "credit"]),
});

export const bridgeStatus = z
  .object({
    bridge_id: bridgeId,
    venue,
    direction,
    state: bridgeState.meta({ description: "Of the newest deposit that is not at its end" }),
    address: z.string(),
    amount: amount.nullable().meta({ description: "Of that deposit; null until it was measured on a chain" }),
    received: amount,
    credited: amount.meta({ description: "What became notes, or reached the other side" }),
    refunded: amount,
    deposits: z.array(
      z.object({
        state: bridgeState,
        amount: amount.nullable(),
        chain: z.string(),
        transactions: z.array(bridgeTransaction),
        leaf_index: count.nullable(),
      }),
    ),
    transactions: z.array(bridgeTransaction),
    reason: z.object({ code: bridgeReason, text: z.string() }).nullable().meta({
      description: "Why that deposit waits; null while it moves on, or nothing is under way",
    }),
    next: z.object({ text: z.string(), by: timestamp.nullable() }),
    without_help: z.string().meta({ description: "What the user can do if nobody helps" }),
    refundable_at: timestamp.nullable(),
    watched_until: timestamp,
    sign: z.object({ transaction: z.string(), expires_after_slot: count }).nullable().meta({
      description: "To be signed with the deposit key and sent back, or sent there by the client itself",
    }),
    error: z.object({ code: bridgeReason, detail: z.string() }).nullable().meta({
      description: "The same reason where it is more than the usual wait",
    }),
  })
  .meta({ id: "BridgeStatus" });
export type BridgeStatus = z.infer<typeof bridgeStatus>;

export const bridgeQuery = z.strictObject({
  id: bridgeId.optional(),
  address: z
    .string()
    .regex(/^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/, "an address of a bridge request")
    .optional()
    .meta({ description: "Instead of the id: any address of the request" }),
});

/** What an instance bridges, in GET /info. All of it goes into addresses, so a client pins what it has checked. */
export const bridgesInfo = z
  .object({
    factory: address,
    vault_code_hash: bytes32,
    collector: address,
    timeout_secs: count,
    assets: z.array(z.object({ asset: address, minimum: amount, fee_ceiling: amount })).min(1),
    perpvenue: z
      .object({
        protocol,
        messenger: address,
        domain,
        caller: bytes32,
        minimum: amount,
        fee_ceiling: amount,
        estimated_secs: count,
      })
      .nullable(),
    chains: z.array(
      z.object({
        ...laneParts,
        estimated_secs: count,
        exit: z
          .object({ protocol, messenger: address, domain, minimum: amount, fee_ceiling: amount })
          .nullable()
          .meta({ description: "For withdrawals to that chain" }),
      }),
    ),
    altchain: z
      .object({
        mint: foreignKey,
        decimals: count,
        program: foreignKey,
        domain: count,
        minimum: amount,
        fee_ceiling: amount,
        estimated_secs: count,
      })
      .nullable(),
  })
  .meta({ id: "BridgesInfo" });
export type BridgesInfo = z.infer<typeof bridgesInfo>;
