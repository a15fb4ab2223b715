// The last answer of a connection, to callers who are still sending: it arrives whole, and whoever sends on for ever is
// cut. Over real sockets, many times, because what goes wrong here goes wrong now and then.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { MAX_BODY_BYTES } from "../../../shared/api/endpoints.ts";
import { startEdge, type Edge } from "./edge.ts";

const TRIES = 40;
const CHUNK = Buffer.alloc(65_536, "a");
/** Beyond what the buffers of both ends hold, so that somebody has to read. */
const SENT_CHUNKS = 256;

interface Heard {
  readonly text: string;
  /** How the connection ended, where it was no orderly end. */
  readonly error: string | undefined;
}

/** Sends all of it before it reads anything, as simple clients do. */
async function writeThenRead(port: number, head: string, chunk: Buffer, chunks: number): Promise<Heard> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let error: string | undefined;
  socket.on("error", (fault: NodeJS.ErrnoException) => (error = fault.code));
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await once(socket, "connect");
  socket.pause();
  socket.write(head);
  for (let i = 0; i < chunks && error === undefined; i++)
    await new Promise((resolve) => socket.write(chunk, resolve));
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  socket.once("end", () => socket.end());
  socket.resume();
  await closed;
  return { text, error };
}

describe("the last answer of a connection", () => {
  let edge: Edge;
  before(async () => {
    edge = await startEdge();
  });
  after(() => edge.stop());

  const head = (...more: string[]): string =>
    `${["POST /session HTTP/1.1", "Host: x", `X-API-Key: ${edge.key}`, "Content-Type: application/json", ...more].join("\r\n")}\r\n\r\n`;

  const oversize: readonly (readonly [string, () => string, Buffer])[] = [
    [
      "of a length that is too large",
      () => head(`Content-Length: ${String(SENT_CHUNKS * CHUNK.length)}`),
      CHUNK,
    ],
    [
      "of no length",
      () => head("Transfer-Encoding: chunked"),
      Buffer.concat([Buffer.from("10000\r\n"), CHUNK, Buffer.from("\r\n")]),
    ],
  ];
  for (const [what, headOf, chunk] of oversize) {
    it(`a body ${what} gets its 413 each of ${String(TRIES)} times, though its caller writes on`, async () => {
      for (let i = 0; i < TRIES; i++) {
        const { text, error } = await writeThenRead(edge.port, headOf(), chunk, SENT_CHUNKS);
        assert.equal(error, undefined, `try ${String(i)}`);
        assert.match(text, /^HTTP\/1\.1 413 [^]*"code":"BODY_TOO_LARGE"[^]*\}$/, `try ${String(i)}`);
      }
    });
  }

  it("bytes that are no HTTP get their 400, though more of them come", async () => {
    for (let i = 0; i < TRIES; i++) {
      const { text, error } = await writeThenRead(edge.port, "nonsense\r\n\r\n", CHUNK, 32);
      assert.equal(error, undefined, `try ${String(i)}`);
      assert.match(text, /^HTTP\/1\.1 400 [^]*"code":"INVALID_REQUEST"[^]*\}$/, `try ${String(i)}`);
    }
  });

  describe("to who never ends", () => {
    const LINGER_MS = 300;
    let strict: Edge;
    before(async () => {
      const patience = { request: 3_600_000, headers: 3_600_000, look: 20, idle: 3_600_000 };
      strict = await startEdge({ deadlines: { ...patience, linger: LINGER_MS } });
    });
    after(() => strict.stop());

    async function untilCut(
      start: string,
      go: (socket: Socket) => NodeJS.Timeout | undefined,
    ): Promise<number> {
      const socket = connect({ port: strict.port, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => undefined);
      const closed = once(socket, "close").catch(() => undefined);
      socket.write(start.replace(edge.key, strict.key));
      await once(socket, "data");
      const answeredAt = performance.now();
      const writing = go(socket);
      await closed;
      clearInterval(writing);
      return performance.now() - answeredAt;
    }

    it("the connection is cut after its time, whether it sends on or is silent", async () => {
      const start = head(`Content-Length: ${String(MAX_BODY_BYTES + 1_000_000)}`);
      const drips = await untilCut(start, (socket) => setInterval(() => socket.write("a"), 5));
      // Nothing that it does tells a silent one that it was cut, but the next byte.
      const silent = await untilCut(start, (socket) => {
        const timer = setInterval(() => {
          clearInterval(timer);
          socket.write("a");
          setTimeout(() => socket.write("a"), 50);
        }, 3 * LINGER_MS);
        return timer;
      });
      assert.ok(drips < 10 * LINGER_MS, String(drips));
      assert.ok(silent < 10 * LINGER_MS, String(silent));
    });

    it("nothing that comes behind the last answer is done", async () => {
      const socket = connect({ port: strict.port, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => undefined);
      const body = JSON.stringify({ sub: "late", perms: ["read"], ttl_secs: 60 });
      const minting = `POST /session HTTP/1.1\r\nHost: x\r\nX-API-Key: ${strict.key}\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n`;
      const asked = (): number => strict.log().split('"path":"/session"').length;
      const before = asked();
      let text = "";
      socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
      socket.write(`${minting}Connection: close\r\n\r\n${body}`);
      await once(socket, "end");
      socket.write(`${minting}\r\n${body}`);
      socket.end();
      await once(socket, "close");
      assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1);
      assert.equal(asked(), before + 1);
    });
  });
});
