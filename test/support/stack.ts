/**
 * The whole service for end-to-end tests, with real parts in processes of their own: chain, contracts,
 * enclave, proxy, and wallets of the client library with real proofs. What these ask is held
 * against the OpenAPI document. Each stack has a folder and ports of
 * its own, so suites can run side by side. Most tests need the first network only; it is the cheap one.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { id, JsonRpcProvider, Wallet as EthereumWallet } from "ethers";
import { startCluster, type Cluster } from "../../scripts/stack/local-cluster.ts";
import type { PoolTerms } from "../../scripts/stack/local-contracts.ts";
import type { EachProxy, LocalNetwork } from "../../scripts/stack/local-network.ts";
import type { NetworkSize } from "../../scripts/stack/network-size.ts";
import { startStack, type Stack } from "../../scripts/stack/local-stack.ts";
import type { NetworkEntry, NetworkName } from "../../scripts/base/stack-file.ts";
import { ROOMY_KEYS } from "../../scripts/stack/proxy-settings.ts";
import { openStackWallet } from "../../scripts/stack/stack-wallet.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { documentedFetch } from "./documented.ts";

const EXECUTED = id("Executed(bytes32)");
const FREE_PORTS = { proxy: 0, chain: 0 };

export interface TestNetwork {
  readonly local: LocalNetwork;
  readonly entry: NetworkEntry;
  readonly client: Client;
  readonly chain: JsonRpcProvider;
  readonly usdc: TestUsdc;
  /** Of these wallets; loaded when it is first asked for. */
  prover(): Promise<Prover>;
  /** A wallet of the client library, by default with a fresh key and through this network's `client`. */
  wallet(options?: {
    readonly seed?: Uint8Array;
    readonly through?: Client;
    readonly now?: () => number;
  }): Promise<Wallet>;
  /** A fresh public account that holds so much USDC and no gas. */
  depositor(amount: bigint): Promise<EthereumWallet>;
  /** Blocks come on their own, or only when `mine` is called. */
  setMining(isOn: boolean): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** Moves the clocks of the chain and of these wallets on, so that deadlines before then have passed permanently. */
  passTime(secs: number): Promise<void>;
  /** Hashes of the chain transactions that executed a statement. */
  executions(statement: string): Promise<string[]>;
  /** Address that pays the proxy's gas. */
  sender(): Promise<string>;
}

/** Its own members are those of the first network that was asked for. */
export interface TestStack extends TestNetwork {
  readonly stack: Stack;
  network(name: NetworkName): TestNetwork;
  stop(): Promise<void>;
}

export interface TestStackOptions {
  /** Default: the first network alone. */
  readonly networks?: readonly [NetworkName, ...NetworkName[]];
  readonly proxySettings?: Readonly<Record<string, string>>;
  /** What each start of its proxy has in the place of the stack's settings. */
  readonly eachProxy?: EachProxy;
  /** Whether the first has its bridges, with their chains and venues. */
  readonly bridges?: boolean;
  /** Other terms of the pool than the stack's. */
  readonly poolTerms?: PoolTerms;
  /** How many enclaves there are, and of how many the pool asks an attestation. Default 1. */
  readonly threshold?: number;
  /** Of the first network, for who stands between it and its proxy. Default: a free one. */
  readonly chainPort?: number;
}

export async function startTestStack(options: TestStackOptions = {}): Promise<TestStack> {
  const { networks = ["first"], proxySettings = {}, bridges = false } = options;
  const { poolTerms, threshold, chainPort = 0, eachProxy } = options;
  const ports = { first: { ...FREE_PORTS, chain: chainPort }, second: FREE_PORTS };
  return inFolder(async (folder) => {
    const stack = await startStack({
      folder,
      ...{ networks, ports, bridges },
      size: { threshold },
      ...(poolTerms === undefined ? {} : { poolTerms }),
      ...(eachProxy === undefined ? {} : { eachProxy }),
      proxySettings: { ...ROOMY_KEYS, ...proxySettings },
    });
    return { stack, networks, stop: () => stack.stop() };
  });
}

export interface TestCluster extends TestStack {
  readonly cluster: Cluster;
}

