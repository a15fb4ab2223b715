/**
 * Bridges: addresses at which money from other chains becomes a note, or a private withdrawal leaves for them. An
 * address commits to all its terms, and an answer holds every one of them, so the client computes the address again
 * before it shows it to anybody.
 */
import * as z from "./zod.ts";
import { bridgeState, direction, venue } from "./bridge-status.ts";
import { ciphertext, ephemeralKey } from "./statement-parts.ts";
import { address, amount, bridgeId, bytes32, count, decimals, fieldElement, timestamp } from "./values.ts";

/** The pool takes no note of nobody. */
const npk = fieldElement
  .refine((text) => /[1-9a-f]/.test(text.slice(2)), "must not be zero")
  .meta({ description: "Whose note the money becomes: H2(owner, blinding), not zero (SPEC, section 3)" });
const receiver = {
  npk,
  ephemeral_key: ephemeralKey.describe(
    "0x and 32 bytes: X25519 public key of a secret drawn for this address alone (SPEC, section 3)",
  ),
  ciphertext: ciphertext.describe(
    "0x and 53 bytes: the note's ciphertext, sealed with value 0 and place 0 (SPEC, section 8.5)",
  ),
};
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

export const bridgeInRequest = z
  .strictObject({
    ...receiver,
    refund_address: refundAddress,
    asset: address.optional().meta({ description: "Default: the first of `bridges.assets` in GET /info" }),
  })
  .meta({ id: "BridgeInRequest", description: "An address whose money becomes the note given here" });
export type BridgeInRequest = z.infer<typeof bridgeInRequest>;

