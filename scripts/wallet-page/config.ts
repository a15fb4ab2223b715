/**
 * What this application believes: networks, contracts, measurements, fee ceilings, hashes of proving files. It comes
 * from the page's own origin, as the program itself does, and never from the service. In an application of yours it is
 * a file that you ship; amounts are decimal digits and an `n`.
 */
import * as z from "zod";
import type { BridgePins, Pins } from "../../shared/client/index.ts";

const amount = z.bigint().nonnegative();
const rule = z.object({ flat: amount, bps: z.int() });
const ceilings = z.object({
  deposit: rule.exactOptional(),
  transfer: rule.exactOptional(),
  withdraw: rule.exactOptional(),
  swap: rule.exactOptional(),
});
const bounds = { minimum: amount, feeCeiling: amount };
const exit = { messenger: z.string(), domain: z.int(), ...bounds };
const bridges = z.object({
  factory: z.string(),
  vaultCodeHash: z.string(),
  collector: z.string(),
  assets: z.record(z.string(), z.object(bounds)),
  lanes: z.array(z.object({ chainId: z.int(), token: z.string(), ...exit })),
  exits: z.object({
    perpvenue: z.object({ ...exit, caller: z.string() }).exactOptional(),
    chains: z.array(z.object({ ...exit, chainId: z.int() })),
  }),
  altchain: z.object({ mint: z.string(), decimals: z.int(), domain: z.int() }).exactOptional(),
}) satisfies z.ZodType<BridgePins>;

const pins = z.object({
  chainId: z.int(),
  pool: z.string(),
  assets: z.array(z.string()).min(1),
  addressPrefix: z.string(),
  enclaves: z.object({
    measurements: z.array(z.object({ pcr0: z.string(), pcr1: z.string(), pcr2: z.string() })),
    roots: z.array(z.string()).exactOptional(),
  }),
  feeCeiling: ceilings,
  feeCeilings: z.record(z.string(), ceilings).exactOptional(),
  feeSinks: z.array(z.string()).exactOptional(),
  bridges: bridges.exactOptional(),
}) satisfies z.ZodType<Pins>;

const token = z.object({ symbol: z.string(), address: z.string(), decimals: z.int().min(0).max(30) });
export type Token = z.infer<typeof token>;

const network = z.object({
  id: z.string(),
  name: z.string(),
  /** Of the service; where this application's own server gives session tokens; a node of the pool's chain. */
  service: z.string(),
  sessions: z.string(),
  chainRpc: z.string(),
  /** Block at which the pool was made: a look at the chain begins there. */
  fromBlock: z.int(),
  pins,
  tokens: z.array(token).min(1),
  swaps: z.boolean(),
  /** Names of the chains that bridges reach, by chain id. */
  chains: z.record(z.string(), z.string()),
  /** A development chain: its node gives out test money. Never true where money is worth anything. */
  testMoney: z.boolean(),
});
export type Network = z.infer<typeof network>;

const file = z.object({ sha256: z.string(), bytes: z.int().exactOptional() });
const config = z.object({
  networks: z.array(network).min(1),
  /** Where the proving files lie; the address changes with their contents, so they are fetched once. */
  artefacts: z.string(),
  manifest: z.object({ circuits: z.record(z.string(), z.object({ zkey: file, wasm: file })) }),
});
export type Config = z.infer<typeof config>;

const AMOUNT = /^\d{1,78}n$/;

/** Throws when the file is not what this version of the page understands. */
export function parseConfig(text: string): Config {
  const untrusted: unknown = JSON.parse(text, (_key, value: unknown) =>
    typeof value === "string" && AMOUNT.test(value) ? BigInt(value.slice(0, -1)) : value,
  );
  return config.parse(untrusted);
}

export async function loadConfig(): Promise<Config> {
  const response = await fetch("/config.json", { credentials: "omit" });
  if (!response.ok) throw new Error(`config.json: status ${String(response.status)}`);
  return parseConfig(await response.text());
}

/** A pool can take a token that this page does not list, and anybody can pay in it: told by its address, in smallest units. */
export function tokenOf({ tokens }: Pick<Network, "tokens">, address: string): Token {
  const found = tokens.find((one) => one.address.toLowerCase() === address.toLowerCase());
  return found ?? { address, symbol: `units of ${address}`, decimals: 0 };
}
