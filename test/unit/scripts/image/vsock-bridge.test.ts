// The host's bridge between the proxy's Unix socket and the enclave, here with a Unix socket as the guest's end.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createConnection, type Socket } from "node:net";
import { COMPILER_IS_MISSING, CompiledPrograms } from "../../../support/init/compiled.ts";
import { SocketFolder, until } from "../../enclave/support/sockets.ts";

const HANDSHAKE = "CONNECT 5000\n";

describe(`scripts/image/host/vsock-bridge${COMPILER_IS_MISSING === undefined ? "" : ` (${COMPILER_IS_MISSING})`}`, function () {
  let programs: CompiledPrograms | undefined;
  let bridge: string;
  let folder: SocketFolder;
  before(async function () {
    if (COMPILER_IS_MISSING !== undefined) this.skip();
    programs = await CompiledPrograms.make();
    bridge = await programs.compile("vsock-bridge", "watched");
  });
  after(() => programs?.remove());
  beforeEach(async () => {
    folder = await SocketFolder.make();
  });
  afterEach(async () => {
    await folder.remove();
    await programs?.stop();
  });

  const start = async (): Promise<void> => {
    programs!.start(bridge, folder.at("host.sock"), "5000", `unix:${folder.at("guest.sock")}`);
    await until("it listens", async () => (await connect().catch(() => undefined)) !== undefined);
  };
  const connect = async (): Promise<Socket> => {
    const socket = createConnection({ path: folder.at("host.sock"), allowHalfOpen: true });
    folder.hold(socket);
    await once(socket, "connect");
    return socket;
  };
  /** What comes back until the bridge closes, after all of `parts` were sent one by one. */
  const say = async (...parts: string[]): Promise<string> => {
    const socket = await connect();
    let heard = "";
    socket.on("data", (chunk: Buffer) => (heard += chunk.toString()));
    for (const part of parts) await new Promise((resolve) => socket.write(part, resolve));
    socket.end();
    await new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
    return heard;
  };
  const echo = (): Promise<string> => folder.serve("guest.sock", (socket) => void socket.pipe(socket));

  it("compiles as the image's init does, without a warning", async () => {
    const { status, stderr } = spawnSync(await programs!.compile("vsock-bridge", "image"), {
      encoding: "utf8",
    });
    assert.equal(status, 2);
    assert.match(stderr, /^usage: vsock-bridge /);
  });

  for (const [what, args] of Object.entries({
    "no guest": ["host.sock", "5000"],
    "a guest of another kind": ["host.sock", "5000", "tcp:1"],
    "a port that is no number": ["host.sock", "5000x", "vsock:16"],
    "a cid that is no number": ["host.sock", "5000", "vsock:"],
    "a cid beyond 32 bits": ["host.sock", "5000", "vsock:4294967296"],
    "a port below zero": ["host.sock", "-1", "vsock:16"],
    "one word too many": ["host.sock", "5000", "vsock:16", "x"],
  })) {
    it(`does not start with ${what}`, () => {
      assert.equal(spawnSync(bridge, args, { cwd: folder.path }).status, 2);
    });
  }

  it("answers the handshake and carries what follows it, in the same packet or byte by byte", async () => {
    await echo();
    await start();
    assert.equal(await say(`${HANDSHAKE}frames`), "OK 5000\nframes");
    assert.equal(await say(...`${HANDSHAKE}frames`.match(/[^]/g)!), "OK 5000\nframes");
  });

  for (const line of [
    "CONNECT 5001\n",
    "connect 5000\n",
    "CONNECT 5000 \n",
    "CONNECT 50000\n",
    "\n",
    "x".repeat(99),
  ]) {
    it(`closes on ${JSON.stringify(line.slice(0, 20))}, and the enclave receives nothing of it`, async () => {
      let connections = 0;
      await folder.serve("guest.sock", () => connections++);
      await start();
      assert.equal(await say(line), "");
      assert.equal(connections, 0);
    });
  }

  it("closes without an answer while the enclave is unreachable, and serves when it is there", async () => {
    await start();
    assert.equal(await say(HANDSHAKE), "");
    await echo();
    assert.equal(await say(HANDSHAKE, "x"), "OK 5000\nx");
  });

  it("serves others while one does not finish its handshake", async () => {
    await echo();
    await start();
    const stalled = await connect();
    stalled.write("CONN");
    assert.equal(await say(HANDSHAKE, "x"), "OK 5000\nx");
    stalled.destroy();
  });

  it("starts again over the socket that a killed one left", async () => {
    await echo();
    await start();
    await programs!.stop();
    await assert.rejects(connect(), { code: "ECONNREFUSED" });
    await start();
    assert.equal(await say(HANDSHAKE, "x"), "OK 5000\nx");
  });
});
