/**
 * One or more chain nodes as one voice. Each answer is brought into one form and compared; where two nodes differ,
 * neither is believed. A node on another chain is not asked anything else.
 */
import type { Address, Bytes32 } from "../../protocol/brands.ts";
import { asAddress, asBytes32, fromHex } from "../../protocol/host/text.ts";
import { ClientError } from "../base/errors.ts";
import { NodeRefused, type JsonRpc } from "./json-rpc.ts";

export interface Block {
  readonly number: number;
  readonly hash: Bytes32;
  /** Unix seconds. */
  readonly timestamp: number;
}

export interface PoolLog {
  /** The contract whose word it is. */
  readonly by: Address;
  readonly block: number;
  readonly blockHash: Bytes32;
  readonly txHash: Bytes32;
  readonly index: number;
  readonly topics: readonly string[];
  readonly data: string;
}

/** Blocks below the newest one, or the chain's own word. */
export type Finality = number | "finalized";

/** The newest block that counts. */
export interface Counted extends Block {
  /** Of the newest block of all, Unix seconds: what is final is old, and the node may be up to date nevertheless. */
  readonly headTime: number;
}

/**
 * Blocks below the newest one where a node does not know "finalized": more than were ever reorganised on a public chain
 * with blocks every few seconds (157, Polygon, February 2023: github.com/GLEECBTC/coins/issues/662).
 */
const FINALIZED_BLOCKS = 256;

/** Of what is asked for at first, and what no node is asked for more than. */
const FIRST_SPAN = 5_000;
const LONGEST_SPAN = 200_000;

export class Nodes {
  readonly #all: readonly JsonRpc[];
  readonly #chainId: number;
  #isOnChain: Promise<void> | undefined;
  #span = FIRST_SPAN;

  constructor(all: readonly JsonRpc[], chainId: number) {
    this.#all = all;
    this.#chainId = chainId;
  }

  /** The newest block that counts, the same at every node: the lowest that any of them has. */
  async newest(finality: Finality, signal?: AbortSignal): Promise<Counted> {
    await this.#onChain(signal);
    const heads = await this.#each(async (node) => {
      const head = blockOf(await node.ask("eth_getBlockByNumber", ["latest", false], signal));
      const counted =
        finality === "finalized" ? await finalizedBy(node, head, signal) : head.number - finality;
      return { ...head, counted: Math.max(0, counted) };
    });
    const headTime = Math.min(...heads.map(({ timestamp }) => timestamp));
    const number = Math.min(...heads.map(({ counted }) => counted));
    return { ...(await this.block(number, signal)), headTime };
  }

  async block(number: number, signal?: AbortSignal): Promise<Block> {
    await this.#onChain(signal);
    const found = await this.#agreed(`block ${number}`, async (node) =>
      blockOf(await node.ask("eth_getBlockByNumber", [hex(number), false], signal)),
    );
    if (found.number !== number) throw doubted(`asked for block ${number}, it gives ${found.number}`);
    return found;
  }

  /** A contract's logs in order, or everybody's; piece by piece, and a piece gets shorter while a node refuses it. */
  async *logs(
    by: Address | undefined,
    from: number,
    to: number,
    { topics = [], signal }: { topics?: readonly unknown[]; signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<{ readonly to: number; readonly logs: readonly PoolLog[] }> {
    await this.#onChain(signal);
    for (let next = from; next <= to;) {
      const end = Math.min(to, next + this.#span - 1);
      const range = {
        ...(by === undefined ? {} : { address: by }),
        ...{ fromBlock: hex(next), toBlock: hex(end), topics },
      };
      let logs: readonly PoolLog[];
      try {
        logs = await this.#agreed(`the pool's logs of blocks ${next} to ${end}`, async (node) =>
          logsOf(await node.ask("eth_getLogs", [range], signal), by, next, end),
        );
      } catch (error) {
        if (!(error instanceof NodeRefused)) throw error;
        if (this.#span === 1)
          throw new ClientError("NODE_UNREACHABLE", `eth_getLogs: ${error.message}`, { cause: error });
        this.#span = Math.max(1, Math.floor(Math.min(this.#span, end - next + 1) / 2));
        continue;
      }
      yield { to: end, logs };
      next = end + 1;
      this.#span = Math.min(LONGEST_SPAN, this.#span * 2);
    }
  }

  /** Throws NodeRefused with the revert's data where the call reverts. */
  async call(to: Address, data: string, block: number, signal?: AbortSignal): Promise<string> {
    await this.#onChain(signal);
    return this.#agreed(`a call at block ${block}`, async (node) => {
      const answer = await node.ask("eth_call", [{ to, data }, hex(block)], signal);
      if (typeof answer !== "string" || !/^0x([0-9a-f]{2})*$/i.test(answer))
        throw doubted("a call's answer is no hex");
      return answer.toLowerCase();
    });
  }

  /** What a transaction handed to whom. */
  async transaction(
    hash: Bytes32,
    signal?: AbortSignal,
  ): Promise<{ to: Address | undefined; input: string }> {
    await this.#onChain(signal);
    return this.#agreed(`transaction ${hash}`, async (node) => {
      const found = await node.ask("eth_getTransactionByHash", [hash], signal);
      const { to, input } = (found ?? {}) as Record<string, unknown>;
      if (typeof input !== "string" || fromHex(input) === undefined)
        throw doubted("it does not have a transaction whose log it has");
      return { to: asAddress(to), input: input.toLowerCase() };
    });
  }

  /** Coins of an account, in wei. */
  async coins(account: Address, block: number, signal?: AbortSignal): Promise<bigint> {
    await this.#onChain(signal);
    const agreed = await this.#agreed(`the coins of an account at block ${block}`, async (node) => {
      const answer = await node.ask("eth_getBalance", [account, hex(block)], signal);
      if (typeof answer !== "string" || !/^0x[0-9a-f]{1,64}$/i.test(answer))
        throw doubted("an account's coins are no number");
      return answer.toLowerCase();
    });
    return BigInt(agreed);
  }

  /** The highest of what the nodes say. */
  async estimate(transaction: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<bigint> {
    await this.#onChain(signal);
    const answers = await this.#each(async (node) =>
      BigInt(quantity(await node.ask("eth_estimateGas", [transaction], signal))),
    );
    return answers.reduce((most, one) => (one > most ? one : most));
  }

  /** Once: a node that changes its chain later is found out by its blocks. */
  #onChain(signal?: AbortSignal): Promise<void> {
    const asked = (this.#isOnChain ??= this.#each(async (node) => {
      const chainId = quantity(await node.ask("eth_chainId", [], signal));
      if (chainId !== this.#chainId)
        throw new Elsewhere(`${node.shownAs} is on chain ${chainId}, and not on ${this.#chainId}`);
    }).then(() => undefined));
    asked.catch(() => (this.#isOnChain = undefined));
    return asked;
  }

  #each<T>(question: (node: JsonRpc) => Promise<T>): Promise<T[]> {
    return Promise.all(this.#all.map(question));
  }

  async #agreed<T>(what: string, question: (node: JsonRpc) => Promise<T>): Promise<T> {
    const [first, ...others] = await this.#each(question);
    const text = JSON.stringify(first);
    const other = others.findIndex((answer) => JSON.stringify(answer) !== text);
    if (other !== -1)
      throw doubted(
        `${this.#all[0]!.shownAs} and ${this.#all[other + 1]!.shownAs} say different things about ${what}`,
      );
    return first as T;
  }
}

