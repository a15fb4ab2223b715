/** What the chain itself, and strangers on it, do in a scenario; through anvil's own calls and ordinary transactions. */
import { Interface, Transaction } from "ethers";
import { NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { CONFIRMATIONS, type Prebuilt, type World } from "./world.ts";

const POOL = new Interface(POOL_ABI);
const GWEI = 1_000_000_000n;
const hex = (value: number | bigint): string => `0x${value.toString(16)}`;
/** More than any proxy bids, so that a stranger's transaction comes first in its block. */
const STRANGERS_FEES = { maxFeePerGas: hex(5_000n * GWEI), maxPriorityFeePerGas: hex(50n * GWEI) };
const STRANGERS_GAS = hex(8_000_000);

interface Waiting {
  readonly hash: string;
  readonly input: string;
}

interface Block {
  readonly number: string;
  readonly transactions: readonly { readonly hash: string; readonly from: string }[];
}

export class ChainMoves {
  readonly #world: World;
  /** Raw bytes of the transactions that went through a relay, by hash. */
  readonly #sent: () => ReadonlyMap<string, string>;
  readonly #foreign: Prebuilt[];
  #racing = 0;
  /** Of the chain, when blocks were about to be reorganised out. */
  #highest = 0;
  /** Statements that the pool refused, or did not reach in a call that failed as a whole, in a block that stands or stood. */
  readonly rejected = new Set<string>();
  /** Transactions of strangers that went first. */
  races = 0;

  constructor(world: World, sent: () => ReadonlyMap<string, string>) {
    this.#world = world;
    this.#sent = sent;
    this.#foreign = [...world.foreign];
  }

  async height(): Promise<number> {
    return Number(await this.#world.rpc("eth_blockNumber"));
  }

  /** With a stranger's deposit in front of each block while he races. */
  async mine(blocks: number): Promise<void> {
    let left = blocks;
    for (; left > 0 && this.#racing > 0; left--) {
      this.#racing -= 1;
      const foreign = this.#foreign.shift();
      if (foreign !== undefined) {
        await this.#send(this.#world.stranger, foreign.call);
        this.races += 1;
      }
      await this.#world.rpc("anvil_mine", ["0x1"]);
    }
    if (left > 0) await this.#world.rpc("anvil_mine", [hex(left)]);
  }

  race(blocks: number): void {
    this.#racing += blocks;
  }

  /** Of the newest block, Unix seconds. */
  async time(): Promise<number> {
    const block = (await this.#world.rpc("eth_getBlockByNumber", ["latest", false])) as { timestamp: string };
    return Number(block.timestamp);
  }

  /** From the newest block on, also where the chain's clock is ahead of the machine's. */
  async passTime(secs: number): Promise<void> {
    await this.#world.rpc("evm_setNextBlockTimestamp", [(await this.time()) + secs]);
    await this.mine(1);
  }

  async #send(from: string, data: string): Promise<string> {
    const { pool: to } = this.#world.entry;
    return (await this.#world.rpc("eth_sendTransaction", [
      { from, to, data, gas: STRANGERS_GAS, ...STRANGERS_FEES },
    ])) as string;
  }

  /** Somebody's call of the pool, first in the next block, which is made. False when it reverted. */
  async act(from: string, data: string): Promise<boolean> {
    await this.#world.rpc("anvil_impersonateAccount", [from]);
    const hash = await this.#send(from, data);
    await this.mine(1);
    const receipt = (await this.#world.rpc("eth_getTransactionReceipt", [hash])) as { status: string } | null;
    return receipt?.status === "0x1";
  }

  /** Their owner's transaction, proved; mined with the next block. */
  async prove(name: string): Promise<void> {
    const proved = this.#world.proved.find((each) => each.name === name);
    if (proved === undefined) throw new RangeError(`nothing proved is ${name}`);
    await this.#world.rpc("anvil_impersonateAccount", [this.#world.lone]);
    await this.#send(this.#world.lone, proved.call);
  }

  /** Our transaction that waits to be mined with the lowest nonce, once there is one. */
  async waiting(withinMs = 400): Promise<Waiting | undefined> {
    const sender = this.#world.sender.toLowerCase();
    const end = performance.now() + withinMs;
    for (;;) {
      const { pending } = (await this.#world.rpc("txpool_content")) as {
        pending: Readonly<Record<string, Readonly<Record<string, Waiting>>>>;
      };
      const ours = Object.entries(pending).find(([address]) => address.toLowerCase() === sender)?.[1] ?? {};
      const first = Object.keys(ours).sort((a, b) => Number(a) - Number(b))[0];
      if (first !== undefined) return ours[first];
      if (performance.now() > end) return undefined;
      await new Promise((resolve) => setTimeout(resolve, 15));
    }
  }

  /** A stranger's transaction with our call, or with its last member alone, mined before ours. False when nothing waited. */
  async copy(part: "whole" | "last-member"): Promise<boolean> {
    const waiting = await this.waiting();
    if (waiting === undefined) return false;
    await this.#send(this.#world.stranger, part === "whole" ? waiting.input : lastMemberOf(waiting.input));
    await this.mine(1);
    return true;
  }

  async drop(): Promise<boolean> {
    const waiting = await this.waiting();
    if (waiting === undefined) return false;
    await this.#world.rpc("anvil_dropTransaction", [waiting.hash]);
    return true;
  }

  /** Other blocks for the newest ones, as far as the scenario's own go. False when there is none. */
  async reorganise(depth: number, content: "empty" | "later"): Promise<boolean> {
    const most = await this.#within(depth);
    if (most === 0) return false;
    await this.noteRejected();
    const again = content === "later" ? await this.#laterTransactions(most) : [];
    await this.#world
      .rpc("anvil_reorg", [most, again])
      // What does not fit into the new blocks is left to its sender.
      .catch(() => this.#world.rpc("anvil_reorg", [most, []]));
    return true;
  }

  async rollback(depth: number): Promise<boolean> {
    const most = await this.#within(depth);
    if (most === 0) return false;
    await this.noteRejected();
    await this.#world.rpc("anvil_rollback", [most]);
    return true;
  }

  /**
   * As many as the scenario's own. What had its confirmations stays, also when blocks are reorganised out more than once before
   * the chain has grown again: what becomes of a final ticket then is not this suite's question.
   */
  async #within(depth: number): Promise<number> {
    const height = await this.height();
    this.#highest = Math.max(this.#highest, height);
    const stays = Math.max(this.#world.height, this.#highest - (CONFIRMATIONS - 1));
    return Math.max(0, Math.min(depth, height - stays));
  }

  async #laterTransactions(depth: number): Promise<[string, number][]> {
    const height = await this.height();
    const sent = this.#sent();
    const found: [string, number][] = [];
    for (let i = 0; i < depth; i++) {
      const number = hex(height - depth + 1 + i);
      const block = (await this.#world.rpc("eth_getBlockByNumber", [number, true])) as Block;
      for (const { hash } of block.transactions) {
        const raw = sent.get(hash);
        if (raw !== undefined) found.push([raw, Math.min(i + 1, depth - 1)]);
      }
    }
    return found;
  }

  async noteRejected(): Promise<void> {
    for (const { topics, data } of await this.logs(this.#world.height + 1)) {
      const event = POOL.parseLog({ topics: [...topics], data });
      if (event?.name === "Rejected") this.rejected.add(String(event.args["statementHash"]));
    }
    for (const [hash, raw] of this.#sent()) {
      const receipt = (await this.#world.rpc("eth_getTransactionReceipt", [hash])) as {
        status: string;
      } | null;
      if (receipt?.status !== "0x0") continue;
      const members = new Set(membersOf(Transaction.from(raw).data).map(String));
      for (const { call, statement } of this.#world.prebuilt)
        if (membersOf(call).some((member) => members.has(String(member)))) this.rejected.add(statement);
    }
  }

  async logs(fromBlock: number): Promise<
    readonly {
      readonly topics: readonly string[];
      readonly data: string;
      readonly blockNumber: string;
      readonly logIndex: string;
      readonly transactionHash: string;
    }[]
  > {
    const range = { address: this.#world.entry.pool, fromBlock: hex(fromBlock), toBlock: "latest" };
    return (await this.#world.rpc("eth_getLogs", [range])) as never;
  }
}

/** Of each member of a call, what it states; an `advance` has none. */
function membersOf(input: string): readonly bigint[][] {
  if (!isExecute(input)) return [];
  const [members] = POOL.decodeFunctionData("execute", input) as unknown as [{ signals: bigint[] }[]];
  return [...members].map(({ signals }) => [...signals]);
}

function lastMemberOf(input: string): string {
  if (!isExecute(input)) return input;
  const [members] = POOL.decodeFunctionData("execute", input) as unknown as [unknown[][]];
  const last = members.at(-1);
  // A root update alone has none: then it is copied as it is.
  return last === undefined ? input : POOL.encodeFunctionData("execute", [[[...last]], NO_UPDATE]);
}

function isExecute(input: string): boolean {
  return input.startsWith(POOL.getFunction("execute")!.selector);
}
