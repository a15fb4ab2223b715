// The whole service on one machine, each party in a process of its own: a chain, the enclave on its
// simulated platform, the proxy. Used by `npm start`, the demo and the end-to-end tests. Everything it
// knows is in one folder, so that a second start resumes the first. Development only.
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { getAddress, JsonRpcProvider, NonceManager, toBeHex, Wallet } from "ethers";
import { createKeyRing } from "../../proxy/auth/secret-files.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/enclave-messages.ts";
import { committedKeyHashes, deployPool, deployTestUsdc } from "../deploy-pool.ts";
import { startAnvil, type Anvil } from "./anvil.ts";
import { developmentCredential } from "./development-credential.ts";
import { enclaveSigner } from "./enclave-signer.ts";
import { startService, type Service } from "./service.ts";
import { registerSigner } from "./signers.ts";
import { StackError, StackFolder, type Deployment, type StackFile } from "./stack-folder.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const MANIFEST = path.join(ROOT, "shared", "circuits", "keys", "development", "manifest.json");

export const DEFAULT_FOLDER = ".cloister";
export const DEFAULT_PORT = 8787;
export const DEFAULT_CHAIN_PORT = 8545;
const CHAIN_ID = 31_337;
/** Prefix of shielded addresses on the local network. */
const ADDRESS_PREFIX = "clodev";
const CONFIRMATIONS = 2;
/** About 0.05 dollars, in a token that is a dollar (HTTP specification, fee model). */
const FLAT_FEE = "50000";
const FEE_OPERATIONS = ["deposit", "transfer", "withdraw"];
const SIGNER_DELAY_SECS = 1;
const RICH = toBeHex(10_000n * 10n ** 18n);

/** Seed of the wallet that receives the service's fees. */
export const SERVICE_WALLET_SECRET = "service-wallet.seed";

export interface StackOptions {
  readonly folder: string;
  /** Begin anew: forget chain, store and secrets. */
  readonly fresh?: boolean;
  /** Port of the proxy. Default: 8787, or a free one when that is taken. */
  readonly port?: number;
  /** Port of the chain's RPC. Default: 8545, or a free one when that is taken. */
  readonly chainPort?: number;
  /** Seconds between blocks. Default 1. */
  readonly blockTimeSecs?: number;
  /** More settings for the proxy. */
  readonly proxySettings?: Readonly<Record<string, string>>;
  readonly say?: (text: string) => void;
}

export interface Stack {
  readonly file: StackFile;
  readonly folder: StackFolder;
  readonly chain: Anvil;
  readonly enclave: Service;
  proxy(): Service;
  /** Starts the proxy again after it was stopped or killed, on the same data. */
  restartProxy(): Promise<void>;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;
  /** Proxy first, so that nothing is accepted that could not be carried out; the chain last. */
  stop(): Promise<void>;
}

