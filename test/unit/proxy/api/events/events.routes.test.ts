import assert from "node:assert/strict";
import { createConnection, type Socket } from "node:net";
import { eventsRoutes } from "../../../../../proxy/api/events/events.routes.ts";
import { parseId } from "../../../../../proxy/api/events/position.ts";
import type { Hub, Sink, Subscription } from "../../../../../proxy/api/events/hub.ts";
import { serveRoutes, type Served } from "../../../../support/routes.ts";
import { until } from "../../../../support/until.ts";

const [A, B] = ["7-abababab-0.0", "8-cdcdcdcd-1.2"];

describe("events/events.routes", () => {
  let served: Served;
  let seen: Subscription[] = [];
  let sinks: Sink[] = [];
  let open = 0;
  let left = 0;
  let drained = 0;
  let first = Buffer.from("retry: 3000\n\n");

  const hub: Pick<Hub, "read"> = {
    read(subscription, sink) {
      seen.push(subscription);
      sinks.push(sink);
      sink.write(first);
      return { drained: () => (drained += 1), left: () => (left += 1) };
    },
  };

  before(async () => {
    const openStream = async (): Promise<() => void> => {
      open += 1;
      return () => (open -= 1);
    };
    served = await serveRoutes(eventsRoutes(hub, { openStream }));
  });
  after(() => served.close());
  beforeEach(() => {
    seen = [];
    sinks = [];
    left = drained = 0;
    first = Buffer.from("retry: 3000\n\n");
  });

  it("passes the hub's bytes on as they are, under the headers of a stream, and ends with them", async () => {
    const response = await served.get("/events/stream");
    assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-store, no-transform");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("x-accel-buffering"), "no");
    assert.equal(response.headers.get("content-encoding"), null);
    sinks[0]!.write(Buffer.from(":\n\n"));
    sinks[0]!.end();
    assert.equal(await response.text(), "retry: 3000\n\n:\n\n");
    await until("the count to be given back", () => open === 0 && left === 1);
  });

  it("resumes by Last-Event-ID, which wins over from", async () => {
    for (const [query, headers] of [
      [`?from=${A}`, { "Last-Event-ID": B }],
      [`?from=${A}&types=leaf,root`, {}],
    ] as const) {
      const response = await served.get(`/events/stream${query}`, { headers });
      sinks.at(-1)!.end();
      await response.text();
    }
    assert.deepEqual(
      seen.map(({ from }) => from),
      [parseId(B), parseId(A)],
    );
    assert.deepEqual([...(seen[1]?.kinds ?? [])], ["leaf", "root"]);
  });

  it("refuses what is no id, and replays nothing for it", async () => {
    for (const from of ["nonsense", "", "7", `${A}%20`, "7-ABABABAB-0.0", "x".repeat(64)])
      assert.equal(await served.codeOf(`/events/stream?from=${from}`), "INVALID_REQUEST", from);
    for (const id of ["nonsense", "7", `0${A}`]) {
      const headers = { "Last-Event-ID": id };
      const response = await served.get(`/events/stream?from=${A}`, { headers });
      const { status } = response;
      await response.body!.cancel();
      assert.equal(status, 400, id);
    }
    assert.equal(seen.length, 0);
    assert.equal(open, 0);
  });

  it("refuses unknown kinds before anything is counted", async () => {
    assert.equal(await served.codeOf("/events/stream?types=leaf,nonsense"), "INVALID_REQUEST");
    assert.equal(seen.length, 0);
    assert.equal(open, 0);
  });

  it("gives the count back, and tells the hub, when the caller leaves a stream that says nothing", async () => {
    const leaving = new AbortController();
    const response = await served.get("/events/stream", { signal: leaving.signal });
    await response.body!.getReader().read();
    assert.equal(open, 1);
    leaving.abort();
    await until("the count to be given back", () => open === 0);
    assert.equal(left, 1);
    assert.equal(sinks[0]!.write(Buffer.from("late")), false);
  });

  it("says when a connection has enough, and when it wants more", async () => {
    first = Buffer.alloc(32 << 20, ":");
    const socket: Socket = createConnection(served.port);
    socket.pause();
    socket.write(`GET /events/stream HTTP/1.1\r\nHost: a\r\nX-API-Key: ${served.key}\r\n\r\n`);
    await until("the stream", () => sinks.length === 1);
    assert.equal(sinks[0]!.write(Buffer.from(":\n\n")), false);
    assert.equal(drained, 0);
    socket.resume();
    await until("the connection to want more", () => drained > 0);
    sinks[0]!.cut();
    await until("the count to be given back", () => open === 0);
    socket.destroy();
  });
});
