// What a running local stack tells the commands beside it: where each network is reached, and what to pin there.
import { readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";

export const DEFAULT_FOLDER = ".cloister";

export type NetworkName = "first" | "second";
export const NETWORK_NAMES: readonly NetworkName[] = ["first", "second"];

const bounds = z.object({ minimum: z.string(), feeCeiling: z.string() });
const evm = {
  chain_id: z.int(),
  rpc: z.string(),
  domain: z.int(),
  usdc: z.string(),
  transmitter: z.string(),
};
/** What a client pins of the bridges, and where each party is reached. */
const bridgesEntry = z.object({
  factory: z.string(),
  vault_code_hash: z.string(),
  /** The only account that may take fees of an arrival. */
  collector: z.string(),
  arrival: bounds,
  attester_url: z.string(),
  home: z.object({ domain: z.int(), messenger: z.string(), transmitter: z.string() }),
  /** Other EVM chains that money comes from and goes to. */
  chains: z.array(z.object({ name: z.string(), ...evm, messenger: z.string(), lane: bounds, exit: bounds })),
  /** The exchange: its API, its own chain, and the contract there that credits accounts. */
  perpvenue: z.object({
    api_url: z.string(),
    ...evm,
    forwarder: z.string(),
    exit: bounds,
  }),
  altchain: z.object({
    rpc: z.string(),
    mint: z.string(),
    decimals: z.int(),
    domain: z.int(),
    ...bounds.shape,
  }),
});
export type BridgesEntry = z.infer<typeof bridgesEntry>;

const image = {
  measurement: z.object({ pcr0: z.string(), pcr1: z.string(), pcr2: z.string() }),
  configuration_hash: z.string(),
};
const networkEntry = z.object({
  base_url: z.string(),
  chain_rpc: z.string(),
  /** By which wallets read the chain, where it is another: before a node that lies. */
  wallet_rpc: z.string().optional(),
  chain_id: z.int(),
  pool: z.string(),
  usdc: z.string(),
  deployment_block: z.int(),
  address_prefix: z.string(),
  /** Shielded address that receives service fees. */
  service_address: z.string(),
  /** Attestations that the pool asks for, by distinct signers. */
  threshold: z.int(),
  /** One of each enclave. */
  enclave_signers: z.array(z.string()).min(1),
  /** What a client has to find in the attestation document of each enclave of the first verifier. */
  enclave: z.object({
    ...image,
    /** SHA-256 of the root certificate's DER, 64 hex digits; the same for both. */
    attestation_root: z.string(),
  }),
  /** And of the second. Absent where the pool asks for one attestation. */
  second_enclave: z.object(image).optional(),
  /** Every listed asset, USDC first. */
  tokens: z.array(z.object({ symbol: z.string(), address: z.string(), decimals: z.int() })),
  /** The pool's executor, and Uniswap v3: its factory, QuoterV2, and where liquidity is given. Absent where swaps are off. */
  swaps: z
    .object({ executor: z.string(), factory: z.string(), quoter: z.string(), position_manager: z.string() })
    .optional(),
  /** Absent where there are none. */
  bridges: bridgesEntry.optional(),
});
export type NetworkEntry = z.infer<typeof networkEntry>;

/** `stack.json`: where a running stack is reached, and the development API key. Readable by its owner only. */
const stackFile = z.object({
  /** Good on every network of the stack. */
  api_key: z.string(),
  /** Process that runs the stack; a reader checks that it lives. */
  pid: z.int(),
  /** The example identity provider and the app that is registered for it. Absent where none runs. */
  identity: z.object({ issuer: z.string(), app_id: z.string() }).optional(),
  /** Those that run. */
  networks: z.object({ first: networkEntry.optional(), second: networkEntry.optional() }),
});
export type StackFile = z.infer<typeof stackFile>;

/** A refusal that is meant for the person at the keyboard. */
export class StackError extends Error {}

/** One network of a stack; throws with advice when it does not run. */
export function networkOf(stack: StackFile, name: NetworkName): NetworkEntry {
  const entry = stack.networks[name];
  if (entry !== undefined) return entry;
  throw new StackError(`the running stack is without the ${name} network; stop it and run: npm start`);
}

/** The stack file of a stack that runs now. */
export async function runningStack(folder: string): Promise<StackFile | undefined> {
  const file = path.resolve(folder, "stack.json");
  const found = await readStackJson(file, stackFile.or(z.object({ pid: z.int() })));
  if (found === undefined || !isAlive(found.pid)) return undefined;
  if ("networks" in found) return found;
  throw new StackError(
    `another version's stack runs in ${path.dirname(file)} (process ${String(found.pid)}); stop it first`,
  );
}

/** The refusal of a chain that holds other contracts than these. */
export function madeByOlderVersion(file: string): StackError {
  return new StackError(
    `${file} was made by an older version, whose chain this one cannot continue. Begin again with: npm start -- --fresh`,
  );
}

/** Undefined when there is no such file. Throws with advice when another version wrote it. */
export async function readStackJson<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new StackError(`${file} is damaged. Begin again with: npm start -- --fresh`);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw madeByOlderVersion(file);
  return parsed.data;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
