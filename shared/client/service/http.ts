/**
 * One HTTP exchange with the service: credential, session renewal, and retries where a second try cannot
 * do anything twice (GET, and POST under an Idempotency-Key). Answers are untrusted until their schema
 * has passed.
 */
import { API_VERSION, type Endpoint } from "../../api/endpoints.ts";
import { delay, orAborted } from "../base/aborting.ts";
import { boundedBody } from "../base/bounded-body.ts";
import { ApiProblem, ClientError, hasCode, isNotTaken } from "../base/errors.ts";
import { isSilence, readBaseUrl, shownUrl, silenceFor, unreachable } from "../base/reaching.ts";
import type { CredentialSource } from "./session.ts";

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** `sent` is false from the start of a call until its first byte may have left; undefined says nothing. */
export interface Delivery {
  sent?: boolean;
  /** Whether some try ended with anything but the service's own word that it took nothing. */
  isOpen?: boolean;
  /** Awaited once, directly before the first byte; where it throws, nothing is sent and its error is the call's. */
  beforeSending?(): Promise<void>;
}

export interface Call extends CallOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
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
  /** Longest silence of the service before an answer and within it, in milliseconds. Default 30 s; then NETWORK. */
  readonly answerMs?: number;
  /** For tests: how to wait. */
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export class Transport {
  readonly #options: TransportOptions;
  readonly baseUrl: string;
  readonly credential: CredentialSource;
  // Async, so that what a fetch of the application's own throws at once is a failed request like any other.
  readonly fetch: typeof globalThis.fetch;
  readonly #tries: number;
  readonly #maxWaitMs: number;
  readonly answerMs: number;
  readonly #wait: (ms: number, signal?: AbortSignal) => Promise<void>;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.credential = options.credential;
    this.baseUrl = readBaseUrl(options.baseUrl, "baseUrl");
    this.fetch = async (input, init) => (this.#options.fetch ?? globalThis.fetch)(input, init);
    this.#tries = options.tries ?? 4;
    this.#maxWaitMs = options.maxWaitMs ?? 60_000;
    this.answerMs = options.answerMs ?? 30_000;
    this.#wait = options.wait ?? delay;
  }

  /** For a stream that never opened: as for any GET. */
  pauseAfter(error: unknown, attempt: number) {
    return this.#pauseAfter(error, attempt, false);
  }

  async call<T>(endpoint: Endpoint, call: Call = {}): Promise<T> {
    const { idempotencyKey, delivery, onlyAsks, signal } = call;
    if (delivery !== undefined) Object.assign(delivery, { sent: false, isOpen: false });
    const isKeyed = idempotencyKey !== undefined;
    const isRepeatable = endpoint.method === "GET" || isKeyed || onlyAsks === true;
    for (let attempt = 1; ; attempt++) {
      try {
        return (await this.#withSession(endpoint, call)) as T;
      } catch (error) {
        if (delivery !== undefined && !isNotTaken(error)) delivery.isOpen = true;
        const pause = isRepeatable ? this.#pauseAfter(error, attempt, isKeyed) : undefined;
        if (pause === undefined) throw error;
        await this.#wait(pause, signal);
      }
    }
  }

  async #exchange(endpoint: Endpoint, call: Call, token: string | undefined): Promise<unknown> {
    const { packed, signal, delivery } = call;
    const url = urlOf(this.baseUrl, endpoint.path, call);
    const body = call.body === undefined ? undefined : jsonOf(call.body, endpoint);
    signal?.throwIfAborted();
    if (delivery !== undefined && delivery.sent !== true) {
      await delivery.beforeSending?.();
      signal?.throwIfAborted();
      delivery.sent = true;
    }
    const patience = new Patience(this.answerMs, signal);
    const over = <T>(work: Promise<T>): Promise<T> => overNetwork(work, patience, endpoint.method, url);
    try {
      const init: RequestInit = {
        method: endpoint.method,
        headers: {
          Accept: packed === undefined ? "application/json" : endpoint.packedType!,
          "API-Version": API_VERSION,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
          ...(call.idempotencyKey === undefined ? {} : { "Idempotency-Key": call.idempotencyKey }),
          ...this.credential.headers,
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        },
        // A redirect could carry the credential to another host.
        redirect: "error",
        signal: patience.signal,
        ...(body === undefined ? {} : { body }),
      };
      const response = await over(this.fetch(url, init));
      patience.restart();
      if (packed !== undefined && response.ok) {
        const reading = boundedBody(response, packed.maxBytes, patience.signal, () => patience.restart());
        const bytes = await over(reading);
        signal?.throwIfAborted();
        // What an intermediary put in the place of the service's answer is none.
        const isPacked = response.status === 200 && mediaType(response) === endpoint.packedType;
        if (!isPacked || bytes === undefined) throw unexpected(response, url);
        return bytes;
      }
      return readAnswer(endpoint, response, await over(response.text()), url);
    } finally {
      patience.end();
    }
  }

  /** One exchange; on SESSION_EXPIRED a second one with a new token, as the specification says, and no third. */
  async #withSession(endpoint: Endpoint, call: Call): Promise<unknown> {
    for (let hasRenewed = false; ; hasRenewed = true) {
      const token = await orAborted(this.credential.token(), call.signal);
      try {
        return await this.#exchange(endpoint, call, token);
      } catch (error) {
        const expired = hasCode(error, "SESSION_EXPIRED");
        // Not kept after the second one either: the next call asks the provider instead of failing with this token first.
        if (!expired || !this.credential.expire(token) || hasRenewed) throw error;
      }
    }
  }

  /** How long to wait before what failed for the `attempt`th time is sent again; undefined: not again. */
  #pauseAfter(error: unknown, attempt: number, isKeyed: boolean): number | undefined {
    // Who keeps silent once does so again; only where money is at stake is it worth another look.
    if (attempt >= this.#tries || (isSilence(error) && !isKeyed)) return undefined;
    const pause = pauseBefore(error, attempt);
    return pause !== undefined && pause <= this.#maxWaitMs ? pause : undefined;
  }
}

