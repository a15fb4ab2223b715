// Settings of a local network's proxy: what an operator would write into its environment.
import { existsSync } from "node:fs";
import { devNull } from "node:os";
import path from "node:path";
import { createKeyRing } from "../../proxy/base/auth/secret-files.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { DEVELOPMENT_CREDENTIAL } from "../stand-ins/kms/signature.ts";
import { NETWORKS } from "./networks.ts";
import type { NetworkName } from "../base/stack-file.ts";
import type { Deployment, NetworkFolder } from "./stack-folder.ts";
import { DEVELOPMENT_REGION } from "../image/development-keys.ts";

const ROOT = path.join(import.meta.dirname, "..", "..");
const MANIFEST = path.join(ROOT, "shared", "circuits", "keys", "development", "manifest.json");
const CONFIRMATIONS = 2;
/** HTTP specification, fee model. */
const FLAT_FEE_USD = "0.05";
/** Dollars a token, as the venue's pools have it. WETH's is read from a feed where the chain has one. */
const FIXED_PRICES: Readonly<Record<string, string>> = { USDC: "1", EURC: "1.1", WETH: "2500" };
/** A local feed moves only when somebody moves it; in production this is the feed's own heartbeat and a margin. */
const FEED_TERMS = { heartbeat_secs: 1_000_000_000, min: "100", max: "100000" };
const FLAT_OPERATIONS = ["deposit", "transfer", "withdraw"] as const;
/** 0.15 % of what is given. */
const SWAP_FEE_BPS = 15;

/** For programs that ask oftener than a person: what an instance gives each developer's key. */
export const ROOMY_KEYS = {
  CLOISTER_LIMIT_KEY_PER_MINUTE: "6000",
  CLOISTER_LIMIT_KEY_PER_DAY: "1000000",
} as const;

export interface LocalProxy {
  readonly name: NetworkName;
  readonly folder: NetworkFolder;
  /** Of one node of its chain, or several with spaces between them. */
  readonly rpcUrl: string;
  readonly ports: { readonly proxy: number };
  readonly deployment: Deployment;
  readonly pepperFile: string;
  readonly serviceAddress: string;
  /** Folder of the keys and of the manifest that names them. Default: what is committed. */
  readonly verificationKeys?: string | undefined;
}

export async function localProxySettings(local: LocalProxy): Promise<Record<string, string>> {
  const { name, folder, rpcUrl, deployment, serviceAddress, verificationKeys } = local;
  const [usdc, ...others] = deployment.tokens;
  if (usdc === undefined) throw new Error("a network without a token");
  return {
    CLOISTER_ENV: "development",
    CLOISTER_NETWORK: name,
    CLOISTER_PORT: String(local.ports.proxy),
    CLOISTER_DATA_DIR: folder.inside("store"),
    CLOISTER_RPC_URL: rpcUrl,
    CLOISTER_CHAIN_ID: String(deployment.chain_id),
    CLOISTER_POOL: deployment.pool,
    CLOISTER_DEPLOYMENT_BLOCK: String(deployment.deployment_block),
    CLOISTER_CONFIRMATIONS: String(CONFIRMATIONS),
    CLOISTER_BLOCK_POLL_MS: "250",
    CLOISTER_USDC: usdc.address,
    CLOISTER_ASSETS: JSON.stringify(others),
    ...swapSettings(deployment),
    CLOISTER_ADDRESS_PREFIX: NETWORKS[name].addressPrefix,
    ...(verificationKeys === undefined
      ? { CLOISTER_ARTEFACT_MANIFEST: MANIFEST }
      : {
          CLOISTER_ARTEFACT_MANIFEST: path.join(verificationKeys, "manifest.json"),
          CLOISTER_VERIFICATION_KEYS: verificationKeys,
        }),
    CLOISTER_SENDER_KEY_FILE: await folder.secrets.file("sender.key"),
    CLOISTER_SESSION_KEYS_FILE: await sessionKeys(folder),
    CLOISTER_API_KEY_PEPPER_FILE: local.pepperFile,
    CLOISTER_SERVICE_FEE_ADDRESS: serviceAddress,
    CLOISTER_FEE_SCHEDULE: JSON.stringify(feeSchedule(deployment)),
    CLOISTER_PRICES: JSON.stringify(prices(deployment)),
  };
}

/** Where the enclaves listen, and what their courier needs. Nothing of the developer's own AWS set-up is read. */
export function enclaveSettings(
  enclaves: readonly { readonly vsockPath: string; readonly pairFile: string }[],
  kmsUrl: string,
): Record<string, string> {
  return {
    CLOISTER_ENCLAVES: enclaves.map(({ vsockPath }) => `unix:${vsockPath}:${String(ENCLAVE_PORT)}`).join(","),
    CLOISTER_SIGNER_KEYS: enclaves.map(({ pairFile }) => pairFile).join(","),
    CLOISTER_KMS_REGION: DEVELOPMENT_REGION,
    CLOISTER_KMS_ENDPOINT: kmsUrl,
    AWS_ACCESS_KEY_ID: DEVELOPMENT_CREDENTIAL.accessKeyId,
    AWS_SECRET_ACCESS_KEY: DEVELOPMENT_CREDENTIAL.secretAccessKey,
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
  };
}

function swapSettings({ swaps }: Deployment): Record<string, string> {
  if (swaps === undefined) return { CLOISTER_SWAPS: "off" };
  const { factory, quoter } = swaps;
  return { CLOISTER_SWAPS: "on", CLOISTER_SWAP_FACTORY: factory, CLOISTER_SWAP_QUOTER: quoter };
}

function feeSchedule({ tokens, swaps }: Deployment): unknown[] {
  return tokens.flatMap(({ address: asset }) => [
    ...FLAT_OPERATIONS.map((operation) => ({ asset, operation, usd: FLAT_FEE_USD, bps: 0 })),
    ...(swaps === undefined ? [] : [{ asset, operation: "swap", flat: "0", bps: SWAP_FEE_BPS }]),
  ]);
}

function prices({ tokens, price_feeds: feeds = {} }: Deployment): unknown[] {
  return tokens.map(({ symbol, address: asset }) => {
    const feed = feeds[symbol];
    return feed === undefined ? { asset, fixed: FIXED_PRICES[symbol] } : { asset, feed, ...FEED_TERMS };
  });
}

/** Made once; the file's place is the only thing that a start needs to know. */
async function sessionKeys(folder: NetworkFolder): Promise<string> {
  const file = folder.secrets.path("session-keys.json");
  if (!existsSync(file)) await createKeyRing(file);
  return file;
}
