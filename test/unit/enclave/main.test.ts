import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { verifyTypedData } from "ethers";
import { developmentRoot } from "../../../scripts/image/development-keys.ts";
import { serveModule, simulatedModule } from "../../../scripts/stand-ins/platform/nsm.ts";
import { buildImage } from "../../../scripts/image/assemble.ts";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { PROGRAMS } from "../../../scripts/image/measurement.ts";
import { verifierLauncher } from "../../../scripts/stand-ins/platform/verifier-launcher.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import type { EnclavePhase, EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { attestationType } from "../../support/oracle.ts";
import { codeOf, FrameClient } from "./support/frame-client.ts";
import { CHALLENGE, CONFIGURATION, releaseTo } from "./support/key-life.ts";
import { MEASUREMENT } from "./support/platforms.ts";
import { SocketFolder, until } from "./support/sockets.ts";
import { aProvenSpend } from "./support/statements.ts";

for (const program of Object.values(PROGRAMS)) {
  describe(`enclave/main: the ${program.name} program`, function () {
    let images: SocketFolder;
    let folder: SocketFolder;
    let running: ChildProcess | undefined;
    before(async () => {
      images = await SocketFolder.make();
      const configuration = await developmentConfiguration();
      await buildImage({ to: images.at("image"), configuration, program: program.name });
    });
    after(() => images.remove());
    beforeEach(async () => {
      folder = await SocketFolder.make();
    });
    afterEach(async () => {
      running?.kill("SIGKILL");
      await folder.remove();
    });

    /** The built image: where the program finds its configuration is a part of it. */
    const start = (...args: string[]): ChildProcess => {
      running = spawn(process.execPath, [images.at(`image/${program.main}`), ...args], {
        stdio: "ignore",
        env: {},
      });
      return running;
    };
    const verifiers = (): Promise<string> =>
      folder.listen("verifiers.sock", verifierLauncher({ file: images.at(`image/${program.verifier}`) }));
    const nsm = (): Promise<string> =>
      folder.listen("nsm.sock", serveModule(simulatedModule(developmentRoot(), MEASUREMENT)));
    const connect = async (): Promise<FrameClient> => {
      let client: FrameClient | undefined;
      await until("it listens", async () => {
        client = await FrameClient.connect(folder.at("guest.sock")).catch(() => undefined);
        return client !== undefined;
      });
      folder.hold(client!.socket);
      return client!;
    };
    const phaseOf = async (client: FrameClient): Promise<EnclavePhase> => {
      const status = await client.ask({ type: "status" });
      assert.ok(status.type === "status");
      return status.phase;
    };
    const restore = async (client: FrameClient, born: EnclaveReply): Promise<string> => {
      const asked = await client.ask({ type: "release-request" });
      assert.ok(asked.type === "release-request" && born.type === "genesis");
      const { sealedKey, birthCertificate } = born;
      const envelope = releaseTo(asked.document, sealedKey);
      const reply = await client.ask({ type: "restore", sealedKey, birthCertificate, envelope });
      assert.ok(reply.type === "restore");
      return reply.signer;
    };

    it("boots, seals a key, and serves with that key in every process that KMS releases it to", async () => {
      const nsmPath = await nsm();
      const verifiersPath = await verifiers();
      const signers: string[] = [];
      let born: EnclaveReply | undefined;
      for (let i = 0; i < 2; i++) {
        const child = start(folder.at("guest.sock"), nsmPath, verifiersPath);
        const client = await connect();
        const status = await client.ask({ type: "status" });
        assert.deepEqual(status, {
          type: "status",
          phase: "booting",
          signer: ZERO_ADDRESS,
          configurationHash: CONFIGURATION.hash,
          circuitsHash: CONFIGURATION.circuitsHash,
        });
        born ??= await client.ask({ type: "genesis", challenge: CHALLENGE });
        signers.push(await restore(client, born));
        assert.equal(await phaseOf(client), "serving");
        const { request } = aProvenSpend();
        const attested = await client.ask(request);
        assert.ok(attested.type === "attest");
        const message = {
          kind: request.kindId,
          verifyingKeyHash: CONFIGURATION.verifyingKeyHashes.spend,
          statementHash: attested.statementHash,
          proofHash: attested.proofHash,
          deadline: request.deadline,
        };
        const recovered = verifyTypedData(...attestationType(request), message, toHex(attested.signature));
        assert.equal(recovered.toLowerCase(), signers.at(-1));
        child.kill("SIGTERM");
        await once(child, "exit");
        await rm(folder.at("guest.sock"), { force: true });
      }
      assert.equal(signers[0], signers[1]);
      assert.notEqual(signers[0], ZERO_ADDRESS);
    });

    it("stays booting while the platform does not answer", async () => {
      const nobody = folder.at("nobody.sock");
      start(folder.at("guest.sock"), nobody, await verifiers());
      const client = await connect();
      const genesis = await client.ask({ type: "genesis", challenge: CHALLENGE });
      assert.equal(codeOf(genesis), "PLATFORM_UNAVAILABLE");
      assert.equal(codeOf(await client.ask({ type: "release-request" })), "PLATFORM_UNAVAILABLE");
      assert.equal(codeOf(await client.ask({ type: "attestation", nonce: CHALLENGE })), "WRONG_PHASE");
      assert.equal(await phaseOf(client), "booting");
    });

    it("halts, and says so, when its configuration is not one", async () => {
      const configuration = images.at("image/configuration.json");
      await writeFile(configuration, "{}");
      start(folder.at("guest.sock"), await nsm(), await verifiers());
      const client = await connect();
      assert.equal(await phaseOf(client), "halted");
      assert.equal(codeOf(await client.ask({ type: "genesis", challenge: CHALLENGE })), "WRONG_PHASE");
      await writeFile(configuration, await developmentConfiguration());
    });

    it("halts, and says so, without its verifiers", async () => {
      start(folder.at("guest.sock"), await nsm(), folder.at("nobody.sock"));
      assert.equal(await phaseOf(await connect()), "halted");
    });

    it("ends at once without its three paths, or when it cannot listen", async () => {
      for (const args of [
        [],
        ["one.sock", "two.sock"],
        [folder.at("no/such/folder.sock"), folder.at("nsm.sock"), "verifiers.sock"],
      ]) {
        const child = start(...args);
        const [code] = await once(child, "exit");
        assert.notEqual(code, 0);
      }
    });
  });
}
