/**
 * Questions to the attesters' public API. They are a stranger's server: each answer is bounded in time and size and read
 * once; none is taken for a sign of money.
 */
import { z } from "zod";

/** Nobody answers: a connection that is refused, 5xx or 429. Says nothing about what was asked. */
export class AttesterUnavailable extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "AttesterUnavailable";
  }
}

/** What was asked is not answered, or not so that it can be used. Says nothing about any other question. */
export class AnswerUnusable extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "AnswerUnusable";
  }
}

const hex = z.string().regex(/^0x([0-9a-fA-F]{2})*$/);
/** Attested. Whatever else is in the list (pending, with nulls, of a form that is not known) is not there yet. */
const message = z.object({ message: hex, attestation: hex, status: z.literal("complete") });
export type AttesterMessage = z.output<typeof message>;

const messages = z.object({ messages: z.array(z.unknown()) });
const fees = z.array(
  z.object({ finalityThreshold: z.number().int(), minimumFee: z.number().min(0).max(10_000) }),
);
export type FeeSchedule = z.output<typeof fees>;

export interface AttesterClient {
  /** Those that are attested, in the order in which the transaction sent them. Also throws AnswerUnusable, as all here do. */
  messagesOf(domain: number, tx: string): Promise<readonly AttesterMessage[]>;
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
/** A burn takes some 3 kB in an answer and 100,000 gas: of no transaction is it longer. */
const MAX_BYTES = 16 << 20;
const TOO_MANY_REQUESTS = 429;

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
      const { status } = response;
      if (status >= 500 || status === TOO_MANY_REQUESTS)
        throw new AttesterUnavailable(`the attester answered ${String(status)}`);
      return { status, text: await bounded(response, maxBytes) };
    } catch (cause) {
      if (cause instanceof AttesterUnavailable) throw cause;
      if (giveUp.signal.aborted) throw new AnswerUnusable("the attester did not answer in time", { cause });
      if (cause instanceof TooLong) throw new AnswerUnusable(cause.message);
      throw new AttesterUnavailable("the attester did not answer", { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  async function read<T>(schema: z.ZodType<T>, path: string): Promise<T | undefined> {
    const { status, text } = await ask("GET", path);
    if (status === 404) return undefined;
    if (status !== 200) throw new AnswerUnusable(`the attester answered ${String(status)}`);
    const parsed = schema.safeParse(parseJson(text));
    if (!parsed.success) throw new AnswerUnusable("the attester's answer has another form");
    return parsed.data;
  }

  return {
    async messagesOf(domain, tx) {
      const path = `/v2/messages/${String(domain)}?transactionHash=${encodeURIComponent(tx)}`;
      const found = (await read(messages, path))?.messages ?? [];
      return found.flatMap((one) => message.safeParse(one).data ?? []);
    },
    async reattest(nonce) {
      const { status } = await ask("POST", `/v2/reattest/${encodeURIComponent(nonce)}`);
      return status === 200;
    },
    fees: (source, destination) => read(fees, `/v2/burn/USDC/fees/${String(source)}/${String(destination)}`),
  };
}

class TooLong extends Error {}

async function bounded(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const bytes = chunk as Uint8Array;
    size += bytes.length;
    if (size > maxBytes) throw new TooLong("an answer that is too long");
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
