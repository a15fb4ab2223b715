/** Health and what an instance is. */
import * as z from "./zod.ts";
import { bridgesInfo } from "./bridges.ts";
import { feeOperation } from "./credentials.ts";
import { address, amount, bps, bytes32, count, decimals, kindName } from "./values.ts";

const check = (what: string) =>
  z
    .object({
      state: z.enum(["ok", "degraded", "down"]).meta({
        description: "How the part is",
        "x-enumDescriptions": {
          ok: "Works",
          degraded: "Works in part; what is accepted may wait",
          down: "Does not work; requests that need it are refused",
        },
      }),
      age_ms: count.describe("How old this finding is, milliseconds"),
      detail: z.string().optional().describe("What is wrong, in words"),
    })
    .describe(what);

export const health = z
  .object({
    status: z.enum(["ok", "degraded"]).meta({
      description: "The whole in one word",
      "x-enumDescriptions": {
        ok: "Every check is ok; HTTP 200",
        degraded: "Some check is not; HTTP 503 where one is `down`, and else 200",
      },
    }),
    checks: z
      .object({
        enclave: check("Enough enclaves answer and serve for the pool's threshold"),
        chain: check("The chain's node answers, and serves the right chain"),
        store: check("The service's store takes writes"),
        sequencer: check("Accepted tickets are being submitted"),
        indexer: check("The index follows the chain's newest block"),
      })
      .optional()
      .describe("Only while degraded: one finding for each part"),
    bridges: check("The chains and venues of bridges answer").optional().meta({
      description: "Where bridges run. Payments do not depend on it: `status` is the same whatever it says",
    }),
    warnings: z.array(z.string()).optional().meta({
      description:
        "What the operator should look at while everything works, such as a price feed that is stale",
    }),
  })
  .meta({ id: "Health", description: "Whether this instance can do its work now" });
export type Health = z.infer<typeof health>;

export const infoQuery = z.strictObject({
  nonce: z
    .string()
    .regex(/^(0x)?([0-9a-fA-F]{2}){16,64}$/, "hex of 16 to 64 bytes")
    .optional()
    .describe(
      "Drawn by the caller: hex of 16 to 64 bytes that the live attestation documents will hold, so that they prove freshness",
    ),
});

export const info = z
  .object({
    api_version: z.string().describe("Version of this interface, a date: YYYY-MM-DD"),
    network: z.string().describe("Name of this instance's network, for people"),
    chain_id: count.describe("EIP-155 id of the pool's chain; goes into `context`"),
    pool: address.describe("The pool's contract; goes into `context`"),
    deployment_block: count.describe("Block in which the pool was made: its history begins there"),
    address_prefix: z
      .string()
      .meta({ description: "Human-readable part of this network's shielded addresses" }),
    confirmations: count.meta({ description: "Blocks after which a ticket is finalized" }),
    assets: z
      .array(
        z.object({
          address: address.describe("The ERC-20 token"),
          symbol: z.string().describe("Its symbol, for people"),
          decimals: decimals.describe("Its whole unit is 10^decimals of its smallest"),
        }),
      )
      .describe("Tokens that this instance takes"),
    features: z
      .object({
        swaps: z.boolean().describe("private-swap and POST /swap/quote"),
        bridges: z.boolean().describe("/bridge/*"),
        spend9: z.boolean().describe("spend9, payments of up to nine notes"),
      })
      .describe("What is switched on; what is off answers 403 SWAPS_DISABLED or FEATURE_DISABLED"),
    fees: z
      .object({
        service_address: z
          .string()
          .nullable()
          .describe("Shielded address that the service's fee notes pay; null: it takes none"),
        schedule: z
          .array(
            z.object({
              asset: address.describe("Token of the fee"),
              operation: feeOperation,
              flat: amount.describe("Flat part, in the token's smallest units"),
              bps: bps.describe("Proportional part, basis points of the amount"),
            }),
          )
          .describe("One entry for each asset and operation that costs something"),
      })
      .describe("The service's own fees; with the developer's part they stand in GET /whoami"),
    circuits: z
      .array(
        z.object({
          kind: kindName,
          public_signals: z.array(z.string()).describe("Names of the proof's public signals, in their order"),
          verification_key_hash: bytes32.describe("Hash of the Groth16 verification key (SPEC, section 7)"),
          artefacts: z
            .object({
              zkey_sha256: z.string().describe("Of the proving key (.zkey), 64 hex digits"),
              wasm_sha256: z.string().describe("Of the witness program (.wasm), 64 hex digits"),
            })
            .meta({ description: "SHA-256 of the uncompressed proving key and witness program" }),
        }),
      )
      .describe("What proofs are verified by, one entry for each kind"),
    enclaves: z
      .array(
        z.object({
          signer: address.describe("Address of its signing key; what attestations carry"),
          accepted: z.boolean().meta({ description: "Whether the pool accepts this signer now" }),
          measurements: z
            .record(z.string(), z.string())
            .describe("PCR0, PCR1, PCR2 of its image, 96 hex digits each; believe the attestation, not this"),
          attestation: z.string().meta({ description: "Attestation document (COSE_Sign1), base64" }),
        }),
      )
      .meta({ description: "Those that answer now; empty when none does" }),
    threshold: count.describe("Attestations by distinct signers that the pool asks of a transaction"),
    bridges: bridgesInfo
      .nullable()
      .default(null)
      .meta({ description: "Null where `features.bridges` is false" }),
    limits: z
      .object({
        body_bytes: count.describe("Largest request body, bytes"),
        minimums: z
          .array(
            z.object({
              asset: address.describe("Token of the minimum"),
              operation: feeOperation,
              minimum: amount.describe("Least public amount; less is AMOUNT_TOO_SMALL"),
            }),
          )
          .meta({
            description: "Of the public amount; for a swap that is what goes to the venue, fees not counted",
          }),
      })
      .describe("Bounds of single requests; how many requests there may be stands in GET /whoami"),
  })
  .meta({
    id: "Info",
    description:
      "What this instance is. Everything here is the service's word: pin chain, pool, address prefix, assets and enclaves",
  });
export type Info = z.infer<typeof info>;
