// What the attester follows, for which fee and how long it waits: a JSON file that whoever starts it writes.
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { addressShape, bytes32Shape, httpShape } from "../shapes.ts";

const domain = z.int().min(0).max(0xffff_ffff);
const blocks = z.int().min(1);
/** Basis points, at most two places, as the fee endpoint gives them. */
const basisPoints = z
  .number()
  .min(0)
  .max(100)
  .refine((bps) => Number.isInteger(Math.round(bps * 1e6) / 1e4), { message: "at most two places" });

const evmChain = z.strictObject({
  domain,
  rpc: httpShape,
  /** MessageTransmitter: every message that it emits is attested. */
  transmitter: addressShape,
  /** TokenMessenger: whose messages are burns. */
  messenger: addressShape,
  from_block: z.int().min(0).default(0),
  /** Blocks that stand on the message's own before it is attested. */
  fast_blocks: blocks.default(1),
  final_blocks: blocks.default(5),
});
export type EvmChain = z.output<typeof evmChain>;

const altchain = z.strictObject({
  domain,
  rpc: httpShape,
  /** The token whose burns are messages, base58. */
  mint: z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/),
  /** Sender that its messages name. */
  messenger: bytes32Shape,
});
export type Altchain = z.output<typeof altchain>;

const settings = z
  .strictObject({
    chains: z.array(evmChain).min(1),
    altchain: altchain.nullable().default(null),
    fees: z
      .strictObject({
        fast_bps: basisPoints.default(1),
        /** Otherwise for one way, as `6-3`. */
        fast_bps_of: z.record(z.string().regex(/^[0-9]+-[0-9]+$/), basisPoints).default({}),
      })
      .default({ fast_bps: 1, fast_bps_of: {} }),
    /** Blocks of the destination for which the attestation of a fast message is good. */
    expires_after_blocks: blocks.default(1_000),
    poll_ms: z.int().min(10).default(200),
  })
  .refine(
    ({ chains, altchain }) => {
      const all = [...chains.map((chain) => chain.domain), ...(altchain === null ? [] : [altchain.domain])];
      return new Set(all).size === all.length;
    },
    { message: "two chains of one domain" },
  );
export type AttesterSettings = z.output<typeof settings>;
export type AttesterSettingsFile = z.input<typeof settings>;

export function parseSettings(untrusted: unknown): AttesterSettings {
  return settings.parse(untrusted);
}

export async function readSettings(file: string): Promise<AttesterSettings> {
  return parseSettings(JSON.parse(await readFile(file, "utf8")));
}

/** Of a fast message from one domain to another, in basis points. */
export function fastFeeBps(
  { fees }: Pick<AttesterSettings, "fees">,
  source: number,
  destination: number,
): number {
  return fees.fast_bps_of[`${String(source)}-${String(destination)}`] ?? fees.fast_bps;
}
