import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { decodeCbor, encodeCbor } from "../../../shared/protocol/cbor.ts";
import { nitroPlatform } from "../../../enclave/nitro.ts";
import { MAX_NSM_BYTES } from "../../../enclave/nsm.ts";
import { concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { aPlatform } from "./support/platforms.ts";
import { SocketFolder, until } from "./support/sockets.ts";

const REQUEST = { nonce: new Uint8Array(32), userData: new Uint8Array(70) };
const RANDOM_REPLY = encodeCbor(new Map([["GetRandom", new Map([["random", new Uint8Array(256).fill(3)]])]]));

describe("enclave/nitro", () => {
  let folder: SocketFolder;
  beforeEach(async () => {
    folder = await SocketFolder.make();
  });
  afterEach(() => folder.remove());

  const against = async (onConnection: (socket: Socket) => void, nsmTimeoutMs?: number) => {
    const nsmPath = await folder.serve("nsm.sock", onConnection);
    const sockets = {
      listenPath: folder.at("guest.sock"),
      nsmPath,
      verifiersPath: "unused",
    };
    return nitroPlatform(nsmTimeoutMs === undefined ? sockets : { ...sockets, nsmTimeoutMs });
  };
  const framed = (body: Uint8Array): Uint8Array => concatBytes(uintToBytes(BigInt(body.length), 4), body);

  it("gets randomness and documents from the module", async () => {
    const platform = await aPlatform(folder);
    const [one, two] = await Promise.all([platform.randomBytes(32), platform.randomBytes(32)]);
    assert.equal(one?.length, 32);
    assert.notDeepEqual(one, two);
    const document = decodeCbor((await platform.attestationDocument(REQUEST)) ?? new Uint8Array(0));
    assert.equal((document as unknown[]).length, 4);
  });

  it("reads an answer that arrives byte by byte", async () => {
    const platform = await against((socket) => {
      socket.once("data", () => {
        for (const byte of framed(RANDOM_REPLY)) socket.write(Uint8Array.of(byte));
      });
    });
    assert.deepEqual(await platform.randomBytes(2), Uint8Array.of(3, 3));
  });

  it("sends one framed request a connection", async () => {
    const seen: Buffer[] = [];
    const platform = await against((socket) => {
      socket.once("data", (chunk) => {
        seen.push(chunk);
        socket.write(framed(RANDOM_REPLY));
      });
    });
    await platform.randomBytes(1);
    await platform.randomBytes(1);
    assert.deepEqual(seen, [seen[0], seen[0]]);
    assert.equal(seen[0]?.readUInt32BE(0), (seen[0]?.length ?? 0) - 4);
  });

  const faults: Record<string, (socket: Socket) => void> = {
    "closes without an answer": (socket) => socket.destroy(),
    "closes in the middle of one": (socket) => socket.end(framed(RANDOM_REPLY).slice(0, 20)),
    "closes in the middle of the length": (socket) => socket.end(Uint8Array.of(0, 0)),
    "says more than it announced": (socket) =>
      socket.end(concatBytes(framed(RANDOM_REPLY), Uint8Array.of(0))),
    "announces more than any answer has": (socket) => socket.write(uintToBytes(BigInt(MAX_NSM_BYTES + 1), 4)),
    "announces nothing": (socket) => socket.write(new Uint8Array(4)),
    "answers with an error": (socket) =>
      socket.write(framed(encodeCbor(new Map([["Error", "InternalError"]])))),
  };
  for (const [what, behave] of Object.entries(faults)) {
    it(`goes without when the module ${what}`, async () => {
      const platform = await against((socket) => socket.once("data", () => behave(socket)));
      assert.equal(await platform.randomBytes(32), undefined);
      assert.equal(await platform.attestationDocument(REQUEST), undefined);
    });
  }

  it("goes without when the module keeps still", async () => {
    const platform = await against(() => undefined, 50);
    assert.equal(await platform.randomBytes(32), undefined);
  });

  it("goes without when there is no module", async () => {
    const platform = nitroPlatform({
      listenPath: folder.at("guest.sock"),
      nsmPath: folder.at("nobody.sock"),
      verifiersPath: "unused",
    });
    assert.equal(await platform.randomBytes(32), undefined);
    assert.equal(await platform.attestationDocument(REQUEST), undefined);
  });

  describe("a verifier", () => {
    const MOST = 16_384;
    let served = 0;
    /** A platform whose verifiers do this, and what was heard of the one that it started. */
    const verifying = async (onConnection: (socket: Socket) => void) => {
      const verifiersPath = await folder.serve(`verifiers-${String(served++)}.sock`, onConnection);
      const { startVerifier } = nitroPlatform({ listenPath: "", nsmPath: "", verifiersPath });
      const heard: Uint8Array[] = [];
      let onAnswer = (): void => undefined;
      let ends = 0;
      const process = startVerifier({
        answered: (message) => {
          heard.push(message);
          onAnswer();
        },
        ended: () => (ends += 1),
      });
      const ended = (): Promise<boolean> => until("it ends", () => ends > 0);
      return {
        process,
        heard,
        ended,
        ends: () => ends,
        whenAnswered: (then: () => void) => (onAnswer = then),
      };
    };

    it("is sent framed messages, and answers with such, cut anywhere", async () => {
      const seen: Buffer[] = [];
      const { process, heard } = await verifying((socket) => {
        socket.on("data", (chunk) => {
          seen.push(chunk);
          for (const byte of framed(Uint8Array.of(7, 8, 9))) socket.write(Uint8Array.of(byte));
        });
      });
      process.send(Uint8Array.of(1, 2));
      await until("it answers", () => heard.length > 0);
      assert.deepEqual(heard, [Uint8Array.of(7, 8, 9)]);
      assert.deepEqual(Buffer.concat(seen), Buffer.from([0, 0, 0, 2, 1, 2]));
      process.kill();
    });

    it("loses its connection when it is killed, is heard no more, and has ended once", async () => {
      let isClosed = false;
      const { process, heard, ended, ends, whenAnswered } = await verifying((socket) => {
        socket.once("close", () => (isClosed = true));
        socket.write(concatBytes(framed(Uint8Array.of(1)), framed(Uint8Array.of(2))));
      });
      whenAnswered(() => process.kill());
      await ended();
      await until("the other side is closed", () => isClosed);
      assert.deepEqual(heard, [Uint8Array.of(1)]);
      process.kill();
      process.send(Uint8Array.of(1));
      await new Promise<void>((resolve) => void setImmediate(resolve));
      assert.equal(ends(), 1);
    });

    it("that announces more than an answer has is killed", async () => {
      const { heard, ended } = await verifying((socket) => socket.write(uintToBytes(BigInt(MOST + 1), 4)));
      await ended();
      assert.deepEqual(heard, []);
    });

    it("may answer to the last byte of that", async () => {
      const { process, heard } = await verifying((socket) => socket.write(framed(new Uint8Array(MOST))));
      await until("it answers", () => heard.length > 0);
      assert.equal(heard[0]!.length, MOST);
      process.kill();
    });

    it("has ended where its connection does, and where there is none", async () => {
      await (await verifying((socket) => void socket.end())).ended();
      await (await verifying((socket) => void socket.destroy())).ended();
      const verifiersPath = folder.at("nobody.sock");
      const { startVerifier } = nitroPlatform({ listenPath: "", nsmPath: "", verifiersPath });
      await new Promise<void>((ended) => void startVerifier({ answered: () => undefined, ended }));
    });
  });

  it("listens where it is told, and rejects when it cannot", async () => {
    const platform = await aPlatform(folder);
    const accepted = new Promise<Socket>((resolve) => {
      void platform
        .listen((socket) => {
          folder.hold(socket);
          resolve(socket);
          // The server has no handle here; the process must still be able to end.
          (socket as unknown as { server?: { unref(): void } }).server?.unref();
        })
        .then(() => {
          const client = createConnection(folder.at("guest.sock"));
          folder.hold(client);
          return once(client, "connect");
        });
    });
    await accepted;
    await assert.rejects(
      platform.listen(() => undefined),
      { code: "EADDRINUSE" },
    );
  });

  it("lets waiting work run in a turn", async () => {
    const platform = await aPlatform(folder);
    let ran = false;
    setImmediate(() => (ran = true));
    await platform.turn();
    assert.equal(ran, true);
  });
});
