/**
 * Questions to the chain's node over JSON-RPC 2.0, on connections that stay open. The node may be unreachable, late or
 * lying about how much it will say: every question ends in time, and no answer fills our memory.
 */
import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { RpcOutcome } from "../observe/metrics.ts";

/** The node could not be asked, or its answer was no answer. Says nothing about the question. */
export class ChainUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ChainUnreachable";
  }
}

/** It answers, and does not take this question now: nothing was decided, it is asked again. */
export class ChainBusy extends ChainUnreachable {}

/** The node answered, with an error. */
export class ChainRefused extends Error {
  readonly code: number;
  /** Revert data of a call, `0x` when there is none. */
  readonly data: string;

  constructor(code: number, message: string, data: string) {
    super(message);
    this.name = "ChainRefused";
    this.code = code;
    this.data = data;
  }
}

/** The `result` of the answer. Throws ChainUnreachable or ChainRefused. */
export type JsonRpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

export interface JsonRpcOptions {
  readonly timeoutMs?: number;
  /** Ends every question under way, and every later one, with ChainUnreachable: for a stop that waits for no node. */
  readonly signal?: AbortSignal | undefined;
  readonly maxAnswerBytes?: number;
  /** Told of each question how it went. */
  readonly onAsked?: (method: string, outcome: RpcOutcome, secs: number) => void;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** HTTP: too many requests; and what a balancer says whose nodes are away or late. */
const BUSY = [429, 502, 503, 504];
/** Logs of one whole block cannot be half as long: 60 million gas buy 7.5 MB of log data, twice that in hex. */
const MAX_ANSWER_BYTES = 64 << 20;

export function createJsonRpc(
  url: string,
  { timeoutMs = DEFAULT_TIMEOUT_MS, signal, maxAnswerBytes = MAX_ANSWER_BYTES, onAsked }: JsonRpcOptions = {},
): JsonRpc {
  const ask = createAsking(new URL(url), maxAnswerBytes);
  let lastId = 0;

  const send: JsonRpc = async (method, params) => {
    const id = ++lastId;
    let reply: unknown;
    // By hand: in Node 20 the collector may take AbortSignal.any away before its timeout fires (tried with
    // 20.20.2), and a question to a silent node would then never end. Until that is fixed in our Node.
    const giveUp = new AbortController();
    const abort = (): void => giveUp.abort();
    const timer = setTimeout(abort, timeoutMs);
    signal?.addEventListener("abort", abort);
    try {
      signal?.throwIfAborted();
      const question = JSON.stringify({ jsonrpc: "2.0", id, method, params });
      const { status, text } = await ask(question, giveUp.signal);
      // Some nodes answer an error of the call with a 4xx and the JSON-RPC body all the same.
      reply = text.startsWith("{") ? JSON.parse(text) : undefined;
      if (status !== 200 && errorOf(reply) === undefined) {
        const what = `HTTP ${String(status)}`;
        throw BUSY.includes(status) ? new ChainBusy(`${method}: ${what}`) : new Error(what);
      }
    } catch (cause) {
      if (cause instanceof ChainBusy) throw cause;
      throw new ChainUnreachable(`${method} was not answered`, { cause });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    const error = errorOf(reply);
    if (error !== undefined) throw error;
    if (typeof reply !== "object" || reply === null || !("result" in reply)) {
      throw new ChainUnreachable(`${method} was answered without a result`);
    }
    return reply.result;
  };

  return async (method, params) => {
    const startedAt = performance.now();
    let outcome: RpcOutcome = "unreachable";
    try {
      const result = await send(method, params);
      outcome = "answered";
      return result;
    } catch (error) {
      if (error instanceof ChainRefused) outcome = "refused";
      throw error;
    } finally {
      onAsked?.(method, outcome, (performance.now() - startedAt) / 1000);
    }
  };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

type Ask = (question: string, signal: AbortSignal) => Promise<Answer>;

function createAsking(target: URL, maxBytes: number): Ask {
  const isTls = target.protocol === "https:";
  const agent = isTls ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const open = isTls ? httpsRequest : httpRequest;

  const askOnce = (question: string, signal: AbortSignal): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const terms: RequestOptions = {
        method: "POST",
        headers: { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(question) },
        agent,
        signal,
      };
      const request = open(target, terms, (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > maxBytes) request.destroy(new Error(`an answer of more than ${String(maxBytes)} bytes`));
          else chunks.push(chunk);
        });
        response.once("end", () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") }),
        );
        response.once("error", reject);
      });
      request.once("error", (error: NodeJS.ErrnoException) =>
        reject(request.reusedSocket && error.code === "ECONNRESET" ? new ClosedMeanwhile() : error),
      );
      request.end(question);
    });

  return async (question, signal) => {
    for (;;) {
      try {
        return await askOnce(question, signal);
      } catch (error) {
        // Each try uses up one connection that was left open. Asking twice does no harm: whatever we ask is a
        // question, or a signed transaction, which a node takes once.
        if (!(error instanceof ClosedMeanwhile)) throw error;
      }
    }
  };
}

/** The node closed a connection that it had left open, just when we used it. */
class ClosedMeanwhile extends Error {}

function errorOf(reply: unknown): ChainRefused | ChainUnreachable | undefined {
  if (typeof reply !== "object" || reply === null || !("error" in reply)) return undefined;
  const { code, message, data } = Object(reply.error) as Readonly<Record<string, unknown>>;
  const text = typeof message === "string" ? message : "the node gave no reason";
  // -32005 and 429 mean "too many requests": nothing was decided, ask again.
  if (code === -32005 || code === 429) return new ChainBusy(text);
  return new ChainRefused(typeof code === "number" ? code : 0, text, revertData(data));
}

/** Nodes put revert data into `error.data`, as hex or inside another object. */
function revertData(data: unknown): string {
  if (typeof data === "string") return /0x[0-9a-fA-F]*/.exec(data)?.[0] ?? "0x";
  if (typeof data === "object" && data !== null && "data" in data) return revertData(data.data);
  return "0x";
}
