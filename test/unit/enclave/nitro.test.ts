import assert from "node:assert/strict";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { decodeCbor, encodeCbor } from "../../../shared/protocol/cbor.ts";
import { nitroPlatform } from "../../../enclave/nitro.ts";
import { MAX_NSM_BYTES } from "../../../enclave/nsm.ts";
import { concatBytes, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { aPlatform } from "./support/platforms.ts";
import { SocketFolder } from "./support/sockets.ts";

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
    const sockets = { listenPath: folder.at("guest.sock"), nsmPath, verifierPath: "unused" };
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
      verifierPath: "unused",
    });
    assert.equal(await platform.randomBytes(32), undefined);
    assert.equal(await platform.attestationDocument(REQUEST), undefined);
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
