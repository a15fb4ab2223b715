/** What a chain does to its newest blocks in a scenario, through anvil's own calls. */
export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

interface Waiting {
  readonly hash: string;
  readonly input: string;
}

interface Block {
  readonly number: string;
  readonly transactions: readonly { readonly hash: string; readonly from: string }[];
}

export interface ChainUnderFaults {
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Block of the snapshot; nothing at or below it is taken back. */
  readonly height: number;
  readonly confirmations: number;
  /** Who sends what a proxy sends there. */
  readonly sender: string;
}

export class Blocks {
  readonly #chain: ChainUnderFaults;
  /** Raw bytes of the transactions that went through a relay, by hash. */
  readonly #sent: () => ReadonlyMap<string, string>;
  /** Of the chain, when blocks were about to be reorganised out. */
  #highest = 0;

  constructor(chain: ChainUnderFaults, sent: () => ReadonlyMap<string, string>) {
    this.#chain = chain;
    this.#sent = sent;
  }

  async height(): Promise<number> {
    return Number(await this.#chain.rpc("eth_blockNumber"));
  }

  async mine(blocks: number): Promise<void> {
    await this.#chain.rpc("anvil_mine", [hex(blocks)]);
  }

  /** Of the newest block, Unix seconds. */
  async time(): Promise<number> {
    const block = (await this.#chain.rpc("eth_getBlockByNumber", ["latest", false])) as { timestamp: string };
    return Number(block.timestamp);
  }

  /** From the newest block on, or from now where that lies long ago; also where the chain's clock is ahead of the machine's. */
  async passTime(secs: number): Promise<void> {
    const from = Math.max(await this.time(), Math.floor(Date.now() / 1_000));
    await this.#chain.rpc("evm_setNextBlockTimestamp", [from + secs]);
    await this.mine(1);
  }

  /** Of ours that the next block could take. */
  async inFlight(): Promise<number> {
    return Object.keys(await this.#ours()).length;
  }

  async #ours(): Promise<Readonly<Record<string, Waiting>>> {
    const sender = this.#chain.sender.toLowerCase();
    const { pending } = (await this.#chain.rpc("txpool_content")) as {
      pending: Readonly<Record<string, Readonly<Record<string, Waiting>>>>;
    };
    return Object.entries(pending).find(([address]) => address.toLowerCase() === sender)?.[1] ?? {};
  }

  /** Our transaction that waits to be mined with the lowest nonce, once there is one. */
  async waiting(withinMs = 400): Promise<Waiting | undefined> {
    const end = performance.now() + withinMs;
    for (;;) {
      const ours = await this.#ours();
      const first = Object.keys(ours).sort((a, b) => Number(a) - Number(b))[0];
      if (first !== undefined) return ours[first];
      if (performance.now() > end) return undefined;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }

  async drop(): Promise<boolean> {
    const waiting = await this.waiting();
    if (waiting === undefined) return false;
    await this.#chain.rpc("anvil_dropTransaction", [waiting.hash]);
    return true;
  }

  /** Other blocks for the newest ones, as far as the scenario's own go. False when there is none. */
  async reorganise(depth: number, content: "empty" | "later"): Promise<boolean> {
    const most = await this.#within(depth);
    if (most === 0) return false;
    await this.beforeOrphaning();
    const again = content === "later" ? await this.#laterTransactions(most) : [];
    await this.#chain
      .rpc("anvil_reorg", [most, again])
      // What does not fit into the new blocks is left to its sender.
      .catch(() => this.#chain.rpc("anvil_reorg", [most, []]));
    return true;
  }

  async rollback(depth: number): Promise<boolean> {
    const most = await this.#within(depth);
    if (most === 0) return false;
    await this.beforeOrphaning();
    await this.#chain.rpc("anvil_rollback", [most]);
    return true;
  }

  /** What the newest blocks say is noted before they are gone. */
  protected async beforeOrphaning(): Promise<void> {
    // Nothing, where nobody has to know.
  }

  /**
   * As many as the scenario's own. What had its confirmations stays, also when blocks are reorganised out more than once before
   * the chain has grown again: what becomes of what is final then is not this suite's question.
   */
  async #within(depth: number): Promise<number> {
    const height = await this.height();
    this.#highest = Math.max(this.#highest, height);
    const stays = Math.max(this.#chain.height, this.#highest - (this.#chain.confirmations - 1));
    return Math.max(0, Math.min(depth, height - stays));
  }

  async #laterTransactions(depth: number): Promise<[string, number][]> {
    const height = await this.height();
    const sent = this.#sent();
    const found: [string, number][] = [];
    for (let i = 0; i < depth; i++) {
      const number = hex(height - depth + 1 + i);
      const block = (await this.#chain.rpc("eth_getBlockByNumber", [number, true])) as Block;
      for (const { hash } of block.transactions) {
        const raw = sent.get(hash);
        if (raw !== undefined) found.push([raw, Math.min(i + 1, depth - 1)]);
      }
    }
    return found;
  }
}
