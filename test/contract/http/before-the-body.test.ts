// What a caller receives before it has sent a body: Expect: 100-continue, and CONNECT, which has none. Byte for byte.
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { MAX_BODY_BYTES } from "../../../shared/api/endpoints.ts";
import { problem } from "../../../shared/api/errors.ts";
import { until } from "../../support/until.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

interface Caller {
  readonly socket: Socket;
  text(): string;
  readonly closed: Promise<unknown>;
}

describe("before the body", () => {
  let edge: Edge;
  const callers: Caller[] = [];
  before(async () => {
    edge = await startEdge();
  });
  after(() => edge.stop());
  afterEach(() => {
    for (const { socket } of callers.splice(0)) socket.destroy();
  });

  function say(bytes: string, port = edge.port): Caller {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.write(bytes);
    const caller = { socket, text: () => text, closed };
    callers.push(caller);
    return caller;
  }
  const BODY = JSON.stringify({ sub: "u", perms: ["read"], ttl_secs: 60 });
  const expecting = (key: string, more: readonly string[] = [], length = BODY.length): string =>
    `${["POST /session HTTP/1.1", "Host: x", `X-API-Key: ${key}`, "Content-Type: application/json", `Content-Length: ${String(length)}`, "Expect: 100-continue", ...more].join("\r\n")}\r\n\r\n`;
  const codeOf = (text: string): string =>
    problem.parse(JSON.parse(text.split("\r\n\r\n").at(-1) ?? "")).code;

  it("a good caller is told to go on, and answered", async () => {
    const caller = say(expecting(edge.key));
    await until("100 Continue", () => caller.text() === CONTINUE);
    caller.socket.write(BODY);
    await until("the answer", () => /HTTP\/1\.1 201 .*sst_/s.test(caller.text()));
  });

  const refused: readonly (readonly [string, () => string, number, string])[] = [
    ["a forged key", () => expecting("ck_forged"), 401, "INVALID_CREDENTIAL"],
    ["two credentials", () => expecting(edge.key, ["Authorization: Bearer sst_x"]), 400, "INVALID_REQUEST"],
    [
      "a path that does not exist",
      () => expecting(edge.key).replace("/session", "/nothing"),
      404,
      "NOT_FOUND",
    ],
    ["a length over the limit", () => expecting(edge.key, [], MAX_BODY_BYTES + 1), 413, "BODY_TOO_LARGE"],
    [
      "another media type",
      () => expecting(edge.key).replace("application/json", "text/plain"),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    ],
  ];
  for (const [what, head, status, code] of refused) {
    it(`${what} is refused without having been asked for its body, and the connection ends`, async () => {
      const caller = say(head());
      await caller.closed;
      assert.match(caller.text(), new RegExp(`^HTTP/1\\.1 ${String(status)} `));
      assert.match(caller.text(), /\r\nconnection: close\r\n/i);
      assert.equal(codeOf(caller.text()), code);
    });
  }

  it("a caller whose limit is used up is not asked for its body either", async () => {
    const { key } = await edge.newDeveloper({ name: "Small", limits: { keyPerMinute: 1 } });
    const headers = { "X-API-Key": key };
    assert.equal((await edge.call("GET", "/whoami", { credential: false, headers })).status, 200);
    const caller = say(expecting(key));
    await caller.closed;
    assert.match(caller.text(), /^HTTP\/1\.1 429 /);
    assert.equal(codeOf(caller.text()), "RATE_LIMITED");
  });

  describe("CONNECT", () => {
    const CONNECT = "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n";

    it("is answered with a problem document that names the methods", async () => {
      const caller = say(`${CONNECT}GET /whoami HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\n\r\n`);
      await caller.closed;
      const text = caller.text();
      assert.match(text, /^HTTP\/1\.1 405 Method Not Allowed\r\n/);
      assert.match(text, /\r\nAllow: GET, HEAD, POST, OPTIONS\r\n/);
      assert.match(text, /\r\nContent-Type: application\/problem\+json\r\n/);
      assert.equal(codeOf(text), "METHOD_NOT_ALLOWED");
      assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1);
    });

    it("waits for the answers that are due before it", async () => {
      const caller = say(`GET /openapi.json HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\n\r\n${CONNECT}`);
      await caller.closed;
      const statuses = caller.text().match(/^HTTP\/1\.1 [0-9]+/gm);
      assert.deepEqual(statuses?.slice(0, 1), ["HTTP/1.1 200"]);
      assert.match(caller.text(), /HTTP\/1\.1 405 .*METHOD_NOT_ALLOWED"/s);
      assert.equal(codeOf(caller.text()), "METHOD_NOT_ALLOWED");
    });
  });
});