/** Ends an exchange when its caller leaves, and when the other side keeps silent for too long. */
export class Patience {
  readonly #ending = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #leave = (): void => this.#ending.abort(this.#caller?.reason);
  #ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, caller: AbortSignal | undefined) {
    this.#ms = ms;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#leave, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }
  /** The caller's own reason, if that is why it ended. */
  throwIfLeft(): void {
    this.#caller?.throwIfAborted();
  }
  /** Begins to wait again, from now on for so long. */
  restart(ms = this.#ms): void {
    this.#ms = ms;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ending.abort(silenceFor(ms)), ms);
  }
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#leave);
    this.#ending.abort();
  }
}

/** NETWORK for what did not come, unless the caller has left. */
export async function overNetwork<T>(
  work: Promise<T>,
  patience: Patience,
  method: string,
  url: string,
): Promise<T> {
  try {
    // Not left to fetch alone: Node 20 forgets the tie between signal and body once its own request is collected.
    return await orAborted(work, patience.signal);
  } catch (cause) {
    patience.throwIfLeft();
    const { signal } = patience;
    throw unreachable(method, url, signal.aborted ? signal.reason : cause);
  }
}

function jsonOf(body: unknown, { path }: Endpoint): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    throw new ClientError("OPTIONS_INVALID", `the body for ${path} is no JSON: amounts are decimal strings`, {
      cause,
    });
  }
}

/** How long to wait before the same request again; undefined when that is pointless. */
function pauseBefore(error: unknown, attempt: number): number | undefined {
  const backOff = backOffMs(attempt);
  if (error instanceof ApiProblem) {
    // SESSION_EXPIRED had its one retry; ROOT_UNKNOWN and ROUTE_UNAVAILABLE need another request, not the same.
    const again = error.status === 429 || error.status >= 500 || error.code === "IDEMPOTENCY_IN_PROGRESS";
    return again ? Math.max(error.retryAfterMs ?? 0, backOff) : undefined;
  }
  return hasCode(error, "NETWORK") ? backOff : undefined;
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
    if (value !== undefined) query.set(name, String(value));
  const search = query.toString();
  return `${baseUrl}${filled}${search === "" ? "" : `?${search}`}`;
}

/** Turns an answer into its typed body, or throws what it says. */
export function readAnswer(endpoint: Endpoint, response: Response, text: string, url: string): unknown {
  const json = parseJson(text);
  const parsed = endpoint.responses[response.status]?.safeParse(json);
  if (parsed?.success === true) return parsed.data;
  // A 503 of /health is an answer; a 503 of a limiter before it is a problem.
  throw (
    ApiProblem.from(json, response.status, retryAfterMs(response.headers.get("retry-after"))) ??
    unexpected(response, url)
  );
}

export function mediaType(response: Response): string | undefined {
  return response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
}

/** A page in the place of an answer is what a wrong address gives, most often a development server's own. */
export function unexpected(response: Response, url: string): ClientError {
  const type = mediaType(response);
  const what = type === undefined || !/^[a-z]+\/[a-z0-9.+-]{1,40}$/.test(type) ? "" : ` ${type}`;
  const hint = type === "text/html" ? "; is this the service's address?" : "";
  return new ClientError(
    "UNEXPECTED_ANSWER",
    `status ${response.status}${what} from ${shownUrl(url)}${hint}`,
  );
}

/** Seconds, or an HTTP date (RFC 9110, section 10.2.3). */
export function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
