/**
 * The watcher's own chain node over JSON-RPC. A node that is unreachable or overloaded is asked again, later and
 * later; what it answers is read strictly, and judged elsewhere against what else it answers.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { ChainUnreachable, createJsonRpc } from "../../proxy/base/chain/json-rpc.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { asAddress, asBytes32, fromHex } from "../../shared/protocol/host/text.ts";

/** What one of the protocol's own readers takes. */
function readBy<T>(read: (value: unknown) => T | undefined) {
  return z.unknown().transform((value, context): T => {
    const found = read(value);
    if (found !== undefined) return found;
    context.addIssue("of another form");
    return z.NEVER;
  });
}

const address = readBy(asAddress);
const hash32 = readBy(asBytes32);
const bytes = z.string().refine((text) => fromHex(text) !== undefined);
/** Block numbers, times and log indices: all far below 2^53. */
const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,13}$/)
  .transform(Number);
/** Undefined where a contract is made. */
const target = z.unknown().transform(asAddress).optional();

const header = z.object({
  number: quantity,
  hash: hash32,
  parentHash: hash32,
  /** Unix seconds. */
  timestamp: quantity,
});
export type Header = z.infer<typeof header>;

const log = z
  .object({
    address,
    topics: z.array(bytes),
    data: bytes,
    blockNumber: quantity,
    blockHash: hash32,
    transactionHash: hash32,
    logIndex: quantity,
  })
  .transform(({ transactionHash, ...rest }) => ({ ...rest, txHash: transactionHash }));
export type Log = z.infer<typeof log>;

const transaction = z.object({
  /** Null until it is mined. */
  blockHash: hash32.nullable(),
  to: target,
  input: bytes,
});
export type ChainTransaction = z.infer<typeof transaction> & { readonly hash: Bytes32 };

const receipt = z.object({ logs: z.array(log) });

/** One call inside a transaction, as the `callTracer` of debug_traceTransaction tells it. */
export interface Frame {
  readonly type: string;
  readonly to?: Address | undefined;
  readonly input: string;
  /** It was undone, with all that it called. */
  readonly isReverted: boolean;
  readonly calls: readonly Frame[];
}

const frame: z.ZodType<Frame> = z
  .object({
    type: z.string().catch(""),
    to: target,
    input: bytes,
    error: z.unknown().optional(),
    get calls() {
      return z.array(frame).nullish();
    },
  })
  .transform(({ error, calls, ...rest }) => ({
    ...rest,
    isReverted: error !== undefined && error !== null,
    calls: calls ?? [],
  }));

export interface NodeOptions {
  /** Times that a question is asked before the node counts as unreachable. */
  readonly attempts?: number;
  /** Wait before the second attempt; doubles with each. */
  readonly firstDelayMs?: number;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 60_000;
const MAX_DELAY_MS = 15_000;
/** Of an answer: logs of many blocks, or a trace with the input of every call. */
const MAX_ANSWER_BYTES = 256 << 20;

export type ChainNode = ReturnType<typeof connectNode>;

/** Every question may throw ChainUnreachable, which says nothing about the chain, or ChainRefused. */
export function connectNode(url: string, { attempts = 6, firstDelayMs = 250, signal }: NodeOptions = {}) {
  const send = createJsonRpc(url, { timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES, signal });
  // One listener a question under way, and a block's transactions are asked for together.
  if (signal !== undefined) setMaxListeners(0, signal);

  async function ask<T>(form: z.ZodType<T>, method: string, ...params: readonly unknown[]): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { data, error } = form.safeParse(await send(method, params));
        if (error !== undefined)
          throw new ChainUnreachable(`${method} was answered in another form`, { cause: error });
        return data;
      } catch (error) {
        if (!(error instanceof ChainUnreachable) || attempt >= attempts || signal?.aborted === true)
          throw error;
        await pause(Math.min(firstDelayMs * 2 ** (attempt - 1), MAX_DELAY_MS), signal);
      }
    }
  }

  return {
    chainId: async (): Promise<bigint> => BigInt(await ask(quantity, "eth_chainId")),
    header: (at: number | "latest"): Promise<Header | undefined> =>
      ask(orNothing(header), "eth_getBlockByNumber", at === "latest" ? at : hex(at), false),
    /** In order of the chain. */
    async logs(of: Address, fromBlock: number, toBlock: number): Promise<Log[]> {
      const filter = { address: of, fromBlock: hex(fromBlock), toBlock: hex(toBlock) };
      const logs = await ask(z.array(log), "eth_getLogs", filter);
      const isAskedFor = ({ address: from, blockNumber }: Log): boolean =>
        from === of && blockNumber >= fromBlock && blockNumber <= toBlock;
      if (!logs.every(isAskedFor))
        throw new ChainUnreachable("eth_getLogs was answered with logs that were not asked for");
      return logs.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    },
    async transaction(hash: Bytes32): Promise<ChainTransaction | undefined> {
      const found = await ask(orNothing(transaction), "eth_getTransactionByHash", hash);
      return found && { ...found, hash };
    },
    /** All logs of a mined transaction, whoever wrote them. */
    logsOf: async (hash: Bytes32): Promise<Log[] | undefined> =>
      (await ask(orNothing(receipt), "eth_getTransactionReceipt", hash))?.logs,
    trace: (hash: Bytes32): Promise<Frame> =>
      ask(frame, "debug_traceTransaction", hash, { tracer: "callTracer" }),
    call: (to: Address, data: string, at: number): Promise<string> =>
      ask(bytes, "eth_call", { to, data }, hex(at)),
  };
}

/** A node says null where there is nothing. */
function orNothing<T>(form: z.ZodType<T>): z.ZodType<T | undefined> {
  return form.nullable().transform((found) => found ?? undefined);
}

/** Ends early, and quietly, with the signal. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { ...(signal && { signal }) }).catch(() => undefined);
}

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