/** Several proxies and enclaves around one Redis; `entry` and `client` go through the balancer. */
export async function startTestCluster(
  size: NetworkSize,
  options: {
    readonly proxySettings?: Readonly<Record<string, string>>;
    readonly eachProxy?: EachProxy;
    readonly bridges?: boolean;
    readonly poolTerms?: PoolTerms;
  } = {},
): Promise<TestCluster> {
  let cluster: Cluster | undefined;
  const stack = await inFolder(async (folder) => {
    const proxySettings = { ...ROOMY_KEYS, ...options.proxySettings };
    const made = await startCluster({ folder, size, ports: FREE_PORTS, ...options, proxySettings });
    cluster = made;
    return { stack: made.stack, networks: ["first"], stop: () => made.stop() };
  });
  if (cluster === undefined) throw new Error("no cluster");
  return { ...stack, cluster };
}

interface Begun {
  readonly stack: Stack;
  readonly networks: readonly [NetworkName, ...NetworkName[]];
  stop(): Promise<void>;
}

/** A folder that goes with what was begun in it. */
async function inFolder(begin: (folder: string) => Promise<Begun>): Promise<TestStack> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-e2e-"));
  const removeFolder = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const begun = await begin(folder).catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });
  const { stack, networks } = begun;
  let prover: Promise<Prover> | undefined;
  const getProver = (): Promise<Prover> => (prover ??= developmentProver());
  const made = new Map<NetworkName, TestNetwork>();
  for (const name of networks) made.set(name, await testNetwork(stack, name, getProver));
  const network = (name: NetworkName): TestNetwork => {
    const found = made.get(name);
    if (found === undefined) throw new Error(`the ${name} network was not asked for`);
    return found;
  };
  return {
    ...network(networks[0]),
    stack,
    network,
    async stop() {
      await (await prover)?.close();
      for (const { chain } of made.values()) chain.destroy();
      await begun.stop();
      await removeFolder();
    },
  };
}

async function testNetwork(
  stack: Stack,
  name: NetworkName,
  getProver: () => Promise<Prover>,
): Promise<TestNetwork> {
  const local = stack.network(name);
  const { entry } = local;
  const client = createClient({
    baseUrl: entry.base_url,
    credential: { apiKey: stack.file.api_key },
    fetch: documentedFetch(entry.base_url),
  });
  const chain = new JsonRpcProvider(entry.chain_rpc, entry.chain_id, {
    staticNetwork: true,
    cacheTimeout: -1,
    pollingInterval: 100,
  });
  const usdc = await TestUsdc.at(entry.usdc, chain);
  let passed = 0;
  const now = (): number => Math.floor(Date.now() / 1000) + passed;
  return {
    local,
    entry,
    client,
    chain,
    usdc,
    prover: getProver,
    async wallet({ seed = newSeed(), through = client, now: clock = now } = {}) {
      const prover = await getProver();
      return openStackWallet(entry, { seed, client: through, prover, storage: memoryStorage(), now: clock });
    },
    async depositor(amount) {
      const account = new EthereumWallet(EthereumWallet.createRandom().privateKey, chain);
      await usdc.mint(account.address, amount);
      return account;
    },
    async setMining(isOn) {
      await chain.send("evm_setAutomine", [false]);
      await chain.send("evm_setIntervalMining", [isOn ? 1 : 0]);
    },
    async mine(blocks = 1) {
      await chain.send("anvil_mine", [`0x${blocks.toString(16)}`]);
    },
    async passTime(secs) {
      await chain.send("evm_increaseTime", [secs]);
      passed += secs;
      // Enough blocks to make the first of them final.
      await chain.send("anvil_mine", ["0x5"]);
    },
    async executions(statement) {
      const logs = await chain.getLogs({
        address: entry.pool,
        topics: [EXECUTED, statement],
        fromBlock: entry.deployment_block,
        toBlock: "latest",
      });
      return logs.map(({ transactionHash }) => transactionHash);
    },
    async sender() {
      return new EthereumWallet(await local.folder.secrets.text("sender.key")).address;
    },
  };
}
