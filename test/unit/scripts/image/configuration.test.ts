import assert from "node:assert/strict";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseConfiguration } from "../../../../enclave/configuration.ts";
import { BENCHMARK_PHRASE, writeTrapdoorKeys } from "../../../../scripts/lab/bench/trapdoor/keys.ts";
import { makeRoot } from "../../../../scripts/image/certificates.ts";
import { PROGRAM_NAMES } from "../../../../scripts/image/measurement.ts";
import { developmentKmsKey, developmentRoot } from "../../../../scripts/image/development-keys.ts";
import {
  AWS_NITRO_ROOT,
  developmentConfiguration,
  productionConfiguration,
  refuseDevelopment,
} from "../../../../scripts/image/configuration.ts";
import { KIND_NAMES } from "../../../../shared/protocol/statements.ts";

const COMMITTED = new URL("../../../../shared/protocol/verification-keys/", import.meta.url);

describe("scripts/image/configuration", () => {
  let keyFolder: string;
  let kmsPublicKey: Uint8Array;
  before(async () => {
    // As if from a ceremony: the committed keys with another delta, which is what a ceremony changes.
    keyFolder = await mkdtemp(path.join(tmpdir(), "cloister-keys-"));
    await cp(COMMITTED, keyFolder, { recursive: true });
    for (const kind of ["deposit-shield", "spend", "spend9", "private-swap"]) {
      const file = path.join(keyFolder, `${kind}.json`);
      const key = JSON.parse(await readFile(file, "utf8")) as { vk_delta_2: unknown; vk_gamma_2: unknown };
      await writeFile(file, JSON.stringify({ ...key, vk_delta_2: key.vk_gamma_2 }));
    }
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    kmsPublicKey = new Uint8Array(publicKey.export({ type: "spki", format: "der" }));
  });
  after(() => rm(keyFolder, { recursive: true }));

  it("makes the same development configuration every time, in the written form", async () => {
    const text = await developmentConfiguration();
    assert.equal(text, await developmentConfiguration());
    assert.ok(text.startsWith('{\n  "attestationRoot": "') && text.endsWith("}\n"));
    assert.equal(text, `${JSON.stringify(JSON.parse(text), null, 2)}\n`);
    assert.deepEqual(Object.keys(JSON.parse(text) as object), [
      "attestationRoot",
      "kmsPublicKey",
      "verificationKeys",
    ]);
    const { attestationRoot } = parseConfiguration(text);
    const { fingerprint256 } = new X509Certificate(developmentRoot().certificate);
    assert.equal(attestationRoot, fingerprint256.replaceAll(":", "").toLowerCase());
  });

  it("makes one of its own for each program, which differ in the KMS key alone", async () => {
    const [first, second] = await Promise.all(
      PROGRAM_NAMES.map(async (program) =>
        parseConfiguration(await developmentConfiguration(undefined, program)),
      ),
    );
    assert.notEqual(first!.kmsKeyHash, second!.kmsKeyHash);
    assert.notEqual(first!.hash, second!.hash);
    for (const name of ["circuitsHash", "attestationRoot"] as const)
      assert.equal(first![name], second![name]);
    assert.equal(await developmentConfiguration(), await developmentConfiguration(undefined, "first"));
  });

  it("makes a production configuration of what is not for development, under AWS's root", async () => {
    const text = await productionConfiguration({ kmsPublicKey, keyFolder });
    const configuration = parseConfiguration(text);
    assert.equal(configuration.attestationRoot, AWS_NITRO_ROOT);
    assert.ok(configuration.kmsPublicKey.export({ type: "spki", format: "der" }).equals(kmsPublicKey));
    await refuseDevelopment(configuration);
  });

  it("refuses for production, each for its own reason", async () => {
    const good = { kmsPublicKey, keyFolder };
    const keysOf = (folder: URL): string => decodeURIComponent(folder.pathname);
    await assert.rejects(productionConfiguration({ ...good, keyFolder: keysOf(COMMITTED) }), /forge/);
    for (const program of PROGRAM_NAMES)
      await assert.rejects(
        productionConfiguration({ ...good, kmsPublicKey: developmentKmsKey(program).spki }),
        /KMS key/,
      );
    for (const { certificate } of [developmentRoot(), makeRoot(new Date())])
      await assert.rejects(
        productionConfiguration({ ...good, rootCertificate: certificate }),
        /attestation root/,
      );
    await assert.rejects(productionConfiguration({ ...good, kmsPublicKey: new Uint8Array(3) }));
    await assert.rejects(productionConfiguration({ ...good, keyFolder: path.join(keyFolder, "none") }));
  });

  it("refuses one development key among three others", async () => {
    const mixed = await mkdtemp(path.join(tmpdir(), "cloister-keys-"));
    await cp(keyFolder, mixed, { recursive: true });
    await cp(new URL("private-swap.json", COMMITTED), path.join(mixed, "private-swap.json"));
    await assert.rejects(productionConfiguration({ kmsPublicKey, keyFolder: mixed }), /private-swap/);
    await rm(mixed, { recursive: true });
  });

  for (const phrase of [BENCHMARK_PHRASE, "a phrase that nobody listed"]) {
    it(`refuses a benchmark's keys of "${phrase}", all of them and each among three others`, async () => {
      const benchmark = await mkdtemp(path.join(tmpdir(), "cloister-keys-"));
      await writeTrapdoorKeys(benchmark, phrase);
      await assert.rejects(productionConfiguration({ kmsPublicKey, keyFolder: benchmark }), /benchmark key/);
      await assert.rejects(
        refuseDevelopment({
          ...parseConfiguration(await productionConfiguration({ kmsPublicKey, keyFolder })),
          verificationKeys: parseConfiguration(await developmentConfiguration(benchmark)).verificationKeys,
        }),
        /benchmark key/,
      );
      for (const kind of KIND_NAMES) {
        const mixed = await mkdtemp(path.join(tmpdir(), "cloister-keys-"));
        await cp(keyFolder, mixed, { recursive: true });
        await cp(path.join(benchmark, `${kind}.json`), path.join(mixed, `${kind}.json`));
        await assert.rejects(
          productionConfiguration({ kmsPublicKey, keyFolder: mixed }),
          new RegExp(`the ${kind} key is a benchmark key`),
        );
        await rm(mixed, { recursive: true });
      }
      await rm(benchmark, { recursive: true });
    });
  }

  it("makes a development configuration of another folder's keys, which measures as another image", async () => {
    const usual = parseConfiguration(await developmentConfiguration());
    const other = parseConfiguration(await developmentConfiguration(keyFolder));
    assert.notEqual(other.circuitsHash, usual.circuitsHash);
    assert.notEqual(other.hash, usual.hash);
    assert.equal(other.attestationRoot, usual.attestationRoot);
  });

  it("recognises the development configuration as a whole", async () => {
    await assert.rejects(refuseDevelopment(parseConfiguration(await developmentConfiguration())));
  });

  it("recognises the development root in a configuration that is there already", async () => {
    const root = parseConfiguration(await developmentConfiguration()).attestationRoot;
    const production = parseConfiguration(await productionConfiguration({ kmsPublicKey, keyFolder }));
    await assert.rejects(refuseDevelopment({ ...production, attestationRoot: root }), /attestation root/);
  });
});
