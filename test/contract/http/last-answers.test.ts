// The last answer of a connection, to callers who are still sending: it arrives whole, and whoever sends on for ever is
// cut. Over real sockets, many times, because what goes wrong here goes wrong now and then.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { MAX_BODY_BYTES } from "../../../shared/api/endpoints.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

const TRIES = 40;
const CHUNK = Buffer.alloc(65_536, "a");
/** Beyond what the buffers of both ends hold, so that somebody has to read. */
const SENT_CHUNKS = 256;
const HOUR = 3_600_000;
/** Nobody is cut for being slow here: on a busy machine every caller is. */
const PATIENT = { request: HOUR, headers: HOUR, look: 20, idle: HOUR, linger: HOUR };

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
    edge = await startEdge({ deadlines: PATIENT });
  });
  after(() => edge.stop());

  const head = (to: Edge, ...more: string[]): string =>
    `${["POST /session HTTP/1.1", "Host: x", `X-API-Key: ${to.key}`, "Content-Type: application/json", ...more].join("\r\n")}\r\n\r\n`;

  const oversize: readonly (readonly [string, () => string, Buffer])[] = [
    [
      "of a length that is too large",
      () => head(edge, `Content-Length: ${String(SENT_CHUNKS * CHUNK.length)}`),
      CHUNK,
    ],
    [
      "of no length",
      () => head(edge, "Transfer-Encoding: chunked"),
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
    const DRIP_MS = 5;
    const PULSE_MS = 50;
    let strict: Edge;
    before(async () => {
      strict = await startEdge({ deadlines: { ...PATIENT, linger: LINGER_MS } });
    });
    after(() => strict.stop());

    /**
     * Bytes that it could send until it was cut, one every so many milliseconds after a silence. The server's clock
     * runs in this very process: where that is held up, fewer bytes are sent, never more.
     */
    async function sentUntilCut(everyMs: number, silenceMs = 0): Promise<number> {
      const socket = connect({ port: strict.port, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("error", () => undefined);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(head(strict, `Content-Length: ${String(MAX_BODY_BYTES + 1_000_000)}`));
      await once(socket, "data");
      let sent = 0;
      let sending: NodeJS.Timeout | undefined;
      const silence = setTimeout(() => {
        sending = setInterval(() => {
          sent += 1;
          socket.write("a");
        }, everyMs);
      }, silenceMs);
      await closed;
      clearTimeout(silence);
      clearInterval(sending);
      return sent;
    }

    it("the connection is cut after its time, whether it sends on or is silent", async () => {
      const most = 10 * LINGER_MS;
      const dripped = await sentUntilCut(DRIP_MS);
      assert.ok(dripped < most / DRIP_MS, String(dripped));
      // Nothing tells a silent one that it was cut, but the bytes that it sends then.
      const silence = 3 * LINGER_MS;
      const pulsed = await sentUntilCut(PULSE_MS, silence);
      assert.ok(pulsed < (most - silence) / PULSE_MS, String(pulsed));
    });
  });

  it("nothing that comes behind the last answer is done", async () => {
    const socket = connect({ port: edge.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    const body = JSON.stringify({ sub: "late", perms: ["read"], ttl_secs: 60 });
    const minting = `POST /session HTTP/1.1\r\nHost: x\r\nX-API-Key: ${edge.key}\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n`;
    const asked = (): number => edge.log().split('"path":"/session"').length;
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
