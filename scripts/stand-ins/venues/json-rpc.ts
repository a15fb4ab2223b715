// JSON-RPC of any chain over HTTP, as the local venues read it: every answer is parsed, an error of the node is an
// error here, and nothing waits for ever.
import { z } from "zod";

const reply = z.object({
  result: z.unknown(),
  error: z.object({ code: z.int(), message: z.string() }).nullish(),
});

/** The node is away, or refuses. */
export class RpcError extends Error {
  constructor(method: string, detail: string, options?: ErrorOptions) {
    super(`${method}: ${detail}`, options);
    this.name = "RpcError";
  }
}

export class JsonRpc {
  readonly #url: string;
  readonly #timeoutMs: number;
  #id = 0;

  constructor(url: string, timeoutMs = 10_000) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** Throws RpcError, also for an answer of another shape. */
  async call<S extends z.ZodType>(
    shape: S,
    method: string,
    params: readonly unknown[],
  ): Promise<z.output<S>> {
    const read = reply.safeParse(await this.#post(method, params));
    if (!read.success) throw new RpcError(method, "no JSON-RPC");
    const { result, error } = read.data;
    if (error !== undefined && error !== null) throw new RpcError(method, error.message);
    const parsed = shape.safeParse(result);
    if (!parsed.success) throw new RpcError(method, "an answer of another shape");
    return parsed.data;
  }

  async #post(method: string, params: readonly unknown[]): Promise<unknown> {
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: ++this.#id, method, params }),
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      return await response.json();
    } catch (cause) {
      throw new RpcError(method, "no answer", { cause });
    }
  }
}

/** `0x1f` as nodes write numbers that are exact in a double. */
export const quantity = z
  .string()
  .regex(/^0x[0-9a-f]{1,13}$/)
  .transform((text) => Number(text));
