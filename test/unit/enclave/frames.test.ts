import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { FRAME_LIMITS, FrameServer, type Answer, type FrameLimits } from "../../../enclave/frames.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import {
  FRAME_HEADER_BYTES,
  MAX_FRAME_BYTES,
  type EnclaveReply,
  type EnclaveRequest,
} from "../../../shared/protocol/enclave-messages.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { PROOF_BYTES } from "../../../shared/protocol/proof.ts";
import { codeOf, FrameClient } from "./support/frame-client.ts";
import { SocketFolder, until } from "./support/sockets.ts";

const STATUS: EnclaveRequest = { type: "status" };
const RELEASE: EnclaveRequest = { type: "release-request" };
const SIXTEEN = new Uint8Array(16);
const ATTEST: EnclaveRequest = {
  type: "attest",
  chainId: 1n,
  pool: ZERO_ADDRESS,
  kindId: 1,
  deadline: 0n,
  proof: new Uint8Array(PROOF_BYTES),
  signals: [],
  ext: new Uint8Array(0),
};

/** Tells replies apart: each document is the nonce it was asked with. */
const echo: Answer = async (request): Promise<EnclaveReply> =>
  request.type === "attestation"
    ? { type: "attestation", document: request.nonce }
    : { type: "refused", code: "WRONG_PHASE" };

