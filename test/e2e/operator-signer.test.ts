// `operator image` and `operator signer` as they are run: an image announced and admitted, a birth at a real enclave, its
// registration by anybody on a real pool, step by step, removal, permanent; and what each of them refuses.
import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, getAddress, HDNodeWallet, JsonRpcProvider } from "ethers";
import { readPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import { deployPool, deployTestUsdc } from "../../scripts/deploy/pool.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../scripts/stand-ins/anvil.ts";
import { startSimulatedEnclave, type SimulatedEnclave } from "../../scripts/stand-ins/platform/main.ts";
import { developmentAttestations } from "../../scripts/stack/development-registration.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { developmentImage } from "../../scripts/stack/development-signer.ts";
import { DEVELOPMENT_KEY_ARN, developmentKeyArn } from "../../scripts/image/development-keys.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { runProgram } from "../support/program.ts";

/** Less than a document may be old. */
const DELAY_SECS = 600;
const WEEK_SECS = 7 * 86_400;

describe("operator signer", function () {
  let folder: string;
  let chain: Anvil;
  let provider: JsonRpcProvider;
  let enclave: SimulatedEnclave;
  let pool: string;
  const owner = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC);
  const stranger = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/5");

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-operator-"));
    enclave = await startSimulatedEnclave({ folder: path.join(folder, "enclave") });
    await writeFile(path.join(folder, "measurement.json"), JSON.stringify(enclave.measurement));
    chain = await startAnvil();
    provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
    const deployer = await provider.getSigner(0);
    const usdc = (await deployTestUsdc(deployer)).address;
    const settings = {
      attestations: await developmentAttestations(deployer),
      ...{ threshold: 1, changeDelay: DELAY_SECS, assets: [usdc] },
    };
    pool = (await deployPool(deployer, settings)).address;
  });
  after(async () => {
    provider.destroy();
    await chain.stop();
    await enclave.stop();
    await rm(folder, { recursive: true, force: true });
  });

  async function operator(
    ...words: string[]
  ): Promise<{ code: number | null; data: Record<string, unknown>; error: string }> {
    const env = { OWNER_KEY: owner.privateKey, SENDER_KEY: stranger.privateKey };
    const { code, out, err } = await runProgram("scripts/operator/main.ts", [...words, "--json"], { env });
    return { code, data: out === "" ? {} : (JSON.parse(out) as Record<string, unknown>), error: err };
  }

  const pair = (): string => path.join(folder, "signer.json");
  const image = (): string[] => ["--development", "--measurement", path.join(folder, "measurement.json")];
  const onPool = (): string[] => ["--rpc", chain.url, "--pool", pool];
  const genesis = (...more: string[]) =>
    operator(
      ...["signer", "genesis", "--enclave", `unix:${enclave.vsockPath}:${String(ENCLAVE_PORT)}`],
      ...["--kms-key", DEVELOPMENT_KEY_ARN, "--out", pair(), "--rpc", chain.url],
      ...more,
    );
  const register = (...more: string[]) =>
    operator("signer", "register", "--pair", pair(), "--development", ...onPool(), ...more);
  const imageCommand = (...words: string[]) =>
    operator("image", ...words, ...onPool(), "--measurement", path.join(folder, "measurement.json"));
  const pass = async (seconds: number): Promise<void> => {
    await provider.send("evm_increaseTime", [seconds]);
    await provider.send("evm_mine", []);
  };

  it("genesis refuses an enclave of another measurement and writes nothing", async () => {
    const other = path.join(folder, "other.json");
    await writeFile(other, JSON.stringify({ ...enclave.measurement, pcr0: "dd".repeat(48) }));
    const { code, error } = await genesis("--development", "--measurement", other);
    assert.equal(code, 1);
    assert.match(error, /MEASUREMENT_MISMATCH/);
    await assert.rejects(stat(pair()));
  });

  it("genesis writes a pair for its owner's eyes, and never over another", async () => {
    const { code, data, error } = await genesis(...image());
    assert.equal(code, 0, error);
    const { signer } = await readPair(pair());
    assert.equal(String(data["signer"]).toLowerCase(), signer);
    assert.equal((await stat(pair())).mode & 0o777, 0o600);
    const again = await genesis(...image());
    assert.equal(again.code, 2);
    assert.equal((await readPair(pair())).signer, signer);
  });

  it("register says why the pool refuses: an image that nobody admitted", async () => {
    const { code, error } = await register();
    assert.equal(code, 1);
    assert.match(error, /ImageNotAdmitted .*the owner proposes it/);
    assert.deepEqual((await operator("signer", "list", ...onPool())).data["signers"], []);
  });

  it("image propose, admit and list: announced with its source, admitted after the delay by anybody", async () => {
    const image = imageOf(enclave.measurement);
    const early = await imageCommand("admit");
    assert.match(early.error, /is not proposed/);
    assert.match((await operator("image", "list", image, ...onPool())).error, /too many words/);
    const source = ["--verifier", "first", "--commit", "0123abcd", "--build", "npm run build-image"];
    const proposed = await imageCommand("propose", ...source);
    assert.deepEqual(
      [proposed.data["image"], proposed.data["standing"]],
      [image, "proposed"],
      proposed.error,
    );
    assert.match((await imageCommand("admit")).error, /may be admitted from/);
    const [pending] = (await operator("image", "list", "--pending", ...onPool())).data["images"] as Record<
      string,
      unknown
    >[];
    assert.deepEqual(
      [pending?.["kind"], pending?.["commit"], pending?.["build_command"]],
      [1, "0123abcd", "npm run build-image"],
    );
    assert.equal(Number(pending?.["expires_at"]) - Number(pending?.["admissible_at"]), WEEK_SECS);
    await pass(DELAY_SECS + 1);
    assert.equal((await imageCommand("admit")).data["standing"], "admitted");
    assert.equal((await imageCommand("propose", ...source)).data["standing"], "admitted");
  });

  it("register shows the pool the birth certificate, says each step's gas, and passes over what is there", async () => {
    type Step = { name: string; gas: string | null };
    const stepsIn = (data: Record<string, unknown>): Step[] =>
      (data["registered"] as { steps: Step[] }[])[0]!.steps;
    const { code, data, error } = await register();
    assert.equal(code, 0, error);
    const steps = stepsIn(data);
    assert.deepEqual(
      steps.map(({ name }) => name),
      ["certificate 1 of 3", "certificate 2 of 3", "certificate 3 of 3", "registration"],
    );
    // The attempt that the pool refused had paid for the certificates; it stopped before the last step.
    assert.deepEqual(
      steps.map(({ gas }) => gas === null),
      [true, true, true, false],
    );
    assert.ok(BigInt(steps.at(-1)!.gas!) < 2n ** 24n);
    const { signer } = await readPair(pair());
    const named = new Contract(pool, POOL_ABI, provider);
    assert.equal(await named.getFunction("isSigner")(signer), true);
    const twice = await register();
    assert.match(twice.error, /SignerRegisteredBefore .*in already/);

    const [listed] = (await operator("signer", "list", ...onPool())).data["signers"] as object[];
    assert.deepEqual(listed, {
      ...{ signer: getAddress(signer), standing: "admitted" },
      ...{ image: imageOf(enclave.measurement), kind: 1 },
    });
  });

  it("expel says that the certificate is trusted; remove is permanent, and register says so", async () => {
    const { signer } = await readPair(pair());
    const expelled = await operator("signer", "expel", getAddress(signer), ...onPool());
    assert.match(expelled.error, /SignerTrusted/);
    const removed = await operator("signer", "remove", getAddress(signer), ...onPool());
    assert.equal(removed.data["standing"], "removed", removed.error);
    assert.match((await register()).error, /never comes back/);
    const twice = await operator("signer", "remove", getAddress(signer), ...onPool());
    assert.equal(twice.code, 1);
    assert.match(twice.error, /SignerRemovedBefore/);
  });

  it("image revoke is permanent", async () => {
    const revoked = await imageCommand("revoke");
    assert.equal(revoked.data["standing"], "removed", revoked.error);
    assert.match((await imageCommand("revoke")).error, /was revoked, permanently/);
  });

  it("the second program's signer is born under its own KMS key, and registered beside the first by the configuration it names", async () => {
    const second = await developmentImage(undefined, undefined, "second");
    const at = path.join(folder, "second");
    const other = await startSimulatedEnclave({ folder: at, program: "second" });
    try {
      const born = path.join(folder, "second.json");
      const birth = (...more: string[]) =>
        operator(
          ...["signer", "genesis", "--enclave", `unix:${other.vsockPath}:${String(ENCLAVE_PORT)}`],
          ...[
            "--kms-key",
            developmentKeyArn("second"),
            "--out",
            born,
            "--rpc",
            chain.url,
            "--development",
            ...more,
          ],
        );
      const asFirst = await birth();
      assert.equal(asFirst.code, 1);
      assert.match(asFirst.error, /MISMATCH/);
      const { code, error } = await birth("--program", "second");
      assert.equal(code, 0, error);

      const measurement = path.join(folder, "second-measurement.json");
      await writeFile(measurement, JSON.stringify(second.measurement));
      const named = [...onPool(), "--measurement", measurement];
      const source = ["--verifier", "second", "--commit", "0123abcd", "--build", "npm run build-image"];
      assert.equal((await operator("image", "propose", ...named, ...source)).code, 0);
      await pass(DELAY_SECS + 1);
      assert.equal((await operator("image", "admit", ...named)).data["standing"], "admitted");
      const registered = await operator("signer", "register", "--pair", born, "--development", ...onPool());
      assert.equal(registered.code, 0, registered.error);
      const { signer } = await readPair(born);
      const listed = (await operator("signer", "list", ...onPool())).data["signers"] as { signer: string }[];
      assert.deepEqual(
        listed.find((one) => one.signer === getAddress(signer)),
        {
          ...{ signer: getAddress(signer), standing: "admitted" },
          ...{ image: imageOf(second.measurement), kind: 2 },
        },
      );
    } finally {
      await other.stop();
    }
  });

  it("wants a production image unless it is told that this is development", async () => {
    const text = path.join(folder, "enclave", "image", "configuration.json");
    const words = ["--pair", pair(), "--configuration", text, ...onPool()];
    const { code, error } = await operator("signer", "register", ...words);
    assert.equal(code, 1);
    assert.match(error, /development root/);
    assert.equal((await operator("signer", "register")).code, 2);
    assert.equal((await operator("signer", "dance")).code, 2);
    assert.equal((await operator("image", "dance")).code, 2);
  });
});
