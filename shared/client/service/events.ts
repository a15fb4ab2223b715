/**
 * The event stream over fetch, in Node and browsers alike: resumes after the last event that its reader
 * has finished with, renews an expired session, backs off when the service is unreachable. Every payload passes
 * its schema before the reader sees it.
 *
 * How long it tries: a stream that has brought no event yet fails like any other request, after a few tries within
 * seconds, since an address or an origin that is wrong stays wrong. One that has brought an event reconnects, and
 * fails with what stood in its way once it was unreachable for `maxAwayMs`. A permanent refusal ends either at once.
 */
import { EVENTS, type EventKind, type StreamEvent } from "../../api/data.ts";
import { ENDPOINTS } from "../../api/endpoints.ts";
import { delay, orAborted } from "../base/aborting.ts";
import { ApiProblem, ClientError } from "../base/errors.ts";
import {
  backOffMs,
  mediaType,
  overNetwork,
  parseJson,
  Patience,
  readAnswer,
  unexpected,
  urlOf,
  type CallOptions,
  type Transport,
} from "./http.ts";
import { shownUrl } from "../base/reaching.ts";
import { SseParser, type SseMessage } from "./sse.ts";

export interface StreamTiming {
  /** A comment comes every 15 s; silence for this long means a dead connection. Default 45 s. */
  readonly silenceMs?: number;
  /** Longest pause between tries. Default 30 s. */
  readonly maxPauseMs?: number;
  /** How long a stream that was open may be unreachable before it fails. Default 2 minutes. */
  readonly maxAwayMs?: number;
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface EventsOptions extends CallOptions {
  /** Resume after this event; none replays everything. */
  readonly from?: string | undefined;
  readonly types?: readonly EventKind[];
}

/** What ended one connection: `expired` needs a new token, `closed` only a new connection. `error` says so if it stays that way. */
interface Ending {
  readonly kind: "closed" | "expired";
  readonly token: string | undefined;
  readonly error: ApiProblem | ClientError;
}

export async function* streamEvents(
  transport: Transport,
  call: EventsOptions,
  timing: StreamTiming = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const { wait = delay, silenceMs = 45_000, maxPauseMs = 30_000, maxAwayMs = 120_000 } = timing;
  let last = call.from;
  let wasOpen = false;
  let failures = 0;
  let awayMs = 0;
  let hasRenewed = false;
  let serverPauseMs = 0;
  while (true) {
    call.signal?.throwIfAborted();
    const began = performance.now();
    let openAt = Infinity;
    let hasMore = false;
    let ending: Ending | undefined;
    let fault: unknown;
    const connection = connect(transport, call, last, silenceMs);
    try {
      while (true) {
        const step = await connection.next();
        if (step.done === true) {
          ending = step.value;
          break;
        }
        const { event, retryMs } = step.value;
        if (retryMs !== undefined) serverPauseMs = retryMs;
        if (event.kind === "ready") openAt = performance.now();
        else hasMore = true;
        yield event;
        // Only now: an event that its reader did not finish is sent again.
        if (event.kind === "reorg") last = event.data.from_id ?? undefined;
        else if (event.id !== undefined) last = event.id;
      }
    } catch (error) {
      call.signal?.throwIfAborted();
      fault = error;
    } finally {
      // A reader that leaves in the middle must not leave the connection open behind it.
      await connection.return(LEFT);
    }
    wasOpen ||= hasMore || openAt !== Infinity;
    // Every stream begins with `ready`; one that brought nothing else is back only if it stayed for a while.
    if (hasMore || performance.now() - openAt > silenceMs) {
      failures = awayMs = 0;
      hasRenewed = false;
    } else awayMs += performance.now() - began;
    if (ending !== undefined) {
      // At most one renewal without any progress in between, like every other request; then it is a failure.
      const mayRenew = ending.kind === "expired" && transport.credential.expire(ending.token) && !hasRenewed;
      if (mayRenew) hasRenewed = true;
      else fault = ending.error;
    }
    let pauseMs = serverPauseMs;
    if (fault !== undefined) {
      failures += 1;
      const after = wasOpen ? pauseWhileUnreachable(fault, failures) : transport.pauseAfter(fault, failures);
      pauseMs = Math.min(Math.max(pauseMs, after ?? 0), maxPauseMs);
      if (after === undefined || awayMs + pauseMs > maxAwayMs) throw fault as Error;
    }
    awayMs += pauseMs;
    await wait(pauseMs, call.signal);
  }
}

/** Of a stream that was open; undefined for what another try does not change. */
function pauseWhileUnreachable(error: unknown, failures: number): number | undefined {
  if (error instanceof ApiProblem) {
    const transient = error.status === 429 || error.status >= 500 || error.code === "SESSION_EXPIRED";
    return transient ? Math.max(error.retryAfterMs ?? 0, backOffMs(failures)) : undefined;
  }
  const isUnreachable = error instanceof ClientError && PASSING.has(error.code);
  return isUnreachable ? backOffMs(failures) : undefined;
}

const PASSING: ReadonlySet<string> = new Set(["NETWORK", "SESSION_PROVIDER_FAILED"]);

/** Only tells a connection to close; nobody reads it. */
const LEFT: Ending = { kind: "closed", token: undefined, error: new ClientError("NETWORK") };

async function* connect(
  transport: Transport,
  call: EventsOptions,
  from: string | undefined,
  silenceMs: number,
): AsyncGenerator<{ event: StreamEvent; retryMs: number | undefined }, Ending, undefined> {
  const { credential } = transport;
  const token = await orAborted(credential.token(), call.signal);
  const { method, path } = ENDPOINTS.events;
  const types = call.types?.join(",");
  const url = urlOf(transport.baseUrl, path, { query: { session: token, from, types } });

  // Closes the connection when the caller leaves, when the server falls silent, and when this generator ends.
  const patience = new Patience(transport.answerMs, call.signal);
  const over = <T>(work: Promise<T>): Promise<T> => overNetwork(work, patience, method, url);
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  try {
    // Nothing here asks a browser for a preflight.
    const accept = { Accept: "text/event-stream", ...credential.headers };
    const init = { headers: accept, signal: patience.signal, redirect: "error", cache: "no-store" } as const;
    const response = await over(transport.fetch(url, init));
    if (response.status !== 200 || response.body === null || mediaType(response) !== "text/event-stream") {
      try {
        readAnswer(ENDPOINTS.events, response, await over(response.text()), url);
      } catch (error) {
        if (error instanceof ApiProblem && error.code === "SESSION_EXPIRED")
          return { kind: "expired", token, error };
        throw error;
      }
      throw unexpected(response, url);
    }
    const parser = new SseParser();
    const decoder = new TextDecoder();
    reader = (response.body as ReadableStream<Uint8Array>).getReader();
    while (true) {
      const chunk = await over(reader.read());
      patience.restart(silenceMs);
      if (chunk.done) return { kind: "closed", token, error: ended(url) };
      for (const message of pushInto(parser, decoder.decode(chunk.value, { stream: true }))) {
        const event = readEvent(message);
        if (event?.kind === "session_expired") {
          const error = new ClientError("SESSION_PROVIDER_FAILED", "its new token had expired, too");
          return { kind: "expired", token, error };
        }
        // What a request with it is answered, the next connection receives.
        if (event?.kind === "credential_revoked") return { kind: "closed", token, error: ended(url) };
        if (event !== undefined) yield { event, retryMs: parser.retryMs };
        // A reader may take its time over an event; that is not the server's silence.
        patience.restart();
      }
    }
  } finally {
    patience.end();
    // Node 20 forgets the tie between signal and body once its own request object is collected.
    void reader?.cancel().catch(() => undefined);
  }
}

function ended(url: string): ClientError {
  return new ClientError("NETWORK", `GET ${shownUrl(url)}: the service ended the stream`);
}

function pushInto(parser: SseParser, text: string): SseMessage[] {
  try {
    return parser.push(text);
  } catch {
    throw new ClientError("UNEXPECTED_ANSWER", "an event of the stream is too long");
  }
}

/** Undefined for a kind that this version does not know: additions are allowed under one API date. */
function readEvent(message: SseMessage): StreamEvent | undefined {
  if (!Object.hasOwn(EVENTS, message.event)) return undefined;
  const kind = message.event as EventKind;
  const parsed = EVENTS[kind].safeParse(parseJson(message.data));
  if (!parsed.success) throw new ClientError("UNEXPECTED_ANSWER", `a malformed ${kind} event`);
  return { kind, id: message.id, data: parsed.data } as StreamEvent;
}
