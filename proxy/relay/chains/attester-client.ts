/**
 * Questions to the attesters' public API. They are a stranger's server: each answer is bounded in time and size and read
 * once; none is taken for a sign of money.
 */
import { z } from "zod";

/** Nobody answered, or not as documented. Says nothing about the message. */
export class AttesterUnavailable extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "AttesterUnavailable";
  }
}

const hex = z.string().regex(/^0x([0-9a-fA-F]{2})*$/);
const message = z.object({
  message: hex,
  attestation: z.union([hex, z.literal("PENDING")]),
  eventNonce: z.string(),
  status: z.enum(["pending_confirmations", "complete"]),
});
export type AttesterMessage = z.output<typeof message>;

const messages = z.object({ messages: z.array(message).max(64) });
const fees = z.array(
  z.object({ finalityThreshold: z.number().int(), minimumFee: z.number().min(0).max(10_000) }),
);
export type FeeSchedule = z.output<typeof fees>;

export interface AttesterClient {
  /** In the order in which the transaction sent them; undefined while none is known. */
  messagesOf(domain: number, tx: string): Promise<readonly AttesterMessage[] | undefined>;
  /** Asks for a message to be attested again. False when it is not to be: unknown, or final already. */
  reattest(nonce: string): Promise<boolean>;
  /** Minimum fees in basis points, by finality threshold; undefined for a way that is not offered. */
  fees(source: number, destination: number): Promise<FeeSchedule | undefined>;
}

export interface AttesterOptions {
  readonly url: string;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 1 << 20;

export function createAttesterClient({
  url,
  timeoutMs = TIMEOUT_MS,
  maxBytes = MAX_BYTES,
}: AttesterOptions): AttesterClient {
  async function ask(method: "GET" | "POST", path: string): Promise<{ status: number; text: string }> {
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), timeoutMs);
    try {
      const response = await fetch(new URL(path, url), {
        ...{ method, redirect: "error", signal: giveUp.signal },
        headers: { Accept: "application/json" },
      });
      return { status: response.status, text: await bounded(response, maxBytes) };
    } catch (cause) {
      throw new AttesterUnavailable("the attester did not answer", { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  async function read<T>(schema: z.ZodType<T>, path: string): Promise<T | undefined> {
    const { status, text } = await ask("GET", path);
    if (status === 404) return undefined;
    if (status !== 200) throw new AttesterUnavailable(`the attester answered ${String(status)}`);
    const parsed = schema.safeParse(parseJson(text));
    if (!parsed.success) throw new AttesterUnavailable("the attester's answer has another form");
    return parsed.data;
  }

  return {
    async messagesOf(domain, tx) {
      const path = `/v2/messages/${String(domain)}?transactionHash=${encodeURIComponent(tx)}`;
      return (await read(messages, path))?.messages;
    },
    async reattest(nonce) {
      const { status } = await ask("POST", `/v2/reattest/${encodeURIComponent(nonce)}`);
      if (status === 200) return true;
      if (status >= 400 && status < 500 && status !== 429) return false;
      throw new AttesterUnavailable(`the attester answered ${String(status)}`);
    },
    fees: (source, destination) => read(fees, `/v2/burn/USDC/fees/${String(source)}/${String(destination)}`),
  };
}

async function bounded(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > maxBytes) throw new Error("an answer that is too long");
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
