/**
 * The watcher's own chain node over JSON-RPC. A node that is unreachable or overloaded is asked again, later and
 * later; what it answers is read strictly, and judged elsewhere against what else it answers.
 */
import { setMaxListeners } from "node:events";
import { asAddress, asBytes32, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { fromHex } from "../../../shared/protocol/bytes.ts";

export interface Header {
  readonly number: number;
  readonly hash: Bytes32;
  readonly parentHash: Bytes32;
  /** Unix seconds. */
  readonly timestamp: number;
}

export interface Log {
  readonly address: Address;
  readonly topics: readonly string[];
  readonly data: string;
  readonly blockNumber: number;
  readonly blockHash: Bytes32;
  readonly txHash: Bytes32;
  readonly logIndex: number;
}

export interface ChainTransaction {
  readonly hash: Bytes32;
  readonly blockHash: Bytes32;
  /** Undefined when it made a contract. */
  readonly to: Address | undefined;
  readonly input: string;
}

/** One call inside a transaction, as the `callTracer` of debug_traceTransaction tells it. */
export interface Frame {
  readonly type: string;
  readonly to: Address | undefined;
  readonly input: string;
  /** It was undone, with all that it called. */
  readonly isReverted: boolean;
  readonly calls: readonly Frame[];
}

/** No answer, or none that can be read, however often it was asked. Says nothing about the chain. */
export class NodeUnreachable extends Error {}

/** The node answered, with an error. */
export class NodeRefused extends Error {}

export interface ChainNode {
  chainId(): Promise<bigint>;
  header(at: number | "latest"): Promise<Header | undefined>;
  /** In order of the chain. */
  logs(address: Address, fromBlock: number, toBlock: number): Promise<Log[]>;
  transaction(hash: Bytes32): Promise<ChainTransaction | undefined>;
  /** All logs of a mined transaction, whoever wrote them. */
  logsOf(hash: Bytes32): Promise<Log[] | undefined>;
  trace(hash: Bytes32): Promise<Frame>;
  call(to: Address, data: string, at: number): Promise<string>;
}

export interface NodeOptions {
  /** Times that a question is asked before the node counts as unreachable. */
  readonly attempts?: number;
  /** Wait before the second attempt; doubles with each. */
  readonly firstDelayMs?: number;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 60_000;
const MAX_DELAY_MS = 15_000;

export function connectNode(
  url: string,
  { attempts = 6, firstDelayMs = 250, signal }: NodeOptions = {},
): ChainNode {
  let lastId = 0;
  // One listener a question under way, and a block's transactions are asked for together.
  if (signal !== undefined) setMaxListeners(0, signal);

  async function askOnce(method: string, params: readonly unknown[]): Promise<unknown> {
    const giveUp = new AbortController();
    const abort = (): void => giveUp.abort();
    const timer = setTimeout(abort, TIMEOUT_MS);
    signal?.addEventListener("abort", abort);
    try {
      signal?.throwIfAborted();
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: ++lastId, method, params }),
        signal: giveUp.signal,
      });
      const text = await response.text();
      // Some nodes answer an error of the call with a 4xx and the JSON-RPC body all the same.
      const reply = text.startsWith("{") ? record(JSON.parse(text)) : undefined;
      const error = reply?.["error"];
      if (error !== undefined && error !== null) throw refusal(method, error);
      if (reply === undefined || !response.ok || !("result" in reply)) {
        throw new NodeUnreachable(`${method} was answered with HTTP ${response.status} and no result`);
      }
      return reply["result"];
    } catch (cause) {
      if (cause instanceof NodeRefused || cause instanceof NodeUnreachable) throw cause;
      throw new NodeUnreachable(`${method} was not answered`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  async function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await askOnce(method, params);
      } catch (error) {
        if (!(error instanceof NodeUnreachable) || attempt >= attempts || signal?.aborted === true)
          throw error;
        await pause(Math.min(firstDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS), signal);
      }
    }
  }

  return {
    chainId: async () => BigInt(quantity(await ask("eth_chainId"))),
    async header(at) {
      const block = await ask("eth_getBlockByNumber", at === "latest" ? at : hex(at), false);
      return block === null ? undefined : readHeader(block);
    },
    async logs(address, fromBlock, toBlock) {
      const filter = { address, fromBlock: hex(fromBlock), toBlock: hex(toBlock) };
      const logs = list(await ask("eth_getLogs", filter)).map(readLog);
      if (
        logs.some(
          (log) => log.address !== address || log.blockNumber < fromBlock || log.blockNumber > toBlock,
        )
      ) {
        throw new NodeUnreachable("eth_getLogs was answered with logs that were not asked for");
      }
      return logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    },
    async transaction(hash) {
      const answer = await ask("eth_getTransactionByHash", hash);
      if (answer === null) return undefined;
      const { blockHash, to, input } = record(answer);
      // Not mined, or no longer.
      if (blockHash === null) return undefined;
      return { hash, blockHash: hash32(blockHash), to: target(to), input: hexText(input) };
    },
    async logsOf(hash) {
      const answer = await ask("eth_getTransactionReceipt", hash);
      return answer === null ? undefined : list(record(answer)["logs"]).map(readLog);
    },
    trace: async (hash) => readFrame(await ask("debug_traceTransaction", hash, { tracer: "callTracer" })),
    call: async (to, data, at) => hexText(await ask("eth_call", { to, data }, hex(at))),
  };
}

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