export const bridgeOutRequest = z
  .union([
    z.strictObject({
      account: payable.meta({ description: "On the exchange; nobody else can be paid" }),
      ...receiver,
    }),
    z.strictObject({
      to: z
        .strictObject({
          chain_id: count.describe("The chain, by its `chain_id` there"),
          recipient: payable.describe("Account on that chain that is paid"),
        })
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
    z.strictObject({
      bridge_id: bridgeId.describe("Request that waits for the signature"),
      transaction: foreignTransaction,
    }),
  ])
  .meta({
    id: "BridgeDepositRequest",
    description: "For an address; or, with a bridge_id, the signature that the status asks for",
  });
export type BridgeDepositRequest = z.infer<typeof bridgeDepositRequest>;

const domain = count.meta({ description: "CCTP's own number of the chain the money goes to" });
const messenger = address.describe("CCTP's contract that burns and sends");
const minimum = amount.describe("Less than this is not moved on; smallest units of the token sent");
const feeCeiling = amount.describe("The most that all fees of one move together may take");
const estimatedSecs = count.describe("How long the way usually takes, seconds");

export const bridgeExit = z
  .object({
    messenger,
    domain,
    recipient: bytes32.describe("Who is paid there, padded to 32 bytes"),
    caller: bytes32.meta({ description: "Who alone may deliver there; zero: anybody" }),
    hook: z.string().meta({ description: "What the delivery calls, hex; 0x: nothing" }),
  })
  .meta({ id: "BridgeExit", description: "Where an out-address sends, and how (SPEC, section 8.6)" });

const laneParts = {
  name: z.string().describe("Name of the chain, for people and in `chain` elsewhere"),
  chain_id: count.describe("Its EIP-155 id"),
  token: address.meta({ description: "Of that chain: what to send to the address there" }),
  messenger,
  domain: count.meta({ description: "CCTP's own number of the pool's chain" }),
  minimum,
  fee_ceiling: feeCeiling,
};
export const bridgeLane = z
  .object(laneParts)
  .meta({ id: "BridgeLane", description: "A chain on which a source address is good (SPEC, section 8.6)" });

const factory = address.describe("The contract `Forwarders` (SPEC, section 8.6)");
const vaultCodeHash = bytes32.describe("Hash of the code of its vaults");

export const bridgeTerms = z
  .object({
    factory,
    vault_code_hash: vaultCodeHash,
    salt: bytes32.describe("Hash of the terms: what the address is computed from"),
    pool: address.describe("The pool that makes the note"),
    npk: fieldElement.describe("As asked"),
    ephemeral_key: bytes32.describe("As asked"),
    ciphertext: z.string().describe("As asked"),
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
    bridge_id: bridgeId.describe("For GET /bridge/status"),
    venue,
    direction,
    state: bridgeState,
    address: z.string().meta({
      description:
        "Where to send; in the spelling of the chain it is on (altchain: the deposit key, which owns the account)",
    }),
    asset: address.describe("Token of the pool that the money becomes, or that is withdrawn to the address"),
    minimum: amount.meta({ description: "Less than this is not moved on; it is refundable, never lost" }),
    fee_ceiling: amount.meta({ description: "The most that all fees together may take" }),
    timeout_secs: count.meta({ description: "After which anybody may send the money back" }),
    fees: z
      .object({
        service: amount.describe("The service's part, smallest units of `asset`"),
        developer: amount.describe("The developer's part"),
        capped: z.boolean().meta({ description: "The rules ask for more than the ceiling leaves" }),
      })
      .meta({
        description:
          "Of one deposit of `minimum`, as the rules are now; none on the way out, where the withdrawal has paid its own",
      }),
    venue_fees: z
      .array(
        z.object({
          chain: z.string().describe("Chain on which it is taken"),
          fee: amount.describe("How much, smallest units of the token there"),
          of: z.string().describe("Who takes it"),
        }),
      )
      .meta({
        description: "What the way itself takes, estimated; `of` says who",
      }),
    terms: bridgeTerms.describe("Of the address on the pool's chain"),
    source: z
      .object({
        address: address.describe("Where to send on each of the chains of `lanes`"),
        salt: bytes32.describe("Hash of its terms"),
        recipient: bytes32.describe(
          "Where it forwards to: `address` on the pool's chain, padded to 32 bytes",
        ),
        refund_address: address.describe("Gets back what cannot be forwarded, on whichever chain it is"),
        lanes: z.array(bridgeLane).describe("The chains it is good on, with the token that each takes"),
      })
      .nullable()
      .meta({ description: "One address that is good on every one of these chains" }),
    altchain: z
      .object({
        deposit_key: foreignKey.describe("Public key that owns the token account and signs the burn, base58"),
        token_account: foreignKey.describe(
          "Where the money then lies, base58: the associated account of deposit_key, program and mint. What is sent to it directly arrives too; a wallet that asks for an owner must never be given it",
        ),
        mint: foreignKey.describe("The token's mint there, base58"),
        program: foreignKey.describe("The token program there, base58"),
        home_address: address.meta({ description: "On the pool's chain: where the burn is minted to" }),
      })
      .nullable()
      .describe("On the way in from the other blockchain only"),
    estimated_secs: estimatedSecs,
    watched_until: timestamp.meta({ description: "Asking for the address or its status takes it up again" }),
    created_at: timestamp.describe("When the request was made"),
  })
  .meta({ id: "BridgeAddress", description: "With what the caller needs to compute the address again" });
export type BridgeAddress = z.infer<typeof bridgeAddress>;

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
    factory,
    vault_code_hash: vaultCodeHash,
    collector: address.describe(
      "Account of the service that may take fees of in-addresses, up to their ceiling",
    ),
    timeout_secs: count.describe("Of the refund clock, seconds"),
    assets: z
      .array(
        z.object({
          asset: address.describe("Token of the pool"),
          minimum,
          fee_ceiling: feeCeiling,
        }),
      )
      .min(1)
      .describe("What money that comes in may become; the first is meant where a request names none"),
    perpvenue: z
      .object({
        messenger,
        domain,
        caller: bytes32.describe("Contract that alone may deliver there, padded to 32 bytes"),
        minimum,
        fee_ceiling: feeCeiling,
        estimated_secs: estimatedSecs,
      })
      .nullable()
      .describe("Withdrawals to the exchange; null: not here"),
    chains: z
      .array(
        z.object({
          ...laneParts,
          estimated_secs: estimatedSecs,
          exit: z
            .object({ messenger, domain, minimum, fee_ceiling: feeCeiling })
            .nullable()
            .meta({ description: "For withdrawals to that chain; null: none" }),
        }),
      )
      .describe("Other EVM chains that money may come from"),
    altchain: z
      .object({
        mint: foreignKey.describe("The token's mint there, base58"),
        decimals: decimals.describe("The token's decimals there"),
        program: foreignKey.describe("The token program there, base58"),
        domain: count.describe("CCTP's own number of the pool's chain"),
        minimum,
        fee_ceiling: feeCeiling,
        estimated_secs: estimatedSecs,
      })
      .nullable()
      .describe("The other blockchain; null: not here"),
  })
  .meta({
    id: "BridgesInfo",
    description: "What this instance bridges. All of it goes into addresses: pin what you have checked",
  });
export type BridgesInfo = z.infer<typeof bridgesInfo>;
