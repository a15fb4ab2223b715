import assert from "node:assert/strict";
import { eventsRoutes } from "../../../../proxy/events/events.routes.ts";
import type { Hub, StreamItem, Subscription } from "../../../../proxy/events/hub.ts";
import { SseParser } from "../../../../shared/client/sse.ts";
import { serveRoutes, type Served } from "../../../support/routes.ts";
import { until } from "../../../support/until.ts";

describe("events/events.routes", () => {
  let served: Served;
  let seen: Subscription[] = [];
  let open = 0;
  let script: StreamItem[][] = [];
  let isEndless = false;
  let isQuiet = false;
  let pulled = 0;
  const closers = new Set<() => void>();

  const hub: Hub = {
    async *read(subscription) {
      seen.push(subscription);
      for (const items of script) yield items;
      // A chain on which nothing happens; the real hub says a comment after 15 s, this one never.
      if (isQuiet) await new Promise<void>(() => undefined);
      while (isEndless) {
        pulled += 1;
        yield [
          {
            type: "event",
            event: { kind: "synced", id: "x".repeat(8_192), data: { block_number: 1, leaf_count: 2 } },
          },
        ];
      }
    },
    close: () => {
      for (const tell of closers) tell();
    },
    onClose: (listener) => {
      closers.add(listener);
      return () => closers.delete(listener);
    },
  };

  before(async () => {
    const openStream = async (): Promise<() => void> => {
      open += 1;
      return () => (open -= 1);
    };
    served = await serveRoutes(eventsRoutes(hub, { openStream, stalledAfterMs: 200 }));
  });
  after(() => served.close());
  beforeEach(() => {
    seen = [];
    script = [];
    isEndless = false;
    isQuiet = false;
    pulled = 0;
  });

  it("writes the format: retry, comments, events with and without id", async () => {
    script = [
      [{ type: "comment" }],
      [
        { type: "event", event: { kind: "synced", id: undefined, data: { block_number: 1, leaf_count: 2 } } },
        { type: "event", event: { kind: "reorg", id: "", data: { from_id: null } } },
        {
          type: "event",
          event: { kind: "root", id: "5-abababab-1.0", data: { root: "0x", leaf_count: 2, block_number: 5 } },
        },
      ],
    ];
    const response = await fetch(`${served.url}/events/stream`);
    assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-store, no-transform");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("x-accel-buffering"), "no");
    const parser = new SseParser();
    const messages = parser.push(await response.text());
    assert.equal(parser.retryMs, 3_000);
    assert.deepEqual(
      messages.map(({ event, id }) => [event, id]),
      [
        ["synced", undefined],
        ["reorg", ""],
        ["root", "5-abababab-1.0"],
      ],
    );
    await until("the count to be given back", () => open === 0);
  });

  it("resumes by Last-Event-ID, which wins over from", async () => {
    await (await fetch(`${served.url}/events/stream?from=a`, { headers: { "Last-Event-ID": "b" } })).text();
    await (await fetch(`${served.url}/events/stream?from=a&types=leaf,root`)).text();
    assert.deepEqual(
      seen.map(({ from }) => from),
      ["b", "a"],
    );
    assert.deepEqual([...(seen[1]?.kinds ?? [])], ["leaf", "root"]);
  });

  it("refuses unknown kinds", async () => {
    assert.equal(await served.codeOf("/events/stream?types=leaf,nonsense"), "INVALID_REQUEST");
    assert.equal(open, 0);
  });

  it("gives the count back when the caller leaves", async () => {
    isEndless = true;
    const leaving = new AbortController();
    const response = await fetch(`${served.url}/events/stream`, { signal: leaving.signal });
    await response.body!.getReader().read();
    assert.equal(open, 1);
    leaving.abort();
    await until("the count to be given back", () => open === 0);
  });

  it("gives the count back, and tells the hub, when the caller leaves a stream that says nothing", async () => {
    isQuiet = true;
    const leaving = new AbortController();
    const response = await fetch(`${served.url}/events/stream`, { signal: leaving.signal });
    await response.body!.getReader().read();
    await until("the subscription", () => seen.length === 1);
    assert.equal(open, 1);
    assert.equal(seen[0]!.left.aborted, false);
    leaving.abort();
    await until("the count to be given back", () => open === 0);
    assert.equal(seen[0]!.left.aborted, true);
    assert.equal(closers.size, 0);
  });

  it("gives up on a reader that does not read when the hub closes, and on no other", async () => {
    isEndless = true;
    const patient = await serveRoutes(
      eventsRoutes(hub, { openStream: async () => () => void (open -= 1), stalledAfterMs: 3_600_000 }),
    );
    try {
      open = 1;
      const response = await fetch(`${patient.url}/events/stream`);
      assert.equal(response.status, 200);
      hub.close();
      await until("the reader to be cut", () => open === 0);
      await assert.rejects(response.text());
      assert.equal(closers.size, 0);
    } finally {
      await patient.close();
    }
  });

  it("reads no further than the caller does, and closes one that stops reading", async () => {
    isEndless = true;
    const response = await fetch(`${served.url}/events/stream`);
    assert.equal(response.status, 200);
    await until("the stalled reader to be closed", () => open === 0);
    // What fits into the buffers on the way, not an endless stream in memory.
    assert.ok(pulled < 10_000, String(pulled));
    await response.body?.cancel().catch(() => undefined);
  });
});