function refusal(method: string, error: unknown): NodeUnreachable | NodeRefused {
  const { code, message } = record(error);
  const text = `${method}: ${typeof message === "string" ? message : "the node gave no reason"}`;
  // "Limit exceeded" (EIP-1474) and its HTTP twin: nothing was decided, ask again.
  return code === -32005 || code === 429 ? new NodeUnreachable(text) : new NodeRefused(text);
}

function readHeader(block: unknown): Header {
  const { number, hash, parentHash, timestamp } = record(block);
  return {
    number: quantity(number),
    hash: hash32(hash),
    parentHash: hash32(parentHash),
    timestamp: quantity(timestamp),
  };
}

function readLog(log: unknown): Log {
  const { address, topics, data, blockNumber, blockHash, transactionHash, logIndex } = record(log);
  const from = asAddress(address);
  if (from === undefined) throw new NodeUnreachable("a log has no address");
  return {
    address: from,
    topics: list(topics).map(hexText),
    data: hexText(data),
    blockNumber: quantity(blockNumber),
    blockHash: hash32(blockHash),
    txHash: hash32(transactionHash),
    logIndex: quantity(logIndex),
  };
}

function readFrame(frame: unknown): Frame {
  const { type, to, input, error, calls } = record(frame);
  return {
    type: typeof type === "string" ? type : "",
    to: target(to),
    input: hexText(input),
    isReverted: error !== undefined && error !== null,
    calls: calls === undefined || calls === null ? [] : list(calls).map(readFrame),
  };
}

function target(to: unknown): Address | undefined {
  return to === undefined || to === null ? undefined : asAddress(to);
}

function record(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new NodeUnreachable("an answer has another form");
  return value as Record<string, unknown>;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new NodeUnreachable("an answer holds no list where one belongs");
  return value as unknown[];
}

function hexText(value: unknown): string {
  if (fromHex(value) === undefined) throw new NodeUnreachable("an answer holds no bytes where some belong");
  return value as string;
}

function hash32(value: unknown): Bytes32 {
  const hash = asBytes32(value);
  if (hash === undefined) throw new NodeUnreachable("an answer holds no hash where one belongs");
  return hash;
}

/** Block numbers, times and log indices: all far below 2^53. */
function quantity(value: unknown): number {
  if (typeof value !== "string" || !/^0x[0-9a-fA-F]{1,13}$/.test(value)) {
    throw new NodeUnreachable("an answer holds no number where one belongs");
  }
  return Number(value);
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
