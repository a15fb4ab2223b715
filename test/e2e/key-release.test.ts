// The life of a signer on a running stack: born once, released by KMS to every later start of the same image,
// never to another, replaced by a new one when the image changes. The proxy restores what restarts beside it.
import assert from "node:assert/strict";
import { appendFile, cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { JsonRpcProvider } from "ethers";
import { createLink } from "../../proxy/api/enclave-link/link.ts";
import { readPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import type { LocalNetwork } from "../../scripts/stack/local-network.ts";
import { startStack, type Stack } from "../../scripts/stack/local-stack.ts";
import { ROOMY_KEYS } from "../../scripts/stack/proxy-settings.ts";
import { startSimulatedEnclave, type SimulatedEnclave } from "../../scripts/stand-ins/platform/main.ts";
import { developmentImage } from "../../scripts/stack/development-signer.ts";
import { developmentConfiguration } from "../../scripts/image/configuration.ts";
import { ENCLAVE_FOLDER } from "../../scripts/image/measurement.ts";
import { birthFault, pairFault } from "../../scripts/operator/birth.ts";
import { readSigners, type PoolSigner } from "../../scripts/operator/pool-signers.ts";
import { createClient } from "../../shared/client/index.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import type { EnclavePhase } from "../../shared/protocol/enclave-messages.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { audited } from "../support/auditor.ts";
import { until } from "../support/until.ts";

const FREE = { proxy: 0, chain: 0 };

describe("key release on a running stack", function () {
  this.timeout(480_000);
  let folder: string;
  let stack: Stack | undefined;
  let network: LocalNetwork;
  let firstSigner: Address;
  /** The enclave as it was built when this began: a build in between is not what is tested. */
  let original: string;
  const said: string[] = [];

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-keys-"));
    original = await aCopy("original");
    await start(original);
    firstSigner = signerNow();
  });
  after(async () => {
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(enclaveFolder: string): Promise<void> {
    said.splice(0);
    stack = await startStack({
      folder: path.join(folder, "stack"),
      networks: ["first"],
      ports: { first: FREE },
      proxySettings: ROOMY_KEYS,
      say: (text) => void said.push(text),
      enclaveFolder,
    });
    network = stack.network("first");
  }
  async function stop(): Promise<void> {
    await stack?.stop();
    stack = undefined;
  }

  const signerNow = (): Address => asAddress(network.entry.enclave_signers[0])!;
  const pairFile = (): string => network.folder.secrets.path("signer.json");

  async function signers(): Promise<PoolSigner[]> {
    const { chain_rpc: rpc, chain_id: chainId, pool } = network.entry;
    const provider = new JsonRpcProvider(rpc, chainId, { staticNetwork: true, cacheTimeout: -1 });
    try {
      return await readSigners(provider, asAddress(pool)!);
    } finally {
      provider.destroy();
    }
  }
  async function health(): Promise<string> {
    const client = createClient({
      baseUrl: network.entry.base_url,
      credential: { apiKey: stack!.file.api_key },
    });
    const { status, checks } = await client.health();
    return checks?.enclave.detail ?? status;
  }
  async function phaseAt(vsockPath: string): Promise<EnclavePhase | undefined> {
    const link = createLink({ path: vsockPath, port: ENCLAVE_PORT });
    try {
      const status = await link.ask({ type: "status" });
      return status.type === "status" ? status.phase : undefined;
    } finally {
      link.close();
    }
  }

  it("the first signer was born of the image that runs, and registered by its birth certificate", async () => {
    const image = await developmentImage(original);
    assert.deepEqual(network.entry.enclave.measurement, image.measurement);
    assert.equal(network.entry.enclave.configuration_hash, image.configuration.hash);
    assert.equal(network.entry.enclave.attestation_root, image.configuration.attestationRoot);

    const policy = { configuration: image.configuration, measurements: [image.measurement] };
    assert.equal(pairFault(await readPair(pairFile()), policy), undefined);
    const [first, ...others] = await signers();
    assert.deepEqual(others, []);
    assert.deepEqual([first?.signer, first?.standing], [firstSigner, "admitted"]);
    assert.equal(first?.image, imageOf(image.measurement));
    assert.equal(birthFault(first.document!, firstSigner, policy), undefined);
  });

  it("is what the auditor finds, and not what one finds who expects another image", async () => {
    const stackFolder = path.join(folder, "stack");
    const whole = await audited("--folder", stackFolder);
    assert.equal(whole.code, 0, JSON.stringify(whole.findings));
    assert.deepEqual(whole.about(/run the audited image, now/), [true]);
    assert.deepEqual(whole.about(/was registered by a document of the audited image/), [true]);
    assert.deepEqual(whole.about(/, admitted, is the audited image/), [true]);
    assert.deepEqual(whole.about(/the pool accepts/), [true]);

    const configuration = path.join(folder, "another.json");
    const text = await developmentConfiguration();
    await writeFile(configuration, text.replace(/"attestationRoot": "../, '"attestationRoot": "00'));
    const other = await audited("--folder", stackFolder, "--configuration", configuration);
    assert.equal(other.code, 1);
    assert.deepEqual(other.about(/run the audited image/), [false]);
  });

  it("a restart of everything restores the same signer, and registers nobody", async () => {
    const before = await signers();
    await stop();
    await start(original);
    assert.equal(signerNow(), firstSigner);
    assert.deepEqual(await signers(), before);
    assert.equal(await health(), "ok");
    assert.match(said.join("\n"), /the one of before, released by KMS/);
  });

  describe("an enclave that ends while the proxy runs on", () => {
    let next: SimulatedEnclave | undefined;
    const startNext = async (enclaveFolder: string): Promise<SimulatedEnclave> => {
      await next?.stop();
      next = await startSimulatedEnclave({ folder: network.folder.inside("enclave"), enclaveFolder });
      return next;
    };
    after(() => next?.stop());

    it("gets its key when it is started again", async () => {
      await network.enclave().kill();
      await until("the proxy to miss it", async () => (await health()).includes("does not answer"));
      await startNext(original);
      await until("the proxy to be well", async () => (await health()) === "ok");
      assert.equal(await phaseAt(next!.vsockPath), "serving");
    });

    it("gets none when another image is started in its place, and the service says why", async () => {
      const { vsockPath } = await startNext(await aChangedEnclave("other"));
      const why = await until("a reason", async () => {
        const detail = await health();
        return detail.includes("KMS") && detail;
      });
      assert.equal(why, "0 of 1 serve, 1 needed; KMS denies the key to this enclave");
      assert.equal(await phaseAt(vsockPath), "booting");
    });
  });

  // After the one above: mocha plays the tests of a block before the blocks in it.
  describe("a changed image at the next start", () => {
    it("cannot have the old key: a new signer takes its place, and the old one is removed permanently", async () => {
      await stop();
      const enclaveFolder = await aChangedEnclave("upgraded");
      await start(enclaveFolder);
      assert.notEqual(signerNow(), firstSigner);
      assert.match(said.join("\n"), /another build/);
      const standings = new Map((await signers()).map(({ signer, standing }) => [signer, standing]));
      assert.equal(standings.get(firstSigner), "removed");
      assert.equal(standings.get(signerNow()), "admitted");
      assert.equal(await health(), "ok");

      const image = await developmentImage(enclaveFolder);
      assert.deepEqual(network.entry.enclave.measurement, image.measurement);
      const old = (await readdir(path.dirname(pairFile()))).filter((name) => name.startsWith("signer.0x"));
      assert.deepEqual(old, [`signer.${firstSigner}.json`]);
      const kept = await readPair(path.join(path.dirname(pairFile()), old[0]!));
      assert.equal(
        pairFault(kept, { configuration: image.configuration, measurements: [image.measurement] }),
        "MEASUREMENT_MISMATCH",
      );
    });
  });

  /** Runs as the other does, and is another. */
  async function aChangedEnclave(name: string): Promise<string> {
    const copy = await aCopy(name);
    await appendFile(path.join(copy, "dist", "enclave", "attest.js"), `// ${name}\n`);
    return copy;
  }

  async function aCopy(name: string): Promise<string> {
    const copy = path.join(folder, name);
    for (const part of ["package.json", "package-lock.json", "dist", "node_modules"])
      await cp(path.join(ENCLAVE_FOLDER, part), path.join(copy, part), { recursive: true });
    return copy;
  }
});
