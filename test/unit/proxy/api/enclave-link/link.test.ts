import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { PATIENCE_MS } from "../../../../../scripts/base/poll.ts";
import {
  createLink,
  EnclaveUnreachable,
  type EnclaveLink,
} from "../../../../../proxy/api/enclave-link/link.ts";
import {
  decodeRequest,
  encodeReply,
  FrameSplitter,
  type EnclaveReply,
} from "../../../../../shared/protocol/enclave-messages.ts";

type Answer = (requestId: number, socket: Socket) => void;
const STATUS: EnclaveReply = {
  type: "status",
  phase: "serving",
  signer: `0x${"11".repeat(20)}` as never,
  configurationHash: `0x${"22".repeat(32)}` as never,
  circuitsHash: `0x${"33".repeat(32)}` as never,
};

describe("enclave-link/link against a real socket", () => {
  let folder: string;
  let server: Server | undefined;
  let link: EnclaveLink | undefined;
  const sockets = new Set<Socket>();
  let connections = 0;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-link-"));
    connections = 0;
  });
  afterEach(async () => {
    link?.close();
    await stopServer();
    await rm(folder, { recursive: true, force: true });
  });

  async function stopServer(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
    server = undefined;
  }

  /** An enclave's side of the wire: handshake in pieces, then `answer` for each request. */
  function serve(answer: Answer, greeting = "OK 1073741824\n"): Promise<void> {
    server = createServer((socket) => {
      connections += 1;
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
      const splitter = new FrameSplitter();
      let line: string | undefined = "";
      socket.on("data", (chunk: Buffer) => {
        if (line !== undefined) {
          line += chunk.toString("latin1");
          if (!line.endsWith("\n")) return;
          assert.equal(line, "CONNECT 5000\n");
          line = undefined;
          socket.write(greeting);
          return;
        }
        for (const payload of splitter.push(chunk) ?? []) answer(decodeRequest(payload)!.requestId, socket);
      });
    });
    return new Promise((resolve) => server!.listen(path.join(folder, "s"), resolve));
  }
  const connect = (timeoutMs = PATIENCE_MS, maxPending?: number): EnclaveLink =>
    (link = createLink(
      { path: path.join(folder, "s"), port: 5000 },
      { timeoutMs, ...(maxPending === undefined ? {} : { maxPending }) },
    ));
  const good: Answer = (id, socket) => void socket.write(encodeReply(id, STATUS));

  it("speaks the handshake and gets a reply", async () => {
    await serve(good);
    assert.deepEqual(await connect().ask({ type: "status" }), STATUS);
  });

  it("matches pipelined replies by id, in any order, on one connection", async () => {
    const held: [number, Socket][] = [];
    await serve((id, socket) => {
      held.push([id, socket]);
      if (held.length < 3) return;
      for (const [i, [requestId, to]] of [...held].reverse().entries()) {
        to.write(encodeReply(requestId, { type: "attestation", document: Uint8Array.of(requestId, i) }));
      }
    });
    const asked = connect();
    const nonce = new Uint8Array(16);
    const replies = await Promise.all([1, 2, 3].map(() => asked.ask({ type: "attestation", nonce })));
    assert.deepEqual(
      replies.map((reply) => (reply.type === "attestation" ? reply.document[0] : undefined)),
      [1, 2, 3],
    );
    assert.equal(connections, 1);
  });

  it("is unreachable when nobody listens, and connects when somebody does", async () => {
    const asked = connect();
    await assert.rejects(asked.ask({ type: "status" }), EnclaveUnreachable);
    await serve(good);
    assert.deepEqual(await asked.ask({ type: "status" }), STATUS);
  });

  it("asks once more when the connection is lost in between", async () => {
    let requests = 0;
    await serve((id, socket) => {
      requests += 1;
      if (requests === 1) socket.destroy();
      else good(id, socket);
    });
    assert.deepEqual(await connect().ask({ type: "status" }), STATUS);
    assert.equal(connections, 2);
  });

  it("does not ask a third time", async () => {
    let requests = 0;
    await serve((_id, socket) => {
      requests += 1;
      socket.destroy();
    });
    await assert.rejects(connect().ask({ type: "status" }), EnclaveUnreachable);
    assert.equal(requests, 2);
  });

  it("gives up at the deadline without asking again, and keeps the connection for others", async () => {
    let requests = 0;
    await serve((id, socket) => {
      requests += 1;
      if (requests > 1) good(id, socket);
    });
    const asked = connect(80);
    await assert.rejects(asked.ask({ type: "status" }), /in time/);
    assert.deepEqual(await asked.ask({ type: "status" }), STATUS);
    assert.equal(connections, 1);
  });

  it("closes a connection that sends garbage, and reports the enclave as unreachable", async () => {
    await serve((_id, socket) => void socket.write(Uint8Array.of(9, 9, 9, 9, 9, 9)));
    await assert.rejects(connect().ask({ type: "status" }), EnclaveUnreachable);
  });

  it("refuses a greeting that is none", async () => {
    await serve(good, "HTTP/1.1 400 Bad Request\n");
    await assert.rejects(connect().ask({ type: "status" }), EnclaveUnreachable);
  });

  it("bounds what waits", async () => {
    await serve(() => undefined);
    const asked = connect(300, 2);
    const waiting = [asked.ask({ type: "status" }), asked.ask({ type: "status" })].map((one) =>
      one.catch((error: unknown) => error),
    );
    await assert.rejects(asked.ask({ type: "status" }), /too many/);
    for (const one of waiting) assert.ok((await one) instanceof EnclaveUnreachable);
  });
});