describe("enclave/frames", () => {
  let folder: SocketFolder;
  let accepted: Socket[];
  /** They run out when a test says so. */
  let timers: Set<{ readonly ms: number; readonly then: () => void }>;
  const pass = (): void => {
    const due = [...timers];
    timers.clear();
    for (const { then } of due) then();
  };
  beforeEach(async () => {
    timers = new Set();
    folder = await SocketFolder.make();
    accepted = [];
  });
  afterEach(() => folder.remove());

  const serve = async (answer: Answer, limits: Partial<FrameLimits> = {}): Promise<string> => {
    const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
    const after = (ms: number, then: () => void): (() => void) => {
      const timer = { ms, then };
      timers.add(timer);
      return () => timers.delete(timer);
    };
    const server = new FrameServer({ turn, after }, answer, { ...FRAME_LIMITS, ...limits });
    return folder.serve("guest.sock", (socket) => {
      accepted.push(socket);
      server.accept(socket);
    });
  };
  const connect = async (path: string): Promise<FrameClient> => {
    const client = await FrameClient.connect(path);
    folder.hold(client.socket);
    return client;
  };
  const header = (version: number, length: number): Uint8Array =>
    concatBytes(Uint8Array.of(version), uintToBytes(BigInt(length), 4));

  it("answers pipelined requests, each under its own id", async () => {
    const client = await connect(await serve(echo));
    const nonces = Array.from({ length: 40 }, (_, i) => new Uint8Array(16).fill(i));
    client.socket.write(
      concatBytes(...nonces.map((nonce, i) => encodeRequest(i + 100, { type: "attestation", nonce }))),
    );
    for (const [i, nonce] of nonces.entries()) {
      assert.deepEqual(await client.reply(i + 100), { type: "attestation", document: nonce });
    }
  });

  it("takes a request that trickles in byte by byte", async () => {
    const client = await connect(await serve(echo));
    for (const byte of encodeRequest(1, { type: "attestation", nonce: SIXTEEN })) {
      client.socket.write(Uint8Array.of(byte));
    }
    assert.equal((await client.reply(1)).type, "attestation");
  });

  const valid = encodeRequest(7, STATUS);
  const garbage: Record<string, Uint8Array> = {
    "another version": Uint8Array.of(2),
    text: new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"),
    "a length of 4": header(1, 4),
    "a length of 0": header(1, 0),
    "a length above the cap": header(1, MAX_FRAME_BYTES + 1),
    "a length of 4 GiB": header(1, 0xffff_ffff),
    "an unknown type": concatBytes(header(1, 5), new Uint8Array(4), Uint8Array.of(99)),
    "a reply's type": concatBytes(header(1, 5), new Uint8Array(4), Uint8Array.of(0x81)),
    "a status request with a body": concatBytes(header(1, 6), new Uint8Array(4), Uint8Array.of(1, 0)),
    "an attestation cut short": concatBytes(
      header(1, encodeRequest(7, ATTEST).length - 6),
      encodeRequest(7, ATTEST).subarray(5, -1),
    ),
    "an attestation with a byte more": concatBytes(
      header(1, encodeRequest(7, ATTEST).length - 4),
      encodeRequest(7, ATTEST).subarray(5),
      Uint8Array.of(0),
    ),
    "a frame of zeros": concatBytes(header(1, 300), new Uint8Array(300)),
    "a good request and then garbage": concatBytes(valid, Uint8Array.of(9)),
  };
  for (const [what, bytes] of Object.entries(garbage)) {
    it(`closes a connection that sends ${what}, and no other`, async () => {
      const path = await serve(echo);
      const bystander = await connect(path);
      const hostile = await connect(path);
      assert.equal(codeOf(await bystander.ask(STATUS)), "WRONG_PHASE");
      hostile.socket.write(bytes);
      await hostile.closed;
      assert.equal(codeOf(await bystander.ask(STATUS)), "WRONG_PHASE");
    });
  }

  it("hands on what a request was read from, byte for byte", async () => {
    const seen: Uint8Array[] = [];
    const answer: Answer = async (request, payload) => {
      seen.push(payload);
      return echo(request, payload);
    };
    const client = await connect(await serve(answer));
    const frame = encodeRequest(7, ATTEST);
    client.socket.write(frame);
    await client.reply(7);
    assert.deepEqual(seen, [frame.slice(FRAME_HEADER_BYTES)]);
  });

  it("waits for the rest of a frame of the greatest length", async () => {
    const client = await connect(await serve(echo));
    client.socket.write(header(1, MAX_FRAME_BYTES));
    const other = await connect(folder.at("guest.sock"));
    assert.equal(codeOf(await other.ask(STATUS)), "WRONG_PHASE");
    assert.equal(client.socket.destroyed, false);
  });

  /** Answers when it is told to; tells what it was asked. */
  const held = () => {
    const begun: EnclaveRequest["type"][] = [];
    const releases: (() => void)[] = [];
    const answer: Answer = async (request, payload) => {
      begun.push(request.type);
      await new Promise<void>((resolve) => releases.push(resolve));
      return echo(request, payload);
    };
    return { begun, releases, answer };
  };

  it("BUSY beyond the requests that may wait for a reply, counted over all connections", async () => {
    const { begun, releases, answer } = held();
    const path = await serve(answer, { waiting: 3 });
    const one = await connect(path);
    const two = await connect(path);
    one.socket.write(
      concatBytes(
        encodeRequest(1, STATUS),
        encodeRequest(2, ATTEST),
        encodeRequest(3, ATTEST),
        encodeRequest(4, STATUS),
        encodeRequest(5, ATTEST),
      ),
    );
    for (const id of [4, 5]) assert.equal(codeOf(await one.reply(id)), "BUSY");
    for (const request of [STATUS, ATTEST]) assert.equal(codeOf(await two.ask(request)), "BUSY");
    await until("three are in work", () => begun.length === 3);
    for (const release of releases) release();
    for (const id of [1, 2, 3]) assert.equal(codeOf(await one.reply(id)), "WRONG_PHASE");

    // Every place is free again.
    const again = [two.ask(STATUS), two.ask(ATTEST), two.ask(ATTEST)];
    await until("three more are in work", () => begun.length === 6);
    for (const release of releases) release();
    for (const reply of await Promise.all(again)) assert.equal(codeOf(reply), "WRONG_PHASE");
  });

  it("works on attestations together, and answers each when it is done", async () => {
    const { begun, releases, answer } = held();
    const client = await connect(await serve(answer));
    client.socket.write(concatBytes(...[1, 2, 3].map((id) => encodeRequest(id, ATTEST))));
    await until("all are in work", () => begun.length === 3);
    releases[2]!();
    assert.equal(codeOf(await client.reply(3)), "WRONG_PHASE");
    releases[0]!();
    assert.equal(codeOf(await client.reply(1)), "WRONG_PHASE");
    releases[1]!();
    assert.equal(codeOf(await client.reply(2)), "WRONG_PHASE");
  });

  it("works on everything else one after the other, beside the attestations", async () => {
    const { begun, releases, answer } = held();
    const client = await connect(await serve(answer));
    client.socket.write(
      concatBytes(
        encodeRequest(1, { type: "attestation", nonce: SIXTEEN }),
        encodeRequest(2, RELEASE),
        encodeRequest(3, ATTEST),
      ),
    );
    await until("an attestation is in work beside the first", () => begun.includes("attest"));
    assert.deepEqual([...begun].sort(), ["attest", "attestation"]);
    releases[begun.indexOf("attestation")]!();
    assert.equal((await client.reply(1)).type, "attestation");
    await until("the next has its turn", () => begun.includes("release-request"));
    for (const release of releases) release();
    for (const id of [2, 3]) assert.equal(codeOf(await client.reply(id)), "WRONG_PHASE");
  });

  it("answers a status question while two hundred others wait for their turn", async () => {
    const { begun, releases, answer } = held();
    const path = await serve((request, payload) =>
      request.type === "status" ? echo(request, payload) : answer(request, payload),
    );
    const busy = await connect(path);
    busy.socket.write(concatBytes(...Array.from({ length: 200 }, (_, id) => encodeRequest(id, RELEASE))));
    await until("the first is in work", () => begun.length === 1);
    assert.equal(codeOf(await busy.ask(STATUS)), "WRONG_PHASE");
    assert.equal(codeOf(await (await connect(path)).ask(STATUS)), "WRONG_PHASE");
    assert.deepEqual(begun, ["release-request"]);
    busy.end();
    releases[0]!();
  });

  it("closes a connection that keeps still, or sends half a frame for ever, and gives its place to others", async () => {
    const path = await serve(echo, { connections: 3 });
    const [silent, half, active] = [await connect(path), await connect(path), await connect(path)];
    await active.ask(STATUS);
    half.socket.write(header(1, 100));
    await until("all are accepted", () => accepted.length === 3);
    assert.deepEqual(
      [...timers].map(({ ms }) => ms),
      [FRAME_LIMITS.idleMs, FRAME_LIMITS.idleMs, FRAME_LIMITS.idleMs],
    );
    const [first, second] = [...timers];
    // A frame that trickles in is no request: its time goes on.
    for (let i = 0; i < 20; i++) half.socket.write(Uint8Array.of(0));
    await until("it has arrived", () => accepted[1]!.bytesRead === 25);
    assert.ok(timers.has(first!) && timers.has(second!));
    for (const timer of [first!, second!]) {
      timers.delete(timer);
      timer.then();
    }
    await Promise.all([silent.closed, half.closed]);
    assert.equal(codeOf(await active.ask(STATUS)), "WRONG_PHASE");
    assert.equal(codeOf(await (await connect(path)).ask(STATUS)), "WRONG_PHASE");
  });

  it("does not take waiting for a reply for keeping still, and begins the time again with it", async () => {
    const { begun, releases, answer } = held();
    const client = await connect(await serve(answer));
    const reply = client.ask(RELEASE);
    await until("it is in work", () => begun.length === 1);
    pass();
    assert.equal(client.socket.destroyed, false);
    releases[0]!();
    assert.equal(codeOf(await reply), "WRONG_PHASE");
    assert.equal(timers.size, 1);
    pass();
    await client.closed;
    assert.equal(timers.size, 0);
  });

  it("keeps the bytes of connections apart, however they are interleaved", async () => {
    const path = await serve(echo);
    const nonces = Array.from({ length: 8 }, (_, i) => new Uint8Array(16).fill(i + 1));
    const clients = await Promise.all(nonces.map(() => connect(path)));
    const frames = nonces.map((nonce, i) => encodeRequest(i, { type: "attestation", nonce }));
    for (let at = 0; at < frames[0]!.length; at++) {
      for (const [i, client] of clients.entries()) client.socket.write(frames[i]!.subarray(at, at + 1));
      // So that the bytes arrive in this order, one chunk each.
      await new Promise((resolve) => void setImmediate(resolve));
    }
    for (const [i, client] of clients.entries()) {
      assert.deepEqual(await client.reply(i), { type: "attestation", document: nonces[i] });
    }
  });

  it("works on nothing for a connection that is gone", async () => {
    const worked: string[] = [];
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const path = await serve(async (request, payload) => {
      worked.push(request.type);
      await gate;
      return echo(request, payload);
    });
    const leaving = await connect(path);
    leaving.socket.write(
      concatBytes(encodeRequest(1, RELEASE), encodeRequest(2, { type: "attestation", nonce: SIXTEEN })),
    );
    await until("the first is in work", () => worked.length === 1);
    leaving.end();
    await until("the server has noticed", () => accepted[0]!.destroyed);
    release();
    const staying = await connect(path);
    assert.equal(codeOf(await staying.ask(STATUS)), "WRONG_PHASE");
    assert.deepEqual(worked, ["release-request", "status"]);
  });

  it("closes connections beyond the limit, and takes new ones when others end", async () => {
    const path = await serve(echo, { connections: 2 });
    const [one, two] = [await connect(path), await connect(path)];
    await Promise.all([one.ask(STATUS), two.ask(STATUS)]);
    await (
      await connect(path)
    ).closed;
    one.end();
    await until("the place is free", () => accepted.filter((socket) => !socket.destroyed).length === 1);
    const three = await connect(path);
    assert.equal(codeOf(await three.ask(STATUS)), "WRONG_PHASE");
    assert.equal(codeOf(await two.ask(STATUS)), "WRONG_PHASE");
  });

  it("closes a connection that asks and never reads", async () => {
    const big = new Uint8Array(60_000);
    const path = await serve(async () => ({ type: "attestation", document: big }), { unreadBytes: 200_000 });
    const client = createConnection(path);
    folder.hold(client);
    await once(client, "connect");
    client.pause();
    const flood = concatBytes(...Array.from({ length: 20 }, (_, i) => encodeRequest(i, STATUS)));
    await until("the server has closed it", () => {
      if (!client.destroyed) client.write(flood);
      return accepted[0]?.destroyed === true;
    });
    assert.ok(accepted[0]!.writableLength <= 400_000);
    const other = await connect(path);
    assert.equal((await other.ask(STATUS)).type, "attestation");
  });

  it("survives a reset", async () => {
    const path = await serve(echo);
    const client = await connect(path);
    await client.ask(STATUS);
    accepted[0]!.destroy(new Error("as the kernel reports a reset"));
    await client.closed;
    assert.equal(codeOf(await (await connect(path)).ask(STATUS)), "WRONG_PHASE");
  });
});
