/** Health and what an instance is. */
import * as z from "zod";
import { bridgesInfo } from "./bridges.ts";
import { feeOperation } from "./credentials.ts";
import { address, amount, bytes32, count } from "./values.ts";

const check = z.object({
  state: z.enum(["ok", "degraded", "down"]),
  age_ms: z.int().meta({ description: "How old this finding is" }),
  detail: z.string().optional(),
});

export const health = z
  .object({
    status: z.enum(["ok", "degraded"]),
    checks: z
      .object({ enclave: check, chain: check, store: check, sequencer: check, indexer: check })
      .optional(),
    bridges: check.optional().meta({
      description: "Where bridges run. Payments do not depend on it: `status` is the same whatever it says",
    }),
    warnings: z.array(z.string()).optional().meta({
      description:
        "What the operator should look at while everything works, such as a price feed that is stale",
    }),
  })
  .meta({ id: "Health" });
export type Health = z.infer<typeof health>;

export const infoQuery = z.strictObject({
  nonce: z
    .string()
    .regex(/^(0x)?([0-9a-fA-F]{2}){16,64}$/, "hex of 16 to 64 bytes")
    .optional()
    .meta({ description: "Bound into the live attestation document" }),
});

export const info = z
  .object({
    api_version: z.string(),
    network: z.string(),
    chain_id: count,
    pool: address,
    deployment_block: count,
    address_prefix: z
      .string()
      .meta({ description: "Human-readable part of this network's shielded addresses" }),
    confirmations: count.meta({ description: "Blocks after which a ticket is finalized" }),
    assets: z.array(z.object({ address, symbol: z.string(), decimals: z.int() })),
    features: z.object({ swaps: z.boolean(), bridges: z.boolean(), spend9: z.boolean() }),
    fees: z.object({
      service_address: z.string().nullable(),
      schedule: z.array(z.object({ asset: address, operation: feeOperation, flat: amount, bps: z.int() })),
    }),
    circuits: z.array(
      z.object({
        kind: z.string(),
        public_signals: z.array(z.string()),
        verification_key_hash: bytes32,
        artefacts: z
          .object({ zkey_sha256: z.string(), wasm_sha256: z.string() })
          .meta({ description: "SHA-256 of the uncompressed proving key and witness program" }),
      }),
    ),
    enclaves: z
      .array(
        z.object({
          signer: address,
          accepted: z.boolean().meta({ description: "Whether the pool accepts this signer now" }),
          measurements: z.record(z.string(), z.string()),
          attestation: z.string().meta({ description: "Attestation document (COSE_Sign1), base64" }),
        }),
      )
      .meta({ description: "Those that answer now; empty when none does" }),
    threshold: z.int(),
    bridges: bridgesInfo
      .nullable()
      .default(null)
      .meta({ description: "Null where `features.bridges` is false" }),
    limits: z.object({
      body_bytes: z.int(),
      minimums: z.array(z.object({ asset: address, operation: feeOperation, minimum: amount })).meta({
        description: "Of the public amount; for a swap that is what goes to the venue, fees not counted",
      }),
    }),
  })
  .meta({ id: "Info" });
export type Info = z.infer<typeof info>;
