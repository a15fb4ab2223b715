/**
 * One HTTP exchange with the service: credential, session renewal, and retries where a second try cannot
 * do anything twice (GET, and POST under an Idempotency-Key). Answers are untrusted until their schema
 * has passed.
 */
import type { z } from "zod";
import { API_VERSION, type Endpoint } from "../api/endpoints.ts";
import { boundedBody } from "./bounded-body.ts";
import { ApiProblem, ClientError } from "./errors.ts";
import type { CredentialSource } from "./session.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** `sent` is false from the start of a call until its first byte may have left; undefined says nothing. */
export interface Delivery {
  sent?: boolean;
}

export interface Call extends CallOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly delivery?: Delivery;
  /** A POST that changes nothing, so that it may be sent again like a GET. */
  readonly onlyAsks?: true;
  /** The answer as bytes, in the endpoint's packed form, and no more than so many. */
  readonly packed?: { readonly maxBytes: number };
}

export interface TransportOptions {
  readonly baseUrl: string;
  readonly credential: CredentialSource;
  readonly fetch?: typeof fetch;
  /** Tries for one call, the first included. Default 4. */
  readonly tries?: number;
  /** Longest wait that a `Retry-After` may ask of us, in milliseconds. Default 60 s; above it the problem is thrown. */
  readonly maxWaitMs?: number;
  /** For tests: how to wait. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface Transport {
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  readonly credential: CredentialSource;
  call<T>(endpoint: Endpoint, call: Call): Promise<T>;
}

export function createTransport(options: TransportOptions): Transport {
  const { credential } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const send = options.fetch ?? ((input, init) => fetch(input, init));
  const tries = options.tries ?? 4;
  const maxWaitMs = options.maxWaitMs ?? 60_000;
  const wait = options.wait ?? delay;

  async function exchange(endpoint: Endpoint, call: Call, headers: Record<string, string>): Promise<unknown> {
    const init: RequestInit = {
      method: endpoint.method,
      headers: {
        Accept: call.packed === undefined ? "application/json" : endpoint.packedType!,
        "API-Version": API_VERSION,
        ...(call.body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(call.idempotencyKey === undefined ? {} : { "Idempotency-Key": call.idempotencyKey }),
        ...headers,
      },
      // A redirect could carry the credential to another host.
      redirect: "error",
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    };
    call.signal?.throwIfAborted();
    if (call.delivery !== undefined) call.delivery.sent = true;
    const { packed, signal } = call;
    const response = await network(send(urlOf(baseUrl, endpoint.path, call), init), signal);
    if (packed !== undefined && response.ok) {
      const bytes = await network(boundedBody(response, packed.maxBytes, signal), signal);
      signal?.throwIfAborted();
      return readPacked(endpoint, response, bytes);
    }
    return readAnswer(endpoint, response, await network(response.text(), signal));
  }

  /** One exchange; on SESSION_EXPIRED a second one with a new token, as the specification says, and no third. */
  async function withSession(endpoint: Endpoint, call: Call): Promise<unknown> {
    const first = await abortable(credential.headers(), call.signal);
    try {
      return await exchange(endpoint, call, first.headers);
    } catch (error) {
      const expired = error instanceof ApiProblem && error.code === "SESSION_EXPIRED";
      if (!expired || !credential.expire(first.token)) throw error;
    }
    const second = await abortable(credential.headers(), call.signal);
    try {
      return await exchange(endpoint, call, second.headers);
    } catch (error) {
      // Not kept: the next call asks the provider again instead of failing with this token first.
      if (error instanceof ApiProblem && error.code === "SESSION_EXPIRED") credential.expire(second.token);
      throw error;
    }
  }

  return {
    baseUrl,
    fetch: send,
    credential,
    async call<T>(endpoint: Endpoint, call: Call): Promise<T> {
      if (call.delivery !== undefined) call.delivery.sent = false;
      const repeatable =
        endpoint.method === "GET" || call.idempotencyKey !== undefined || call.onlyAsks === true;
      for (let attempt = 1; ; attempt++) {
        try {
          return (await withSession(endpoint, call)) as T;
        } catch (error) {
          const pause = repeatable && attempt < tries ? pauseAfter(error, attempt) : undefined;
          if (pause === undefined || pause > maxWaitMs) throw error;
          await wait(pause, call.signal);
        }
      }
    },
  };
}

/** What did not come over the network, unless the caller has left. */
async function network<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ClientError("NETWORK", undefined, { cause });
  }
}

/** How long to wait before the same request again; undefined when that is pointless. */
function pauseAfter(error: unknown, attempt: number): number | undefined {
  const backOff = backOffMs(attempt);
  if (error instanceof ApiProblem) {
    // SESSION_EXPIRED had its one retry; ROOT_UNKNOWN and ROUTE_UNAVAILABLE need another request, not the same.
    const again = error.status === 429 || error.status >= 500 || error.code === "IDEMPOTENCY_IN_PROGRESS";
    return again ? Math.max(error.retryAfterMs ?? 0, backOff) : undefined;
  }
  return error instanceof ClientError && error.code === "NETWORK" ? backOff : undefined;
}

/** 0.25 s, 0.5 s, 1 s, … up to 15 s, with up to as much again at random so that clients do not return together. */
export function backOffMs(attempt: number): number {
  const base = Math.min(250 * 2 ** (attempt - 1), 15_000);
  const random = crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32;
  return Math.round(base * (1 + random));
}

export function urlOf(baseUrl: string, path: string, call: Pick<Call, "params" | "query">): string {
  const filled = path.replace(/\{([a-z_]+)\}/g, (_, name: string) =>
    encodeURIComponent(call.params?.[name] ?? ""),
  );
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {}))
    if (value !== undefined) query.set(name, value);
  const search = query.toString();
  return `${baseUrl}${filled}${search === "" ? "" : `?${search}`}`;
}

/** Turns an answer into its typed body, or throws what it says. */
export function readAnswer(endpoint: Endpoint, response: Response, text: string): unknown {
  const schema: z.ZodType | null | undefined = endpoint.responses[response.status];
  const json = parseJson(text);
  if (schema !== undefined && schema !== null) {
    const parsed = schema.safeParse(json);
    if (parsed.success) return parsed.data;
    // A 503 of /health is an answer; a 503 of a limiter before it is a problem.
  }
  throw (
    ApiProblem.from(json, response.status, retryAfterMs(response.headers.get("retry-after"))) ??
    new ClientError("UNEXPECTED_ANSWER", `status ${response.status} from ${endpoint.path}`)
  );
}

/** Of a success. What an intermediary put in the place of the service's answer is none. */
function readPacked(endpoint: Endpoint, response: Response, bytes: Uint8Array | undefined): Uint8Array {
  const type = response.headers.get("content-type")?.split(";")[0]?.trim();
  if (response.status !== 200 || type !== endpoint.packedType || bytes === undefined)
    throw new ClientError("UNEXPECTED_ANSWER", `status ${response.status} from ${endpoint.path}`);
  return bytes;
}

/** Seconds, or an HTTP date (RFC 9110, section 10.2.3). */
export function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The work goes on for others who wait for it; only this caller leaves. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) {
      leave();
      return;
    }
    signal.addEventListener("abort", leave, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return abortable(elapsed, signal).finally(() => clearTimeout(timer));
}
