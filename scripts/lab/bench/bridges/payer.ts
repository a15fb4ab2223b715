// Somebody with test dollars on one chain, who pays many addresses in one block of it.

import { Interface, Wallet, type JsonRpcProvider } from "ethers";
import { chainAt } from "../../../stack/bridges/people.ts";
import { giveCoins } from "../../../stand-ins/local-chain.ts";
import { TestUsdc } from "../../../stand-ins/usdc.ts";

const TOKEN = new Interface(["function transfer(address to, uint256 value)"]);
const COINS = 10n ** 21n;
const DOLLARS = 10n ** 15n;
const TRANSFER_GAS = 100_000n;
/** Of the chains of these benchmarks. */
const BLOCK_SECS = 1;

export interface Paid {
  readonly block: number;
  /** When that block was asked for; of `performance.now`. */
  readonly at: number;
}

export class Payer {
  readonly chain: JsonRpcProvider;
  readonly #token: string;
  readonly #wallet: Wallet;

  private constructor(chain: JsonRpcProvider, token: string, wallet: Wallet) {
    [this.chain, this.#token, this.#wallet] = [chain, token, wallet];
  }

  static async open(at: { readonly rpc: string; readonly chain_id: number; readonly usdc: string }) {
    const chain = chainAt(at);
    const wallet = new Wallet(Wallet.createRandom().privateKey, chain);
    await giveCoins(chain, wallet.address, COINS);
    await (await TestUsdc.at(at.usdc, chain)).mint(wallet.address, DOLLARS);
    return new Payer(chain, at.usdc, wallet);
  }

  /** No block is made while they come, so that one holds them all. */
  async payInOneBlock(addresses: readonly string[], amount: bigint): Promise<Paid> {
    const { chain } = this;
    await chain.send("evm_setIntervalMining", [0]);
    try {
      const hashes = await this.#send(addresses, amount);
      const at = performance.now();
      await chain.send("evm_mine", []);
      const blocks = new Set<number | undefined>();
      for (const hash of hashes) blocks.add((await chain.getTransactionReceipt(hash))?.blockNumber);
      const [block] = blocks;
      if (blocks.size !== 1 || block === undefined) throw new Error("the payments are not in one block");
      return { block, at };
    } finally {
      await chain.send("evm_setIntervalMining", [BLOCK_SECS]);
    }
  }

  async #send(addresses: readonly string[], amount: bigint): Promise<string[]> {
    const first = await this.#wallet.getNonce();
    const { maxFeePerGas, maxPriorityFeePerGas } = await this.chain.getFeeData();
    const { chainId } = await this.chain.getNetwork();
    const call = { type: 2, chainId, to: this.#token, gasLimit: TRANSFER_GAS } as const;
    const hashes: string[] = [];
    for (const [i, to] of addresses.entries()) {
      const data = TOKEN.encodeFunctionData("transfer", [to, amount]);
      const fees = {
        maxFeePerGas: 4n * (maxFeePerGas ?? 0n),
        maxPriorityFeePerGas: maxPriorityFeePerGas ?? 0n,
      };
      const raw = await this.#wallet.signTransaction({ ...call, ...fees, data, nonce: first + i });
      hashes.push((await this.chain.send("eth_sendRawTransaction", [raw])) as string);
    }
    return hashes;
  }

  stop(): void {
    this.chain.destroy();
  }
}
