/**
 * Questions to one chain node over JSON-RPC 2.0, by fetch, so that a page can ask, too. Every question ends in time, and
 * no answer fills the memory. What is answered is the node's word: ./nodes.ts and ./history.ts decide what is believed.
 */
import { delay } from "../base/aborting.ts";
import { boundedBody } from "../base/bounded-body.ts";
import { ClientError } from "../base/errors.ts";
import { readBaseUrl, shownUrl } from "../base/reaching.ts";

/** The node answered, with an error: a range of logs that is too long, or a call that reverts. */
export class NodeRefused extends Error {
  /** Revert data of a call; undefined where there is none. */
  readonly data: string | undefined;
  constructor(message: string, data: string | undefined) {
    super(message);
    this.data = data;
  }
  /** The contract's word; else the node's own, of a block that it lacks or of too many questions. */
  get isRevert(): boolean {
    return /revert/i.test(this.message) || /^(0x|revert)/i.test(this.data ?? "");
  }
}

export interface JsonRpc {
  /** Without path and query, where a provider's key may be. */
  readonly shownAs: string;
  /** Throws NODE_UNREACHABLE, NodeRefused, or the signal's reason. */
  ask(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<unknown>;
}

export interface JsonRpcOptions {
  readonly fetch?: typeof fetch | undefined;
  readonly timeoutMs?: number | undefined;
}

const TIMEOUT_MS = 20_000;
/** A question changes nothing, so it is asked again. */
const TRIES = 4;
const FIRST_PAUSE_MS = 250;
const MAX_ANSWER_BYTES = 32 << 20;
/** Characters of what a node says about a refusal. */
const MOST_OF_AN_ERROR = 300;

/** Throws OPTIONS_INVALID at once for what is no address. */
export function createJsonRpc(url: string, options: JsonRpcOptions = {}): JsonRpc {
  const { timeoutMs = TIMEOUT_MS } = options;
  const send: typeof fetch = async (input, init) => (options.fetch ?? fetch)(input, init);
  // A provider's key may be a part of the address, also of its query.
  if (typeof url !== "string" || !URL.canParse(url)) readBaseUrl(url, "rpc");
  readBaseUrl(url.replace(/[?#].*$/, ""), "rpc");
  const { origin } = new URL(shownUrl(url));

  async function once(body: string, signal: AbortSignal | undefined): Promise<unknown> {
    const ending = new AbortController();
    const leave = (): void => ending.abort(signal?.reason);
    const timer = setTimeout(() => ending.abort(new DOMException("no answer", "TimeoutError")), timeoutMs);
    signal?.addEventListener("abort", leave, { once: true });
    try {
      signal?.throwIfAborted();
      const headers = { "Content-Type": "application/json" };
      const response = await send(url, { method: "POST", headers, body, signal: ending.signal });
      const length = Number(response.headers.get("content-length") ?? "") || MAX_ANSWER_BYTES;
      const most =
        response.headers.get("content-encoding") === null
          ? Math.min(length, MAX_ANSWER_BYTES)
          : MAX_ANSWER_BYTES;
      const bytes = await boundedBody(response, most, ending.signal, () => undefined);
      ending.signal.throwIfAborted();
      if (bytes === undefined) throw new Error("its answer is too long");
      return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", leave);
    }
  }

  return {
    shownAs: origin,
    async ask(method, params, signal) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      for (let attempt = 1; ; attempt++) {
        try {
          return resultOf(await once(body, signal));
        } catch (error) {
          signal?.throwIfAborted();
          if (error instanceof NodeRefused) throw error;
          if (attempt === TRIES)
            throw new ClientError("NODE_UNREACHABLE", `${origin}: ${method}`, { cause: error });
          await delay(FIRST_PAUSE_MS * 2 ** (attempt - 1), signal);
        }
      }
    },
  };
}

function resultOf(answer: unknown): unknown {
  const { result, error } = (answer ?? {}) as { result?: unknown; error?: unknown };
  if (typeof error === "object" && error !== null) {
    const { message, data } = error as { message?: unknown; data?: unknown };
    const text = typeof message === "string" ? message.slice(0, MOST_OF_AN_ERROR) : "an error without a word";
    throw new NodeRefused(text, typeof data === "string" ? data : undefined);
  }
  if (result === undefined) throw new Error("an answer without a result");
  return result;
}
