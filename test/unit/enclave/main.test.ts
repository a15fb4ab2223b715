import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { makeRoot } from "../../../scripts/dev/certificates.ts";
import { serveModule, simulatedModule } from "../../../scripts/dev/simulated-nsm.ts";
import { codeOf, FrameClient } from "./support/frame-client.ts";
import { MEASUREMENT } from "./support/platforms.ts";
import { SocketFolder, until } from "./support/sockets.ts";

const MAIN = fileURLToPath(new URL("../../../enclave/main.ts", import.meta.url));

describe("enclave/main", function () {
  this.timeout(60_000);
  let folder: SocketFolder;
  let running: ChildProcess | undefined;
  beforeEach(async () => {
    folder = await SocketFolder.make();
  });
  afterEach(async () => {
    running?.kill("SIGKILL");
    await folder.remove();
  });

  /** From source, so that it is measured by the coverage run. */
  const start = (...args: string[]): ChildProcess => {
    running = spawn(process.execPath, ["--import", "tsx", MAIN, ...args], { stdio: "ignore" });
    return running;
  };
  const connect = async (): Promise<FrameClient> => {
    let client: FrameClient | undefined;
    await until("it listens", async () => {
      client = await FrameClient.connect(folder.at("guest.sock")).catch(() => undefined);
      return client !== undefined;
    });
    folder.hold(client!.socket);
    return client!;
  };

  it("listens, boots and serves", async () => {
    const nsm = await folder.listen(
      "nsm.sock",
      serveModule(simulatedModule(makeRoot(new Date()), MEASUREMENT)),
    );
    const child = start(folder.at("guest.sock"), nsm);
    const client = await connect();
    await until("it serves", async () => {
      const status = await client.ask({ type: "status" });
      return status.type === "status" && status.phase === "serving" && status.signer !== ZERO_ADDRESS;
    });
    child.kill("SIGTERM");
    await once(child, "exit");
  });

  it("halts, and says so, when the platform has no key for it", async () => {
    start(folder.at("guest.sock"), folder.at("nobody.sock"));
    const client = await connect();
    await until("it halts", async () => {
      const status = await client.ask({ type: "status" });
      return status.type === "status" && status.phase === "halted" && status.signer === ZERO_ADDRESS;
    });
    const reply = await client.ask({ type: "attestation", nonce: new Uint8Array(32) });
    assert.equal(codeOf(reply), "WRONG_PHASE");
  });

  it("ends at once without its two paths, or when it cannot listen", async () => {
    for (const args of [[], ["one.sock"], [folder.at("no/such/folder.sock"), folder.at("nsm.sock")]]) {
      const child = start(...args);
      const [code] = await once(child, "exit");
      assert.notEqual(code, 0);
    }
  });
});
