/** GET /events/stream: a connection for the hub's bytes, text/event-stream (WHATWG HTML, section 9.2). */
import { EVENT_KINDS, eventsQuery, type EventKind } from "../../../shared/api/data.ts";
import { invalidField, parse } from "../../base/http/parse.ts";
import type { Handlers } from "../../base/http/routes.ts";
import { ownerOf, type Principal } from "../../base/http/state.ts";
import type { Hub } from "./hub.ts";
import { parseId, type EventId } from "./position.ts";
import { RawAnswer } from "./raw-answer.ts";

export interface EventStreamOptions {
  /** Counts an open stream; throws RATE_LIMITED. The result ends the count. */
  readonly openStream: (principal: Principal) => Promise<() => void>;
}

export function eventsRoutes(hub: Pick<Hub, "read">, options: EventStreamOptions): Handlers<"events"> {
  return {
    async events(ctx) {
      const { from, types } = parse(eventsQuery, ctx.query, "query");
      const kinds = types === undefined ? undefined : parseKinds(types);
      const lastEventId = ctx.get("Last-Event-ID");
      const start = lastEventId === "" ? idIn("from", from) : idIn("Last-Event-ID", lastEventId);
      const { principal, stillGood } = ctx.state;
      const release = await options.openStream(principal);
      const { res } = ctx;
      ctx.status = 200;
      ctx.set({
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-store, no-transform",
        "Referrer-Policy": "no-referrer",
        "X-Accel-Buffering": "no",
      });
      // From here on the connection is the hub's.
      ctx.respond = false;
      // Koa remembers the target, too, in which the session stands.
      Object.assign(ctx, { originalUrl: "" });
      Object.assign(ctx.request, { originalUrl: "", _querycache: undefined });
      const connection = new RawAnswer(ctx.req, res);
      const reading = hub.read(
        {
          owner: ownerOf(principal),
          from: start,
          kinds,
          stillGood,
          endsAt: principal.kind === "session" ? principal.exp * 1000 : undefined,
        },
        connection,
      );
      const leave = (): void => {
        reading.left();
        release();
      };
      connection.onDrain(() => reading.drained());
      // The client may be gone already, and then nothing says so any more.
      if (res.destroyed) leave();
      else res.on("close", leave);
    },
  };
}

/** Text that is no id asks for something else than the whole history, which is what no id at all asks for. */
function idIn(name: string, text: string | undefined): EventId | undefined {
  if (text === undefined) return undefined;
  const id = parseId(text);
  if (id === undefined) throw invalidField(name, "must be the id of an event");
  return id;
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
