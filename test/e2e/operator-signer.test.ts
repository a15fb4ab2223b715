// `operator signer` as an operator runs it: a birth at a real enclave, registration with its document on a real
// pool, removal, permanent; and what it refuses to register.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Contract, HDNodeWallet, JsonRpcProvider, keccak256 } from "ethers";
import { readPair } from "../../proxy/enclave-link/signer-pair.ts";
import { deployPool, deployTestUsdc } from "../../scripts/product/deploy.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../scripts/stack/anvil.ts";
import { DEVELOPMENT_KEY_ARN } from "../../scripts/stack/kms/operations.ts";
import { startSimulatedEnclave, type SimulatedEnclave } from "../../scripts/stack/simulated-platform.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const CHALLENGE = "5a".repeat(32);
const DELAY_SECS = 3_600;
const WEEK_SECS = 7 * 86_400;

describe("operator signer", function () {
  let folder: string;
  let chain: Anvil;
  let provider: JsonRpcProvider;
  let enclave: SimulatedEnclave;
  let pool: string;
  const owner = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC);

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-operator-"));
    enclave = await startSimulatedEnclave({ folder: path.join(folder, "enclave") });
    await writeFile(path.join(folder, "measurement.json"), JSON.stringify(enclave.measurement));
    chain = await startAnvil();
    provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
    const deployer = await provider.getSigner(0);
    const usdc = (await deployTestUsdc(deployer)).address;
    const first = "0x1111111111111111111111111111111111111111" as typeof usdc;
    const settings = { signers: [first], threshold: 1, changeDelay: DELAY_SECS, assets: [usdc] };
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
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "scripts/product/operator.ts", "signer", ...words, "--json"],
      {
        cwd: ROOT,
        env: { ...process.env, OWNER_KEY: owner.privateKey },
      },
    );
    let stdout = "";
    let error = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (error += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    return { code, data: stdout === "" ? {} : (JSON.parse(stdout) as Record<string, unknown>), error };
  }

  const pair = (): string => path.join(folder, "signer.json");
  const image = (): string[] => ["--development", "--measurement", path.join(folder, "measurement.json")];
  const onPool = (): string[] => ["--rpc", chain.url, "--pool", pool];
  const genesis = (...more: string[]) =>
    operator(
      ...["genesis", "--enclave", `unix:${enclave.vsockPath}:${String(ENCLAVE_PORT)}`],
      ...["--kms-key", DEVELOPMENT_KEY_ARN, "--out", pair(), "--challenge", CHALLENGE],
      ...more,
    );
  const register = (...more: string[]) => operator("register", "--pair", pair(), ...onPool(), ...more);

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

  it("register refuses what does not verify, and tells the pool nothing", async () => {
    const born = await readFile(pair(), "utf8");
    const { sealedKey } = await readPair(pair());
    const otherKey = Buffer.from(sealedKey.map((byte, i) => (i === 0 ? byte ^ 1 : byte))).toString("base64");
    const wrongChallenge = await register(...image(), "--challenge", "11".repeat(32));
    assert.match(wrongChallenge.error, /NONCE_MISMATCH/);
    await writeFile(pair(), born.replace(/"sealedKey": "[^"]+"/, `"sealedKey": "${otherKey}"`));
    const wrongKey = await register(...image());
    assert.match(wrongKey.error, /SEALED_KEY_MISMATCH/);
    await writeFile(pair(), born);
    assert.deepEqual([wrongChallenge.code, wrongKey.code], [1, 1]);
    const { data } = await operator("list", ...onPool());
    assert.equal((data["signers"] as unknown[]).length, 1);
  });

  it("register proposes with the document, and admits after the delay; list judges every document", async () => {
    const proposed = await register(...image(), "--challenge", CHALLENGE);
    const { pcr0, pcr1, pcr2 } = enclave.measurement;
    const named = new Contract(pool, POOL_ABI, provider);
    const [event] = await named.queryFilter(named.filters["SignerProposed"]!());
    // By this, `revokeImage` finds it.
    assert.equal(event?.topics[2], keccak256(`0x${pcr0}${pcr1}${pcr2}`));
    assert.equal(proposed.code, 0, proposed.error);
    assert.equal(proposed.data["standing"], "proposed");
    assert.equal((await register(...image())).data["standing"], "proposed");
    const pending = (await operator("list", "--pending", ...onPool())).data["signers"] as Record<
      string,
      unknown
    >[];
    assert.deepEqual(
      pending.map(({ standing, admissible_at: from }) => [standing, from]),
      [["proposed", proposed.data["admissible_at"]]],
    );
    assert.equal(Number(pending[0]?.["expires_at"]) - Number(pending[0]?.["admissible_at"]), WEEK_SECS);

    // Forgotten for a week after its time: the next register announces it again.
    const snapshot: unknown = await provider.send("evm_snapshot", []);
    await provider.send("evm_increaseTime", [DELAY_SECS + WEEK_SECS]);
    await provider.send("evm_mine", []);
    assert.deepEqual((await operator("list", "--pending", ...onPool())).data["signers"], []);
    const again = await register(...image());
    assert.equal(again.data["standing"], "proposed", again.error);
    assert.ok(Number(again.data["admissible_at"]) > Number(pending[0]?.["expires_at"]));
    await provider.send("evm_revert", [snapshot]);

    await provider.send("evm_increaseTime", [DELAY_SECS + 1]);
    await provider.send("evm_mine", []);
    assert.equal((await register(...image())).data["standing"], "admitted");
    assert.equal((await register(...image())).data["standing"], "admitted");
    const { data } = await operator("list", ...onPool(), ...image());
    const shown = (data["signers"] as { standing: string; document: string }[]).map(
      ({ standing, document }) => `${standing}, ${document}`,
    );
    assert.deepEqual(shown, ["admitted, no document", "admitted, verified"]);
  });

  it("revoke removes permanently, and register says so", async () => {
    const { signer } = await readPair(pair());
    const revoked = await operator("revoke", signer, ...onPool());
    assert.equal(revoked.data["standing"], "removed", revoked.error);
    const again = await register(...image());
    assert.equal(again.code, 1);
    assert.match(again.error, /never comes back/);
    const twice = await operator("revoke", signer, ...onPool());
    assert.equal(twice.code, 1);
    assert.match(twice.error, /NotProposed/);
  });

  it("wants a production image unless it is told that this is development", async () => {
    const text = path.join(folder, "enclave", "image", "configuration.json");
    const { code, error } = await register(
      "--configuration",
      text,
      "--measurement",
      path.join(folder, "measurement.json"),
    );
    assert.equal(code, 1);
    assert.match(error, /development root/);
    assert.equal((await operator("register")).code, 2);
    assert.equal((await operator("dance")).code, 2);
  });
});
