// Requests that a caller sends ahead on one connection, before and after an event stream, byte for byte; and answers
// with a credential, whose length must say nothing about it.
import assert from "node:assert/strict";
import { createConnection, type Socket } from "node:net";
import { eventsRoutes } from "../../../proxy/api/events/events.routes.ts";
import type { Hub, Sink } from "../../../proxy/api/events/hub.ts";
import { until } from "../../support/until.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

const EVENT = "event: synced\ndata: {}\n\n";

describe("requests ahead of their answers", () => {
  let edge: Edge;
  let sinks: Sink[] = [];
  let open = 0;
  const sockets: Socket[] = [];

  before(async () => {
    const hub: Pick<Hub, "read"> = {
      read(_subscription, sink) {
        sinks.push(sink);
        sink.write(Buffer.from(EVENT));
        return { drained: () => undefined, left: () => undefined };
      },
    };
    const openStream = async (): Promise<() => void> => {
      open += 1;
      return () => (open -= 1);
    };
    edge = await startEdge({ handlers: eventsRoutes(hub, { openStream }) });
  });
  after(() => edge.stop());
  beforeEach(() => void (sinks = []));
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await until("every stream to be given back", () => open === 0);
  });

  const get = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\nX-Request-Id: id${path.replaceAll("/", "-")}\r\n\r\n`;
  const mint = (): string => {
    const body = JSON.stringify({ sub: "ahead", perms: ["read"], ttl_secs: 60 });
    return `POST /session HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`;
  };
  function say(bytes: string): { text(): string; readonly closed: Promise<unknown> } {
    const socket = createConnection(edge.port, "127.0.0.1");
    sockets.push(socket);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(bytes);
    return { text: () => text, closed };
  }
  const asked = (path: string): number => edge.log().split(`"path":"${path}"`).length - 1;

  it("a request before a stream is answered whole, then the stream begins", async () => {
    const { text } = say(get("/whoami") + get("/openapi.json") + get("/events/stream"));
    await until("the stream", () => text().endsWith(EVENT));
    const [, ...heads] = text().split("HTTP/1.1 ");
    assert.deepEqual(
      heads.map((head) => [head.slice(0, 3), /x-request-id: (\S+)/i.exec(head)?.[1]]),
      [
        ["200", "id-whoami"],
        ["200", "id-openapi.json"],
        ["200", "id-events-stream"],
      ],
    );
  });

  for (const [what, behind] of [
    ["a request", () => get("/whoami")],
    ["a request that does something", mint],
    ["a second stream", () => get("/events/stream")],
    ["bytes that are no HTTP", () => "nonsense\r\n\r\n"],
    ["a request without Host", () => "GET /whoami HTTP/1.1\r\n\r\n"],
    ["a CONNECT", () => "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n"],
    ["half a request", () => "GET /whoami HTTP/1.1\r\nHo"],
  ] as const) {
    it(`${what} behind a stream is not done, and puts no byte into it`, async () => {
      const before = [asked("/session"), asked("/whoami")];
      const { text, closed } = say(get("/events/stream") + behind());
      await until("the stream", () => text().endsWith(EVENT));
      // Whatever the service does with the rest, it has done before it answers somebody who came later.
      assert.equal((await edge.call("GET", "/health")).status, 200);
      assert.equal(sinks.length, 1);
      sinks[0]!.write(Buffer.from(EVENT));
      sinks[0]!.end();
      await closed;
      const [, body = ""] = text().split("\r\n\r\n");
      assert.equal(body, EVENT + EVENT);
      assert.deepEqual([asked("/session"), asked("/whoami")], before);
    });
  }

  it("an answer with a session is never compressed, another of its size is", async () => {
    // A `sub` of some length, in which a caller could place its guesses (BREACH).
    const session = { sub: "ß".repeat(256), perms: ["read", "write"], ttl_secs: 900 };
    const headers = { "Accept-Encoding": "gzip, br, deflate, *" };
    const made = await edge.call("POST", "/session", { json: session, headers });
    assert.equal(made.status, 201);
    const packed = await edge.call("GET", "/openapi.json", { headers });
    assert.equal(packed.headers.get("content-encoding"), "gzip");
    assert.ok(Number(made.headers.get("content-length")) > 1_024, "long enough to be worth it");
    assert.equal(made.headers.get("content-encoding"), null);
    assert.equal(made.headers.get("content-length"), String(Buffer.byteLength(JSON.stringify(made.body))));
  });
});
