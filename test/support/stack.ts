/**
 * The whole service for end-to-end tests, with real parts in processes of their own: chain, contracts,
 * enclave, proxy, and wallets of the client library with real proofs. Each stack has a folder and ports of
 * its own, so suites can run side by side.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { id, JsonRpcProvider, Wallet as EthereumWallet } from "ethers";
import { startStack, type Stack } from "../../scripts/dev/local-stack.ts";
import { openStackWallet } from "../../scripts/dev/stack-wallet.ts";
import { TestUsdc } from "../../scripts/dev/usdc.ts";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/index.ts";

const EXECUTED = id("Executed(bytes32,uint8,uint64,uint256[],uint256[],bytes)");

export interface TestStack {
  readonly stack: Stack;
  readonly client: Client;
  readonly chain: JsonRpcProvider;
  readonly usdc: TestUsdc;
  /** A wallet of the client library, by default with a fresh key. */
  wallet(seed?: Uint8Array): Promise<Wallet>;
  /** A fresh public account that holds so much USDC and no gas. */
  depositor(amount: bigint): Promise<EthereumWallet>;
  /** Blocks come on their own, or only when `mine` is called. */
  setMining(isOn: boolean): Promise<void>;
  mine(blocks?: number): Promise<void>;
  /** Hashes of the chain transactions that executed a statement. */
  executions(statement: string): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startTestStack(
  proxySettings: Readonly<Record<string, string>> = {},
): Promise<TestStack> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-e2e-"));
  const stack = await startStack({ folder, port: 0, chainPort: 0, proxySettings });
  const network = stack.file.networks.first;
  const client = createClient({ baseUrl: network.base_url, credential: { apiKey: stack.file.api_key } });
  const chain = new JsonRpcProvider(network.chain_rpc, network.chain_id, {
    staticNetwork: true,
    cacheTimeout: -1,
  });
  const usdc = await TestUsdc.at(network.usdc, chain);
  let prover: Prover | undefined;

  return {
    stack,
    client,
    chain,
    usdc,
    async wallet(seed = newSeed()) {
      prover ??= await developmentProver();
      return openStackWallet(network, { seed, client, prover, storage: memoryStorage() });
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
    async executions(statement) {
      const logs = await chain.getLogs({
        address: network.pool,
        topics: [EXECUTED, statement],
        fromBlock: network.deployment_block,
        toBlock: "latest",
      });
      return logs.map(({ transactionHash }) => transactionHash);
    },
    async stop() {
      await prover?.close();
      chain.destroy();
      await stack.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
