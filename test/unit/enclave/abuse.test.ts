import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { startSimulatedEnclave, type SimulatedEnclave } from "../../../scripts/stand-ins/platform/main.ts";
import { ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import type { EnclaveRequest } from "../../../shared/protocol/enclave-messages.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { codeOf, FrameClient } from "./support/frame-client.ts";
import { CHALLENGE, releaseTo } from "./support/key-life.ts";
import { until } from "./support/sockets.ts";
import { aProvenDeposit, leaves } from "./support/statements.ts";
import { HOME } from "../../contract/vectors/story.ts";

/** What a hostile host can send to the compiled program, and what becomes of it. */
describe("the enclave under abuse", function () {
  let folder: string;
  let enclave: SimulatedEnclave;
  let client: FrameClient;
  let restore: EnclaveRequest;

  const ps = (column: string, pid: number): string =>
    execFileSync("ps", ["-ww", "-o", `${column}=`, "-p", String(pid)])
      .toString()
      .trim();
  const residentMb = (): number => Number(ps("rss", enclave.process.pid!)) / 1024;
  const verifiers = (): number[] => {
    try {
      const lines = execFileSync("pgrep", ["-f", `${folder}/image/dist/enclave/verifier`]).toString();
      return lines.trim().split("\n").map(Number);
    } catch {
      return [];
    }
  };
  const connect = (): Promise<FrameClient> => FrameClient.connect(enclave.vsockPath, { handshake: true });
  /** Of every type but status. */
  const requests = async (): Promise<Record<"booting" | "serving", EnclaveRequest[]>> => ({
    booting: [{ type: "genesis", challenge: CHALLENGE }, { type: "release-request" }, restore],
    serving: [
      { type: "attestation", nonce: new Uint8Array(32) },
      aProvenDeposit().request,
      {
        type: "attest-root",
        ...HOME,
        fromIndex: 0n,
        headBefore: ZERO_BYTES32,
        frontier: [],
        leaves: leaves(1),
      },
    ],
  });

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-abuse-"));
    enclave = await startSimulatedEnclave({ folder });
    client = await connect();
    const born = await client.ask({ type: "genesis", challenge: CHALLENGE });
    assert.ok(born.type === "genesis");
    const { sealedKey, birthCertificate } = born;
    restore = { type: "restore", sealedKey, birthCertificate, envelope: new Uint8Array(0) };

    for (const request of (await requests()).serving) {
      assert.equal(codeOf(await client.ask(request)), "WRONG_PHASE", `${request.type} while booting`);
    }
    const asked = await client.ask({ type: "release-request" });
    assert.ok(asked.type === "release-request");
    const envelope = releaseTo(asked.document, sealedKey);
    assert.equal((await client.ask({ ...restore, envelope })).type, "restore");
  });
  after(async () => {
    client.end();
    await enclave.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("answers what belongs to another phase with WRONG_PHASE, and its own still", async () => {
    const { booting, serving } = await requests();
    for (const request of booting)
      assert.equal(codeOf(await client.ask(request)), "WRONG_PHASE", request.type);
    for (const request of serving) assert.equal((await client.ask(request)).type, request.type);
  });

  it("attests a crowd of good proofs and bad ones at once, each for itself", async () => {
    const { request } = aProvenDeposit();
    const otherC = new Uint8Array(request.proof);
    // A point of the curve, but not of this proof.
    otherC.set(request.proof.subarray(0, 64), 192);
    const crowd = Array.from({ length: 40 }, (_, i) =>
      i % 8 === 3 ? { ...request, proof: otherC } : request,
    );
    const replies = await Promise.all(crowd.map((one) => client.ask(one)));
    assert.deepEqual(
      replies.map((reply) => (reply.type === "refused" ? reply.code : reply.type)),
      crowd.map((one) => (one.proof === otherC ? "PROOF_INVALID" : "attest")),
    );
  });

  it("ten thousand connections that say nothing, garbage, or half a frame cost it no memory it keeps", async () => {
    const guest = path.join(path.dirname(enclave.vsockPath), "guest.sock");
    const half = encodeRequest(1, { type: "attestation", nonce: new Uint8Array(32) }).subarray(0, 20);
    // The header of the longest frame, and most of it.
    const long = new Uint8Array(60_000);
    long.set([1, 0, 1, 0, 0]);
    const words = [new Uint8Array(0), new Uint8Array(64).fill(0xee), half, long];
    const before = residentMb();
    let most = before;
    for (let wave = 0; wave < 100; wave++) {
      const sockets = Array.from({ length: 100 }, (_, i) => {
        const socket = createConnection(guest);
        socket.on("error", () => undefined).resume();
        const word = words[i % words.length]!;
        if (word.length > 0) socket.write(word);
        return socket;
      });
      await Promise.all(sockets.map((socket) => opened(socket)));
      if (wave % 10 === 9) {
        most = Math.max(most, residentMb());
        for (const socket of sockets) socket.destroy();
        const reply = await client.ask({ type: "status" });
        assert.equal(reply.type, "status");
      }
      for (const socket of sockets) socket.destroy();
    }
    // 32 connections with 64 KiB each are 2 MiB; the rest is the garbage collector's leisure.
    assert.ok(most < before + 150, `${most.toFixed(0)} MB after ${before.toFixed(0)} MB`);
    assert.ok(most < 500, `${most.toFixed(0)} MB`);

    await until("a new connection is served", async () => {
      const other = await connect();
      const reply = await other.ask({ type: "status" }).catch(() => undefined);
      other.end();
      return reply?.type === "status";
    });
  });

  it("attests again after all its verifiers were killed at once", async () => {
    const { request } = aProvenDeposit();
    const killed = verifiers();
    assert.ok(killed.length > 0);
    for (const pid of killed) process.kill(pid, "SIGKILL");
    await until("it attests again", async () => {
      const reply = await client.ask(request);
      return reply.type === "attest" || codeOf(reply) !== "BUSY";
    });
    assert.equal((await client.ask(request)).type, "attest");
    for (const pid of verifiers()) assert.ok(!killed.includes(pid));
  });

  it("leaves no verifier behind", async () => {
    const left = verifiers();
    assert.ok(left.length > 0);
    enclave.process.kill("SIGKILL");
    await enclave.ended;
    await until("its verifiers are gone", () => left.every((pid) => !isAlive(pid)));
  });
});

/** Or refused, which is as good. */
function opened(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("connect", resolve).once("close", () => resolve());
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