export function doubted(detail: string): ClientError {
  return new ClientError("CHAIN_DOUBTED", detail);
}

/** Another chain or contract than the pinned one: asking again changes nothing. */
export class Elsewhere extends ClientError {
  constructor(detail: string) {
    super("CHAIN_DOUBTED", detail);
  }
}

/** What is no answer to that tag, an error of any code or no block, is of a node that does not know it. */
async function finalizedBy(node: JsonRpc, head: Block, signal: AbortSignal | undefined): Promise<number> {
  try {
    const found = await node.ask("eth_getBlockByNumber", ["finalized", false], signal);
    if (found !== null) return blockOf(found).number;
  } catch (error) {
    if (!(error instanceof NodeRefused)) throw error;
  }
  return head.number - FINALIZED_BLOCKS;
}

export const hex = (value: number | bigint): string => `0x${value.toString(16)}`;

function quantity(untrusted: unknown): number {
  const value =
    typeof untrusted === "string" && /^0x[0-9a-f]{1,14}$/i.test(untrusted) ? Number(untrusted) : NaN;
  if (!Number.isSafeInteger(value)) throw doubted("not a number of the chain's");
  return value;
}

function blockOf(untrusted: unknown): Block {
  const { number, hash, timestamp } = (untrusted ?? {}) as Record<string, unknown>;
  const known = asBytes32(hash);
  if (known === undefined) throw doubted("it does not have a block that it should have");
  return { number: quantity(number), hash: known, timestamp: quantity(timestamp) };
}

/** In the chain's order, each within the range, of the pool and not taken back. */
function logsOf(untrusted: unknown, by: Address | undefined, from: number, to: number): PoolLog[] {
  if (!Array.isArray(untrusted)) throw doubted("its logs are no list");
  const logs = untrusted.map((one) => {
    const { address, blockNumber, blockHash, transactionHash, logIndex, topics, data, removed } = (one ??
      {}) as Record<string, unknown>;
    const [hash, txHash] = [asBytes32(blockHash), asBytes32(transactionHash)];
    const isHex = (text: unknown): text is string =>
      typeof text === "string" && /^0x([0-9a-f]{2})*$/i.test(text);
    const contract = asAddress(address);
    if ((by !== undefined && contract !== by) || removed === true)
      throw doubted("a log that is not of the contract that was asked about");
    if (
      contract === undefined ||
      hash === undefined ||
      txHash === undefined ||
      !isHex(data) ||
      !Array.isArray(topics) ||
      !topics.every(isHex)
    )
      throw doubted("a log without its parts");
    const block = quantity(blockNumber);
    if (block < from || block > to) throw doubted("a log of a block that was not asked for");
    return {
      by: contract,
      block,
      blockHash: hash,
      txHash,
      index: quantity(logIndex),
      topics: topics.map((topic) => topic.toLowerCase()),
      data: data.toLowerCase(),
    };
  });
  return logs.sort((a, b) => a.block - b.block || a.index - b.index);
}
