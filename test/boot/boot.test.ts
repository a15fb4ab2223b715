// The image file itself, as the builder makes it, on an emulated Nitro machine: real kernel, real init, real program,
// and a security module whose registers are those of the file. A key's whole life, over two starts of one file.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { verifyTypedData } from "ethers";
import { parseConfiguration, type Configuration } from "../../enclave/configuration.ts";
import { CourierFault, createKeyRelease, restoreEnclave } from "../../proxy/api/enclave-link/key-courier.ts";
import { createLink, type EnclaveLink } from "../../proxy/api/enclave-link/link.ts";
import type { SignerPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import { developmentConfiguration } from "../../scripts/image/configuration.ts";
import {
  DEVELOPMENT_KEY_ARN,
  DEVELOPMENT_REGION,
  developmentKeyArn,
  developmentRoot,
} from "../../scripts/image/development-keys.ts";
import { measureEif, readEif, type EifMeasurement } from "../../scripts/image/eif.ts";
import { makePair, pairFault } from "../../scripts/operator/birth.ts";
import { developmentPolicy } from "../../scripts/stack/development-signer.ts";
import { startDevelopmentKms, type DevelopmentKms } from "../../scripts/stand-ins/kms/server.ts";
import { DEVELOPMENT_CREDENTIAL } from "../../scripts/stand-ins/kms/signature.ts";
import {
  readAttestation,
  verifyAttestation,
  type Measurement,
} from "../../shared/protocol/attestation-document.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import type { EnclavePhase, EnclaveReply } from "../../shared/protocol/enclave-messages.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { proofHashOf } from "../../shared/protocol/proof.ts";
import { statementHashOf } from "../../shared/protocol/statements.ts";
import { attestationType } from "../support/oracle.ts";
import { until } from "../support/until.ts";
import { aProvenSpend } from "../unit/enclave/support/statements.ts";
import { testImage, type TestImage } from "./machine/image.ts";
import { machineFolder, startMachine, type Machine } from "./machine/machine.ts";

/** An emulated processor is twenty times slower, and the suite shares the real ones. */
const BOOTED_WITHIN_MS = 300_000;
const ANSWERED_WITHIN_MS = 120_000;
const UNUSED_REGISTERS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

interface ImageFile {
  /** Its path. */
  readonly eif: string;
  /** Computed from the file alone. */
  readonly measurement: EifMeasurement;
}

describe("the image file on an emulated Nitro machine", function () {
  this.timeout(600_000);
  let folder: string;
  let machineMade: string;
  let image: TestImage;
  let original: ImageFile;
  let configuration: Configuration;
  /** Of what runs. */
  let booted: Configuration;
  let machine: Machine | undefined;
  let link: EnclaveLink;
  let pair: SignerPair;
  let kms: DevelopmentKms;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-boot-"));
    machineMade = await machineFolder();
    configuration = parseConfiguration(await developmentConfiguration());
    const text = await developmentConfiguration();
    image = await testImage({ machine: machineMade, configuration: text, folder, program: "first" });
    original = await write("original");
    kms = await startDevelopmentKms({ policy: developmentPolicy(original.measurement) });
    await boot(original);
  });
  after(async () => {
    await stop();
    await kms.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function write(name: string, of = image): Promise<ImageFile> {
    const file = await of.file();
    const eif = path.join(folder, `${name}.eif`);
    await writeFile(eif, file);
    const read = readEif(file);
    const measurement = typeof read === "string" ? read : measureEif(read);
    if (typeof measurement === "string") throw new Error(measurement);
    return { eif, measurement };
  }

  async function boot({ eif }: ImageFile, of = configuration): Promise<void> {
    await stop();
    booted = of;
    machine = await startMachine({ machine: machineMade, eif, root: developmentRoot() });
    link = createLink({ path: machine.vsockPath, port: ENCLAVE_PORT }, { timeoutMs: ANSWERED_WITHIN_MS });
    const { ended, console } = machine;
    let gone: "gone" | undefined;
    void ended.then(() => (gone = "gone"));
    const look = async (): Promise<string | undefined> => gone ?? (await phase().catch(() => undefined));
    const answer = await until("an answer", look, BOOTED_WITHIN_MS).catch(() => undefined);
    if (answer === undefined || answer === "gone")
      throw new Error(`it does not boot; the end of its console:\n${(await console()).slice(-3_000)}`);
  }
  async function stop(): Promise<void> {
    if (machine === undefined) return;
    link.close();
    await machine.stop();
    machine = undefined;
  }

  async function phase(): Promise<EnclavePhase> {
    const status = await link.ask({ type: "status" });
    assert.ok(status.type === "status");
    assert.equal(status.configurationHash, booted.hash);
    return status.phase;
  }

  /** By the proxy's courier, from KMS with a policy that names this measurement. */
  async function restoredBy(measurement: Measurement): Promise<Address> {
    kms.setPolicy(developmentPolicy(measurement));
    try {
      return await restoredWith(pair);
    } finally {
      kms.setPolicy(developmentPolicy(original.measurement));
    }
  }
  async function restoredWith(born: SignerPair): Promise<Address> {
    const release = createKeyRelease({
      region: DEVELOPMENT_REGION,
      endpoint: kms.url,
      credentials: DEVELOPMENT_CREDENTIAL,
    });
    try {
      return await restoreEnclave(link, born, release);
    } finally {
      release.close();
    }
  }
  const isDenied = (error: unknown): boolean => error instanceof CourierFault && error.code === "KMS_DENIED";

  async function attests({ signer }: SignerPair): Promise<void> {
    const { request, proof } = aProvenSpend();
    const reply: EnclaveReply = await link.ask(request);
    assert.ok(reply.type === "attest", JSON.stringify(reply));
    const statementHash = statementHashOf("spend", request.deadline, request.signals, request.ext);
    assert.equal(reply.statementHash, statementHash);
    const message = {
      kind: request.kindId,
      verifyingKeyHash: configuration.verifyingKeyHashes.spend,
      statementHash,
      proofHash: proofHashOf(proof),
      deadline: request.deadline,
    };
    const recovered = verifyTypedData(...attestationType(request), message, toHex(reply.signature));
    assert.equal(recovered.toLowerCase(), signer);

    const [, nullifier, ...rest] = request.signals;
    const forged = { ...request, signals: [request.signals[0]!, nullifier! + 1n, ...rest] };
    assert.deepEqual(await link.ask(forged), { type: "refused", code: "PROOF_INVALID" });
  }

  describe("the first start", () => {
    it("ends with the init's heartbeat and a program that waits for its key", async () => {
      assert.deepEqual([...(await machine!.heartbeat)], [0xb7]);
      assert.equal(await phase(), "booting");
      assert.doesNotMatch(await machine!.console(), /^(init|first):/m);
    });

    it("outlives a client that sends garbage, who loses the connection", async () => {
      const garbage = connect(machine!.vsockPath, () => {
        garbage.write(`CONNECT ${String(ENCLAVE_PORT)}\n`);
        garbage.write(new Uint8Array(100_000).fill(0xee));
      });
      garbage.on("error", () => garbage.destroy()).resume();
      await once(garbage, "close");
      assert.equal(await phase(), "booting");
    });

    it("bears a signer whose certificate holds the registers that were computed from the file alone", async () => {
      const policy = { configuration, measurements: [original.measurement] };
      const challenge = new Uint8Array(randomBytes(32));
      pair = await makePair(link, { ...policy, challenge }, DEVELOPMENT_KEY_ARN);
      assert.equal(pairFault(pair, policy), undefined);

      const { measurement, pcrs } = readAttestation(pair.birthCertificate)!;
      assert.deepEqual(measurement, original.measurement);
      for (const register of UNUSED_REGISTERS)
        assert.deepEqual(pcrs.get(register), new Uint8Array(48), `PCR${String(register)}`);
    });
  });

  describe("the second start of the same file", () => {
    before(() => boot(original));

    it("gets no key of a KMS whose policy differs in one register", async () => {
      for (const register of ["pcr0", "pcr1", "pcr2"] as const) {
        const other = { ...original.measurement, [register]: "5a".repeat(48) };
        await assert.rejects(restoredBy(other), isDenied, register);
      }
      assert.equal(await phase(), "booting");
    });

    it("gets the key of the signer that was born in the first, and serves", async () => {
      assert.equal(await restoredBy(original.measurement), pair.signer);
      assert.equal(await phase(), "serving");
    });

    it("attests a statement with a real proof, and none with a proof of another", () => attests(pair));

    it("shows a live document that verifies under the development root, with the file's measurement", async () => {
      const nonce = new Uint8Array(randomBytes(32));
      const reply = await link.ask({ type: "attestation", nonce });
      assert.ok(reply.type === "attestation");
      const roots = [configuration.attestationRoot];
      const policy = { roots, at: Date.now(), maxAgeMs: ANSWERED_WITHIN_MS, nonce, type: "live" } as const;
      const read = verifyAttestation(reply.document, { ...policy, measurements: [original.measurement] });
      assert.ok(typeof read !== "string", JSON.stringify(read));
      assert.ok(read.claims?.type === "live");
      assert.equal(read.claims.signer, pair.signer);
      assert.equal(read.claims.configurationHash, configuration.hash);
    });
  });

  describe("the second program's image", () => {
    let second: ImageFile;
    let configured: string;
    before(async () => {
      configured = await developmentConfiguration(undefined, "second");
      const made = await testImage({
        ...{ machine: machineMade, configuration: configured, program: "second" },
        folder: path.join(folder, "second"),
      });
      second = await write("second", made);
      kms.setPolicy(developmentPolicy(second.measurement), "second");
      await boot(second, parseConfiguration(configured));
    });

    it("is another than the first one's", () => {
      assert.notEqual(second.measurement.pcr0, original.measurement.pcr0);
      assert.notEqual(second.measurement.pcr2, original.measurement.pcr2);
    });

    it("bears a signer, gets its key, and attests by the other author's judge", async () => {
      const own = parseConfiguration(configured);
      const policy = { configuration: own, measurements: [second.measurement] };
      const challenge = new Uint8Array(randomBytes(32));
      const born = await makePair(link, { ...policy, challenge }, developmentKeyArn("second"));
      assert.equal(pairFault(born, policy), undefined);
      assert.equal(await restoredWith(born), born.signer);
      await attests(born);
    });
  });

  describe("an image with one more line in its program", () => {
    let altered: ImageFile;
    before(async () => {
      await appendFile(path.join(image.enclaveFolder, "dist/enclave/attest.js"), "// one more line\n");
      altered = await write("altered");
      await boot(altered);
    });

    it("has the kernel's and init's register of the other, and not the program's", () => {
      assert.equal(altered.measurement.pcr1, original.measurement.pcr1);
      assert.notEqual(altered.measurement.pcr0, original.measurement.pcr0);
      assert.notEqual(altered.measurement.pcr2, original.measurement.pcr2);
    });

    it("gets no key from the KMS of the original, and serves nobody", async () => {
      await assert.rejects(restoredBy(original.measurement), isDenied);
      assert.equal(await phase(), "booting");
      assert.deepEqual(await link.ask(aProvenSpend().request), { type: "refused", code: "WRONG_PHASE" });
    });

    it("refuses the key of a KMS that is not asked for the measurement: it was born in the original", async () => {
      const isRefused = (error: unknown): boolean =>
        error instanceof CourierFault && error.code === "RESTORE_REFUSED";
      await assert.rejects(restoredBy(altered.measurement), isRefused);
      assert.equal(await phase(), "booting");
    });
  });

  describe("a parent that answers the heartbeat with another byte", () => {
    it("ends the enclave, whose init says why", async () => {
      await stop();
      const options = { machine: machineMade, root: developmentRoot(), heartbeat: 0xb8 };
      machine = await startMachine({ ...options, eif: original.eif });
      await machine.ended;
      assert.deepEqual([...(await machine.heartbeat)], [0xb7]);
      assert.match(await machine.console(), /^init: heartbeat /m);
    });
  });
});