export async function startStack(options: StackOptions): Promise<Stack> {
  const say = options.say ?? ((): void => undefined);
  const folder = new StackFolder(options.folder);
  const holder = await folder.lock();
  if (holder !== undefined) {
    throw new StackError(
      `a stack already runs in ${folder.path} (process ${String(holder)}); stop it first, or give --folder`,
    );
  }
  const started: { stop(): Promise<void> }[] = [];
  const stopAll = async (): Promise<void> => {
    for (const party of started.splice(0).reverse()) await party.stop();
    await folder.unlock();
  };
  try {
    if (options.fresh === true) await folder.forget();
    const deployed = await folder.readDeployment();
    say(deployed === undefined ? "Starting on a new chain." : "Resuming.");

    const chainPort = await choosePort(options.chainPort, DEFAULT_CHAIN_PORT, "--chain-port");
    const chain = await startAnvil({
      port: chainPort,
      chainId: CHAIN_ID,
      stateFile: await stateFile(folder),
      blockTimeSecs: options.blockTimeSecs ?? 1,
      // A crash of this supervisor loses at most this much of the chain.
      args: ["--state-interval", "15"],
    });
    started.push(chain);
    say(`  chain    ${chain.url} (chain id ${String(CHAIN_ID)})`);

    const enclave = await startEnclave(folder);
    started.push(enclave);
    const vsockPath = String(enclave.ready["vsockPath"]);
    const signer = await enclaveSigner(vsockPath);
    say(`  enclave  signer ${signer}, development key of this start`);

    const deployment = await settle(chain, folder, deployed, signer, say);
    const apiKey = await developmentCredential({
      dataDir: folder.first("store"),
      pepperFile: await folder.secretFile("api-key.pepper"),
      keptIn: folder.first("secrets", "api-key"),
    });
    const port = await choosePort(options.port, DEFAULT_PORT, "--port");
    const serviceAddress = SpendingKey.fromSeed(
      mustFromHex(await folder.secret(SERVICE_WALLET_SECRET)),
    ).viewing.addressText(ADDRESS_PREFIX);
    const settings = {
      ...(await proxySettings(folder, chain, deployment, serviceAddress)),
      CLOISTER_ENCLAVES: `unix:${vsockPath}:${String(ENCLAVE_PORT)}`,
      CLOISTER_PORT: String(port),
      ...options.proxySettings,
    };
    let proxy = await startProxy(folder, settings);
    started.push({ stop: () => proxy.stop() });
    const baseUrl = `http://127.0.0.1:${String(port)}`;
    say(`  proxy    ${baseUrl}`);

    const file: StackFile = {
      api_key: apiKey,
      pid: process.pid,
      networks: {
        first: {
          base_url: baseUrl,
          chain_rpc: chain.url,
          chain_id: CHAIN_ID,
          pool: getAddress(deployment.pool),
          usdc: getAddress(deployment.usdc),
          deployment_block: deployment.deployment_block,
          address_prefix: ADDRESS_PREFIX,
          service_address: serviceAddress,
          enclave_signer: getAddress(signer),
        },
      },
    };
    await folder.writeStack(file);

    let fail: (what: string) => void = () => undefined;
    const failed = new Promise<string>((resolve) => (fail = resolve));
    let stopping = false;
    const watch = (service: Service): void => {
      void service.ended.then((how) => {
        if (!stopping && (service === enclave || service === proxy))
          fail(`the ${service.name} ended (${how}); see ${folder.log(service.name)}`);
      });
    };
    watch(enclave);
    watch(proxy);
    void chain.ended.then(() => {
      if (!stopping) fail("the chain ended");
    });
    return {
      file,
      folder,
      chain,
      enclave,
      proxy: () => proxy,
      restartProxy: async () => {
        proxy = await startProxy(folder, settings);
        watch(proxy);
      },
      failed,
      stop: async () => {
        stopping = true;
        await stopAll();
      },
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Contracts and signers as they have to be for this enclave: deployed once, re-registered when its key is new. */
async function settle(
  chain: Anvil,
  folder: StackFolder,
  existing: Deployment | undefined,
  signer: Address,
  say: (text: string) => void,
): Promise<Deployment> {
  const provider = new JsonRpcProvider(chain.url, CHAIN_ID, { staticNetwork: true, pollingInterval: 200 });
  try {
    const wallet = new Wallet(await folder.secret("owner.key"), provider);
    const owner = new NonceManager(wallet);
    if (existing !== undefined && (await provider.getCode(existing.pool)) === "0x") {
      throw new StackError("the saved chain does not hold the pool. Begin anew with: npm start -- --fresh");
    }
    if (existing === undefined) {
      await provider.send("anvil_setBalance", [wallet.address, RICH]);
      const sender = new Wallet(await folder.secret("sender.key"));
      await provider.send("anvil_setBalance", [sender.address, RICH]);
      const usdc = await deployTestUsdc(owner);
      const pool = await deployPool(owner, {
        signers: [signer],
        threshold: 1,
        signerDelay: SIGNER_DELAY_SECS,
        assets: [usdc.address],
        verifyingKeyHashes: await committedKeyHashes(),
      });
      const made: Deployment = {
        chain_id: CHAIN_ID,
        pool: pool.address,
        usdc: usdc.address,
        deployment_block: pool.block,
        signers: [signer],
      };
      await folder.writeDeployment(made);
      say(`  pool     ${pool.address}, test USDC ${usdc.address}`);
      return made;
    }
    await registerSigner(owner, existing.pool, signer, existing.signers);
    const renewed: Deployment = { ...existing, signers: [signer] };
    await folder.writeDeployment(renewed);
    say(`  pool     ${existing.pool}, signer registered, former one removed`);
    return renewed;
  } finally {
    provider.destroy();
  }
}

function startEnclave(folder: StackFolder): Promise<Service> {
  return startService({
    name: "enclave",
    command: process.execPath,
    args: [
      "--import",
      import.meta.resolve("tsx"),
      path.join(ROOT, "scripts", "dev", "simulated-platform.ts"),
      "--folder",
      folder.first("enclave"),
    ],
    env: childEnvironment(),
    logFile: folder.log("enclave"),
    isReady: (line) => typeof line["vsockPath"] === "string",
  });
}

function startProxy(folder: StackFolder, settings: Readonly<Record<string, string>>): Promise<Service> {
  return startService({
    name: "proxy",
    command: process.execPath,
    args: ["--import", import.meta.resolve("tsx"), path.join(ROOT, "proxy", "main.ts")],
    env: { ...childEnvironment(), ...settings },
    logFile: folder.log("proxy"),
    isReady: (line) => line["msg"] === "listening",
  });
}

async function proxySettings(
  folder: StackFolder,
  chain: Anvil,
  deployment: Deployment,
  serviceAddress: string,
): Promise<Record<string, string>> {
  return {
    CLOISTER_ENV: "development",
    CLOISTER_NETWORK: "first",
    CLOISTER_DATA_DIR: folder.first("store"),
    CLOISTER_RPC_URL: chain.url,
    CLOISTER_CHAIN_ID: String(CHAIN_ID),
    CLOISTER_POOL: deployment.pool,
    CLOISTER_DEPLOYMENT_BLOCK: String(deployment.deployment_block),
    CLOISTER_CONFIRMATIONS: String(CONFIRMATIONS),
    CLOISTER_BLOCK_POLL_MS: "250",
    CLOISTER_USDC: deployment.usdc,
    CLOISTER_ADDRESS_PREFIX: ADDRESS_PREFIX,
    CLOISTER_ARTEFACT_MANIFEST: MANIFEST,
    CLOISTER_SENDER_KEY_FILE: await folder.secretFile("sender.key"),
    CLOISTER_SESSION_KEYS_FILE: await sessionKeys(folder),
    CLOISTER_API_KEY_PEPPER_FILE: await folder.secretFile("api-key.pepper"),
    CLOISTER_SERVICE_FEE_ADDRESS: serviceAddress,
    CLOISTER_FEE_SCHEDULE: JSON.stringify(
      FEE_OPERATIONS.map((operation) => ({ asset: deployment.usdc, operation, flat: FLAT_FEE, bps: 0 })),
    ),
  };
}

/** What a Node program needs from the surroundings, and nothing else: no credential of the developer's shell gets in. */
function childEnvironment(): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "TMPDIR", "NODE_V8_COVERAGE"]) {
    const value = process.env[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

/** Made once; the file's place is the only thing that a start needs to know. */
async function sessionKeys(folder: StackFolder): Promise<string> {
  const file = folder.first("secrets", "session-keys.json");
  if (!existsSync(file)) await createKeyRing(file);
  return file;
}

async function stateFile(folder: StackFolder): Promise<string> {
  await folder.secretFile("owner.key"); // makes the folder
  return folder.first("chain-state.json");
}

async function choosePort(wanted: number | undefined, preferred: number, option: string): Promise<number> {
  if (wanted !== undefined && wanted !== 0) {
    if (await isFree(wanted)) return wanted;
    throw new StackError(
      `port ${String(wanted)} is taken; choose another with ${option}, or 0 for a free one`,
    );
  }
  if (wanted === undefined && (await isFree(preferred))) return preferred;
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
