import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, cp, mkdtemp, rm } from "node:fs/promises";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { verifyTypedData } from "ethers";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { startSimulatedEnclave, type SimulatedEnclave } from "../../../scripts/stand-ins/platform/main.ts";
import { ENCLAVE_FOLDER, measureImage } from "../../../scripts/image/measurement.ts";
import { ZERO_ADDRESS, ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import { concatBytes, toHex } from "../../../shared/protocol/bytes.ts";
import type { AttestRequest, EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { attestationType } from "../../support/oracle.ts";
import { codeOf, FrameClient } from "./support/frame-client.ts";
import { CHALLENGE, CONFIGURATION, releaseTo, verified, type Pair } from "./support/key-life.ts";
import { until } from "./support/sockets.ts";
import { aProvenDeposit, aProvenSpend, leaves } from "./support/statements.ts";
import { HOME } from "../../contract/vectors/story.ts";

const PLATFORM = fileURLToPath(new URL("../../../scripts/stand-ins/platform/main.ts", import.meta.url));

async function born(client: FrameClient): Promise<Pair> {
  const reply = await client.ask({ type: "genesis", challenge: CHALLENGE });
  assert.ok(reply.type === "genesis");
  return { sealedKey: reply.sealedKey, birthCertificate: reply.birthCertificate };
}

/** KMS without its policy: what the enclave itself refuses must not rest on KMS. */
async function restore(client: FrameClient, pair: Pair): Promise<EnclaveReply> {
  const asked = await client.ask({ type: "release-request" });
  assert.ok(asked.type === "release-request");
  const envelope = releaseTo(asked.document, pair.sealedKey);
  return client.ask({ type: "restore", ...pair, envelope });
}

/** The compiled program in its own process, through the host's end of vsock. */
describe("the enclave as a process", function () {
  let folder: string;
  let enclave: SimulatedEnclave;
  let client: FrameClient;
  let signer: Address;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-platform-"));
    enclave = await startSimulatedEnclave({ folder });
    client = await FrameClient.connect(enclave.vsockPath, { handshake: true });
    const restored = await restore(client, await born(client));
    assert.ok(restored.type === "restore");
    signer = restored.signer;
    assert.deepEqual(await client.ask({ type: "status" }), {
      type: "status",
      phase: "serving",
      signer,
      configurationHash: CONFIGURATION.hash,
      circuitsHash: CONFIGURATION.circuitsHash,
    });
  });
  after(async () => {
    client.end();
    await enclave.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const connect = (): Promise<FrameClient> => FrameClient.connect(enclave.vsockPath, { handshake: true });

  for (const [kind, make] of [
    ["deposit-shield", aProvenDeposit],
    ["spend", aProvenSpend],
  ] as const) {
    it(`attests a real ${kind}, and refuses it with one byte of the proof changed`, async () => {
      const { request } = make();
      const reply = await client.ask(request);
      assert.ok(reply.type === "attest");
      const recovered = verifyTypedData(
        ...attestationType(request),
        {
          kind: request.kindId,
          verifyingKeyHash: CONFIGURATION.verifyingKeyHashes[kind],
          statementHash: reply.statementHash,
          proofHash: reply.proofHash,
          deadline: request.deadline,
        },
        toHex(reply.signature),
      );
      assert.equal(recovered.toLowerCase(), signer);
      const proof = new Uint8Array(request.proof);
      proof[200]! ^= 1;
      assert.equal(codeOf(await client.ask({ ...request, proof })), "PROOF_NOT_ON_CURVE");
    });
  }

  it("attests a root update", async () => {
    const reply = await client.ask({
      type: "attest-root",
      ...HOME,
      fromIndex: 0n,
      headBefore: ZERO_BYTES32,
      frontier: [],
      leaves: leaves(256),
    });
    assert.ok(reply.type === "attest-root");
    assert.equal(reply.toIndex, 256n);
  });

  it("answers many requests at once, good and bad, each for itself", async () => {
    const { request } = aProvenDeposit();
    const bad: AttestRequest = { ...request, chainId: 2n };
    const replies = await Promise.all([request, bad, request, bad].map((one) => client.ask(one)));
    assert.deepEqual(
      replies.map((reply) => (reply.type === "refused" ? reply.code : reply.type)),
      ["attest", "CONTEXT_MISMATCH", "attest", "CONTEXT_MISMATCH"],
    );
  });

  it("proves in a document what runs, who signs, and that it is fresh", async () => {
    const nonce = new Uint8Array(32).fill(0x5a);
    const reply = await client.ask({ type: "attestation", nonce });
    assert.ok(reply.type === "attestation");
    const measured = await measureImage(path.join(folder, "image"));
    assert.deepEqual(enclave.measurement, measured);
    const document = verified(reply.document, {
      at: Date.now(),
      maxAgeMs: 600_000,
      measurements: [measured],
      nonce,
      type: "live",
    });
    assert.deepEqual(document.claims, { type: "live", signer, configurationHash: CONFIGURATION.hash });
    assert.equal(document.publicKey, undefined);
  });

  it("closes a connection of garbage and goes on with the others", async () => {
    const hostile = await connect();
    hostile.socket.write(new Uint8Array(1_000).fill(0xee));
    await hostile.closed;
    assert.equal((await client.ask({ type: "status" })).type, "status");
  });

  it("takes 64 KiB that trickle in, and answers others meanwhile", async () => {
    const slow = await connect();
    const { request } = aProvenDeposit();
    const frame = encodeRequest(1, { ...request, ext: new Uint8Array(60_000) });
    slow.socket.setNoDelay(true);
    for (let at = 0; at < frame.length; at += 7) slow.socket.write(frame.subarray(at, at + 7));
    assert.equal((await client.ask({ type: "status" })).type, "status");
    assert.equal(codeOf(await slow.reply(1)), "EXT_MALFORMED");
    slow.end();
  });

  it("takes bytes that follow the handshake in the same packet", async () => {
    const socket = createConnection(enclave.vsockPath);
    await once(socket, "connect");
    socket.write(
      concatBytes(new TextEncoder().encode("CONNECT 5000\n"), encodeRequest(3, { type: "status" })),
    );
    let held = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => (held = Buffer.concat([held, chunk])));
    await until("both answers", () => /^OK \d+\n\x01/.test(held.toString("latin1")));
    socket.destroy();
  });

  const notTheHandshake = [
    "CONNECT 5001\n",
    "connect 5000\n",
    "CONNECT 5000 \n",
    "CONNECT\n",
    "\n",
    "x".repeat(64),
    "CONNECT 99999999999\n",
  ];
  for (const line of notTheHandshake) {
    it(`the host's end closes on ${JSON.stringify(line.slice(0, 20))}`, async () => {
      const socket = createConnection(enclave.vsockPath);
      await once(socket, "connect");
      const closed = once(socket, "close");
      socket.resume().on("error", () => undefined);
      socket.write(line);
      await closed;
    });
  }

  it("will not start twice from one folder", async () => {
    await assert.rejects(startSimulatedEnclave({ folder }), /already running/);
    assert.equal((await client.ask({ type: "status" })).type, "status");
  });
});

describe("an image with one byte changed", function () {
  let folder: string;
  let enclaveFolder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-changed-"));
    enclaveFolder = path.join(folder, "enclave");
    for (const part of ["package.json", "package-lock.json", "dist", "node_modules"]) {
      await cp(path.join(ENCLAVE_FOLDER, part), path.join(enclaveFolder, part), { recursive: true });
    }
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** What each makes of one pair: the first is where it was born. */
  const restoring = async (...starts: (() => Promise<SimulatedEnclave>)[]): Promise<EnclaveReply[]> => {
    const replies: EnclaveReply[] = [];
    let pair: Pair | undefined;
    for (const start of starts) {
      const enclave = await start();
      const client = await FrameClient.connect(enclave.vsockPath, { handshake: true });
      pair ??= await born(client);
      replies.push(await restore(client, pair));
      client.end();
      await enclave.stop();
    }
    return replies;
  };

  it("measures differently and refuses the key of the unchanged one, which takes it again", async () => {
    const at = path.join(folder, "platform");
    const [first, changed, again] = await restoring(
      () => startSimulatedEnclave({ folder: at, enclaveFolder }),
      async () => {
        await appendFile(path.join(enclaveFolder, "dist", "enclave", "attest.js"), "\n");
        return startSimulatedEnclave({ folder: at, enclaveFolder });
      },
      () => startSimulatedEnclave({ folder: at }),
    );
    assert.ok(first?.type === "restore");
    assert.equal(codeOf(changed!), "RESTORE_REFUSED");
    assert.deepEqual(again, first);
  });

  it("of its configuration too", async () => {
    const text = await developmentConfiguration();
    const at = path.join(folder, "platform");
    const [first, changed] = await restoring(
      () => startSimulatedEnclave({ folder: at }),
      () => startSimulatedEnclave({ folder: at, configuration: `${text} ` }),
    );
    assert.ok(first?.type === "restore");
    assert.equal(codeOf(changed!), "RESTORE_REFUSED");
  });

  it("does not boot without a configuration, nor without one of its files", async () => {
    await assert.rejects(startSimulatedEnclave({ folder, configuration: "{}" }), /halted at boot/);
    await rm(path.join(enclaveFolder, "dist", "enclave", "signer.js"));
    await assert.rejects(
      startSimulatedEnclave({ folder, enclaveFolder }),
      /the enclave ended: [\s\S]*signer\.js/,
    );
  });

  it("starts from a folder too deep for a socket's name", async () => {
    const deep = path.join(folder, "d".repeat(90), "e".repeat(90));
    const enclave = await startSimulatedEnclave({ folder: deep });
    const client = await FrameClient.connect(enclave.vsockPath, { handshake: true });
    assert.equal((await client.ask({ type: "status" })).type, "status");
    client.end();
    await enclave.stop();
    await rm(path.dirname(enclave.vsockPath), { recursive: true });
  });
});

describe("the simulated platform as a program", function () {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-platform-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const start = async (...flags: string[]) => {
    const platform = spawn(process.execPath, ["--import", "tsx", PLATFORM, "--folder", folder, ...flags], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [line] = await once(createInterface(platform.stdout), "line");
    const told = JSON.parse(line) as { vsockPath: string; enclavePid: number; rootCertificate: string };
    return { platform, exited: once(platform, "exit"), ...told };
  };
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  it("says where it waits for its key; keeps path and root over a restart, never the key", async () => {
    const places: string[] = [];
    for (let i = 0; i < 2; i++) {
      const { platform, exited, vsockPath, rootCertificate, enclavePid } = await start();
      const client = await FrameClient.connect(vsockPath, { handshake: true });
      const status = await client.ask({ type: "status" });
      assert.ok(status.type === "status");
      assert.equal(status.phase, "booting");
      assert.equal(status.signer, ZERO_ADDRESS);
      places.push(vsockPath + rootCertificate);
      client.end();
      platform.kill("SIGTERM");
      assert.deepEqual(await exited, [0, null]);
      assert.equal(isAlive(enclavePid), false);
    }
    assert.equal(places[0], places[1]);
  });

  it("ends with its enclave", async () => {
    const { exited, enclavePid } = await start();
    process.kill(enclavePid, "SIGKILL");
    assert.deepEqual(await exited, [1, null]);
  });

  it("takes its enclave with it, however hard it is killed, and starts again after that", async () => {
    const { platform, exited, enclavePid } = await start();
    platform.kill("SIGKILL");
    await exited;
    await until("the enclave is gone", () => !isAlive(enclavePid));
    const again = await start("--with-stdin");
    again.platform.stdin.end();
    assert.deepEqual(await again.exited, [0, null]);
    assert.equal(isAlive(again.enclavePid), false);
  });
});
