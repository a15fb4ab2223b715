/** GET /events/stream: the hub's items as text/event-stream (WHATWG HTML, section 9.2). */
import { Readable } from "node:stream";
import Router from "@koa/router";
import { EVENT_KINDS, eventsQuery, type EventKind } from "../../shared/api/data.ts";
import { invalidField, parse } from "../http/parse.ts";
import { ownerOf, type Principal, type RequestState } from "../http/state.ts";
import type { Hub, StreamItem, Subscription } from "./hub.ts";

export interface EventStreamOptions {
  /** Counts an open stream; throws RATE_LIMITED. The result ends the count. */
  readonly openStream: (principal: Principal) => Promise<() => void>;
  /** A reader that takes nothing for this long is closed; it resumes by itself. Default 60 s. */
  readonly stalledAfterMs?: number;
}

const RETRY_MS = 3_000;
/** How long a reader may take to read what was under way when the service stops. */
const LAST_WORDS_MS = 500;

export function eventsRoutes(hub: Hub, options: EventStreamOptions): Router<RequestState> {
  return new Router<RequestState>().get("/events/stream", async (ctx) => {
    const { from, types } = parse(eventsQuery, ctx.query, "query");
    const lastEventId = ctx.get("Last-Event-ID");
    const { principal, stillGood } = ctx.state;
    const left = new AbortController();
    const subscription: Subscription = {
      owner: ownerOf(principal),
      from: lastEventId === "" ? from : lastEventId,
      kinds: types === undefined ? undefined : parseKinds(types),
      stillGood,
      endsAt: principal.kind === "session" ? principal.exp * 1000 : undefined,
      left: left.signal,
    };
    const release = await options.openStream(principal);
    const stream = Readable.from(lines(hub.read(subscription)), { objectMode: false, highWaterMark: 65_536 });
    const stopWatching = closeWhenStalled(stream, options.stalledAfterMs ?? 60_000);
    let cut: NodeJS.Timeout | undefined;
    // One that reads comes to the end by itself; one that does not must not hold the server.
    const stopListening = hub.onClose(() => {
      cut = setTimeout(() => ctx.res.destroy(), LAST_WORDS_MS);
    });
    let isFinished = false;
    const finish = (): void => {
      if (isFinished) return;
      isFinished = true;
      stopWatching();
      release();
    };
    stream.once("close", finish);
    // Not left to the stream: it closes only after the hub's next word, which is seconds away on a quiet
    // chain, and a few reloads of a page would use up the caller's streams meanwhile.
    const leave = (): void => {
      clearTimeout(cut);
      stopListening();
      left.abort();
      stream.destroy();
      finish();
    };
    // The client may be gone already, before anything would pull on the stream and notice.
    if (ctx.res.destroyed) leave();
    else ctx.res.once("close", leave);

    ctx.status = 200;
    ctx.set({
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-store, no-transform",
      "Referrer-Policy": "no-referrer",
      "X-Accel-Buffering": "no",
    });
    ctx.body = stream;
  });
}

async function* lines(
  batches: AsyncGenerator<StreamItem[], void, undefined>,
): AsyncGenerator<string, void, undefined> {
  yield `retry: ${String(RETRY_MS)}\n\n`;
  for await (const batch of batches) {
    const text = batch.map(toText).join("");
    if (text !== "") yield text;
  }
}

function toText(item: StreamItem): string {
  if (item.type === "comment") return ":\n\n";
  const { kind, id, data } = item.event;
  return `event: ${kind}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function parseKinds(types: string): ReadonlySet<EventKind> {
  const kinds = new Set<EventKind>();
  for (const name of types.split(",")) {
    const kind = EVENT_KINDS.find((known) => known === name.trim());
    if (kind === undefined) throw invalidField("types", "names an unknown kind of event");
    kinds.add(kind);
  }
  return kinds;
}

/** A reader whose buffer stays full has stopped reading: its connection and its cursor are given back. */
function closeWhenStalled(stream: Readable, stalledAfterMs: number): () => void {
  let waitingSince: number | undefined;
  let lastLength = -1;
  const timer = setInterval(
    () => {
      const length = stream.readableLength;
      // Nothing buffered, or something was taken since the last look: it reads.
      if (length === 0 || length !== lastLength) waitingSince = undefined;
      else waitingSince ??= Date.now();
      lastLength = length;
      if (waitingSince !== undefined && Date.now() - waitingSince >= stalledAfterMs) stream.destroy();
    },
    Math.max(stalledAfterMs / 4, 50),
  );
  return () => clearInterval(timer);
}
