// A chain with blocks of a part of a second, and how far the index is behind it.
import { setTimeout as delay } from "node:timers/promises";
import type { JsonRpcProvider } from "ethers";
import type { Client } from "../../../../shared/client/index.ts";
import { BLOCK_MS } from "../figures.ts";

const LOOK_EVERY_MS = 50;

export class QuickChain {
  readonly #chain: JsonRpcProvider;
  readonly #client: Client;
  readonly #behind: number[] = [];
  #end: Promise<unknown> = Promise.resolve();
  #mined = 0;
  #isStopped = false;

  private constructor(chain: JsonRpcProvider, client: Client) {
    this.#chain = chain;
    this.#client = client;
  }

  /** Until it is stopped, the node makes no blocks by itself. */
  static async start(chain: JsonRpcProvider, client: Client, blockMs: number): Promise<QuickChain> {
    const quick = new QuickChain(chain, client);
    await chain.send("evm_setIntervalMining", [0]);
    quick.#mined = await chain.getBlockNumber();
    quick.#end = Promise.all([quick.#mine(blockMs), quick.#look()]);
    // Said at the stop; where the suite fails before, its own error counts.
    quick.#end.catch(() => undefined);
    return quick;
  }

  /** Blocks that the index was behind, at each look. */
  async stop(): Promise<readonly number[]> {
    this.#isStopped = true;
    await this.#end;
    await this.#chain.send("evm_setIntervalMining", [BLOCK_MS / 1000]);
    return this.#behind;
  }

  /** Blocks come at their times, also where one took long to make. */
  async #mine(blockMs: number): Promise<void> {
    for (let next = performance.now(); !this.#isStopped;) {
      next += blockMs;
      await delay(Math.max(0, next - performance.now()));
      await this.#chain.send("evm_mine", []);
      this.#mined += 1;
    }
  }

  async #look(): Promise<void> {
    while (!this.#isStopped) {
      const mined = this.#mined;
      const { block_number: indexed } = await this.#client.merkleRoot();
      this.#behind.push(Math.max(0, mined - indexed));
      await delay(LOOK_EVERY_MS);
    }
  }
}
