// Settings of a local network's proxy: what an operator would write into its environment.
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { createKeyRing } from "../../proxy/auth/secret-files.ts";
import type { Anvil } from "./anvil.ts";
import { NETWORKS, type NetworkName } from "./networks.ts";
import type { Deployment, NetworkFolder } from "./stack-folder.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const MANIFEST = path.join(ROOT, "shared", "circuits", "keys", "development", "manifest.json");
const CONFIRMATIONS = 2;
/** About 0.05 dollars (HTTP specification, fee model), in smallest units; 2,500 dollars make an ether here. */
const FLAT_FEES: Readonly<Record<string, string>> = {
  USDC: "50000",
  EURC: "45000",
  WETH: "20000000000000",
};
const FLAT_OPERATIONS = ["deposit", "transfer", "withdraw"] as const;
/** 0.15 % of what is given. */
const SWAP_FEE_BPS = 15;

export interface LocalProxy {
  readonly name: NetworkName;
  readonly folder: NetworkFolder;
  readonly chain: Anvil;
  readonly ports: { readonly proxy: number };
  readonly deployment: Deployment;
  readonly pepperFile: string;
  readonly serviceAddress: string;
}

export async function localProxySettings(local: LocalProxy): Promise<Record<string, string>> {
  const { name, folder, chain, deployment, serviceAddress } = local;
  const [usdc, ...others] = deployment.tokens;
  if (usdc === undefined) throw new Error("a network without a token");
  return {
    CLOISTER_ENV: "development",
    CLOISTER_NETWORK: name,
    CLOISTER_PORT: String(local.ports.proxy),
    CLOISTER_DATA_DIR: folder.inside("store"),
    CLOISTER_RPC_URL: chain.url,
    CLOISTER_CHAIN_ID: String(deployment.chain_id),
    CLOISTER_POOL: deployment.pool,
    CLOISTER_DEPLOYMENT_BLOCK: String(deployment.deployment_block),
    CLOISTER_CONFIRMATIONS: String(CONFIRMATIONS),
    CLOISTER_BLOCK_POLL_MS: "250",
    CLOISTER_USDC: usdc.address,
    CLOISTER_ASSETS: JSON.stringify(others),
    ...swapSettings(deployment),
    CLOISTER_ADDRESS_PREFIX: NETWORKS[name].addressPrefix,
    CLOISTER_ARTEFACT_MANIFEST: MANIFEST,
    CLOISTER_SENDER_KEY_FILE: await folder.secrets.file("sender.key"),
    CLOISTER_SESSION_KEYS_FILE: await sessionKeys(folder),
    CLOISTER_API_KEY_PEPPER_FILE: local.pepperFile,
    CLOISTER_SERVICE_FEE_ADDRESS: serviceAddress,
    CLOISTER_FEE_SCHEDULE: JSON.stringify(feeSchedule(deployment)),
  };
}

function swapSettings({ swaps }: Deployment): Record<string, string> {
  if (swaps === undefined) return { CLOISTER_SWAPS: "off" };
  const { factory, quoter } = swaps;
  return { CLOISTER_SWAPS: "on", CLOISTER_SWAP_FACTORY: factory, CLOISTER_SWAP_QUOTER: quoter };
}

function feeSchedule({ tokens, swaps }: Deployment): unknown[] {
  return tokens.flatMap(({ symbol, address: asset }) => [
    ...FLAT_OPERATIONS.map((operation) => ({ asset, operation, flat: FLAT_FEES[symbol] ?? "0", bps: 0 })),
    ...(swaps === undefined ? [] : [{ asset, operation: "swap", flat: "0", bps: SWAP_FEE_BPS }]),
  ]);
}

/** Made once; the file's place is the only thing that a start needs to know. */
async function sessionKeys(folder: NetworkFolder): Promise<string> {
  const file = folder.secrets.path("session-keys.json");
  if (!existsSync(file)) await createKeyRing(file);
  return file;
}
