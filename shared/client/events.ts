/**
 * The event stream over fetch, in Node and browsers alike: resumes after the last event that its reader
 * has finished with, renews an expired session, backs off when the service is away. Every payload passes
 * its schema before the reader sees it.
 */
import { EVENTS, type EventKind, type StreamEvent } from "../api/data.ts";
import { ENDPOINTS } from "../api/endpoints.ts";
import { ApiProblem, ClientError } from "./errors.ts";
import { abortable, backOffMs, delay, readAnswer, urlOf, type Transport } from "./http.ts";
import { SseParser, type SseMessage } from "./sse.ts";

export interface StreamTiming {
  /** A comment comes every 15 s; silence for this long means a dead connection. Default 45 s. */
  readonly silenceMs?: number;
  /** Longest pause between tries. Default 30 s. */
  readonly maxPauseMs?: number;
  readonly wait?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

interface StreamCall {
  readonly from?: string | undefined;
  readonly types?: readonly EventKind[];
  readonly signal?: AbortSignal | undefined;
}

/** What ended one connection: `expired` needs a new token, `closed` only a new connection. */
type Ending = { readonly kind: "closed" } | { readonly kind: "expired"; readonly token: string | undefined };

export async function* streamEvents(
  transport: Transport,
  call: StreamCall,
  timing: StreamTiming = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const wait = timing.wait ?? delay;
  let last = call.from;
  let failures = 0;
  let expiries = 0;
  let serverPauseMs = 0;
  while (true) {
    call.signal?.throwIfAborted();
    let pauseMs = serverPauseMs;
    const connection = connect(transport, call, last, timing.silenceMs ?? 45_000);
    try {
      while (true) {
        const step = await connection.next();
        if (step.done === true) {
          if (step.value.kind === "expired" && transport.credential.expire(step.value.token)) {
            // At most one renewal without any progress in between, like every other request; then back off.
            expiries += 1;
            pauseMs = expiries > 1 ? backOffMs(expiries) : 0;
          } else {
            failures += 1;
            pauseMs = Math.max(pauseMs, backOffMs(failures));
          }
          break;
        }
        const { event, retryMs } = step.value;
        if (retryMs !== undefined) serverPauseMs = retryMs;
        failures = 0;
        if (event.kind !== "ready") expiries = 0;
        yield event;
        // Only now: an event that its reader did not finish is sent again.
        if (event.kind === "reorg") last = event.data.from_id ?? undefined;
        else if (event.id !== undefined) last = event.id;
      }
    } catch (error) {
      call.signal?.throwIfAborted();
      const after = retryPause(error, (failures += 1));
      if (after === undefined) throw error;
      pauseMs = Math.max(pauseMs, after);
    } finally {
      // A reader that leaves in the middle must not leave the connection open behind it.
      await connection.return({ kind: "closed" });
    }
    await wait(Math.min(pauseMs, timing.maxPauseMs ?? 30_000), call.signal);
  }
}

function retryPause(error: unknown, failures: number): number | undefined {
  if (error instanceof ApiProblem) {
    const away = error.status === 429 || error.status >= 500;
    return away ? Math.max(error.retryAfterMs ?? 0, backOffMs(failures)) : undefined;
  }
  return error instanceof ClientError && error.code === "NETWORK" ? backOffMs(failures) : undefined;
}

async function* connect(
  transport: Transport,
  call: StreamCall,
  from: string | undefined,
  silenceMs: number,
): AsyncGenerator<{ event: StreamEvent; retryMs: number | undefined }, Ending, undefined> {
  const { headers, query, token } = await abortable(transport.credential.stream(), call.signal);
  const path = ENDPOINTS.events.path;
  const types = call.types?.join(",");
  const url = urlOf(transport.baseUrl, path, { query: { ...query, from, types } });

  // Closes the connection when the caller leaves, when the server falls silent, and when this generator ends.
  const closing = new AbortController();
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const leave = (): void => {
    closing.abort();
    // Node 20 forgets the tie between signal and body once its own request object is collected.
    void reader?.cancel().catch(() => undefined);
  };
  call.signal?.addEventListener("abort", leave, { once: true });
  let silence: ReturnType<typeof setTimeout> | undefined;
  const heard = (): void => {
    clearTimeout(silence);
    silence = setTimeout(leave, silenceMs);
  };
  try {
    heard();
    const accept = { Accept: "text/event-stream", "Cache-Control": "no-store", ...headers };
    const response = await network(
      transport.fetch(url, { headers: accept, signal: closing.signal, redirect: "error", cache: "no-store" }),
    );
    if (response.status !== 200 || response.body === null) {
      try {
        readAnswer(ENDPOINTS.events, response, await network(response.text()));
      } catch (error) {
        if (error instanceof ApiProblem && error.code === "SESSION_EXPIRED")
          return { kind: "expired", token };
        throw error;
      }
      throw new ClientError("UNEXPECTED_ANSWER", `status ${response.status} from ${path}`);
    }
    const parser = new SseParser();
    const decoder = new TextDecoder();
    reader = (response.body as ReadableStream<Uint8Array>).getReader();
    while (true) {
      const chunk = await network(reader.read());
      heard();
      if (chunk.done) return { kind: "closed" };
      for (const message of pushInto(parser, decoder.decode(chunk.value, { stream: true }))) {
        const event = readEvent(message);
        if (event?.kind === "session_expired") return { kind: "expired", token };
        // What a request with it is answered, the next connection hears.
        if (event?.kind === "credential_revoked") return { kind: "closed" };
        if (event !== undefined) yield { event, retryMs: parser.retryMs };
        // A reader may take its time over an event; that is not the server's silence.
        heard();
      }
    }
  } finally {
    clearTimeout(silence);
    call.signal?.removeEventListener("abort", leave);
    closing.abort();
  }
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
  let json: unknown;
  try {
    json = JSON.parse(message.data);
  } catch {
    json = undefined;
  }
  const parsed = EVENTS[kind].safeParse(json);
  if (!parsed.success) throw new ClientError("UNEXPECTED_ANSWER", `a malformed ${kind} event`);
  return { kind, id: message.id, data: parsed.data } as StreamEvent;
}

async function network<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new ClientError("NETWORK", undefined, { cause });
  }
}
