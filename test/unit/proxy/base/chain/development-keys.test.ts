// Production refuses keys that one party made, wherever they turn up; development takes them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { JsonRpcProvider, NonceManager, Wallet as EthereumWallet } from "ethers";
import { createKeyRing, createPepper } from "../../../../../proxy/base/auth/secret-files.ts";
import {
  developmentKeyAmong,
  developmentKeyHashes,
  requireNoDevelopmentKeys,
} from "../../../../../proxy/base/chain/development-keys.ts";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import { Pool } from "../../../../../proxy/base/chain/pool.ts";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import { BENCHMARK_PHRASE, writeTrapdoorKeys } from "../../../../../scripts/lab/bench/trapdoor/keys.ts";
import { deployTestUsdc, deployVerifiers, readKeys } from "../../../../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../../../../scripts/stack/development-registration.ts";
import type { Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { KIND_NAMES, type Kind } from "../../../../../shared/protocol/statements.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
  type VerificationKey,
} from "../../../../../shared/protocol/verification-key.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../../../support/chain.ts";

const ROOT = new URL("../../../../../", import.meta.url);
const MANIFEST = new URL("shared/circuits/keys/development/manifest.json", ROOT);

const hash = (digit: string): Bytes32 => `0x${digit.repeat(64)}` as Bytes32;
/** A ceremony's keys, one apart for each kind. */
const honest = new Map<Kind, Bytes32>(KIND_NAMES.map((kind, at) => [kind, hash(String(at + 1))]));
const development = new Map([["spend", hash("d")]]);

describe("base/chain/development-keys", () => {
  let folder: string;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "cloister-purpose-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const poolOf = (keys: ReadonlyMap<Kind, Bytes32>) => ({
    verifyingKeyHash: (kind: Kind) => Promise.resolve(keys.get(kind) ?? hash("0")),
  });

  it("knows every key of the committed manifest by the hash that pools have", async () => {
    const known = await developmentKeyHashes();
    const manifest = JSON.parse(await readFile(MANIFEST, "utf8")) as {
      circuits: Record<string, { verificationKey?: unknown }>;
    };
    const withKeys = Object.keys(manifest.circuits).filter(
      (kind) => manifest.circuits[kind]?.verificationKey !== undefined,
    );
    assert.ok(withKeys.includes("spend"));
    assert.deepEqual([...known.keys()], withKeys);
    for (const [kind, found] of known) {
      const key = await readFile(new URL(`shared/protocol/verification-keys/${kind}.json`, ROOT), "utf8");
      assert.equal(found, verificationKeyHash(parseVerificationKey(JSON.parse(key))));
    }
  });

  it("goes by the manifest's own hash when the keys beside it are others, and overlooks none", async () => {
    const write = async (verificationKey: object): Promise<URL> => {
      const manifest = { purpose: "development only", circuits: { spend: { verificationKey } } };
      await writeFile(path.join(folder, "manifest.json"), JSON.stringify(manifest));
      return pathToFileURL(`${folder}/`);
    };
    const named = await write({ sha256: "0".repeat(64), keyHash: hash("d") });
    assert.deepEqual([...(await developmentKeyHashes(named))], [["spend", hash("d")]]);
    const unnamed = await write({ sha256: "0".repeat(64) });
    await assert.rejects(developmentKeyHashes(unnamed), /does not name the hash of its spend key/);
  });

  it("does not take another manifest for the development one", async () => {
    await writeFile(
      path.join(folder, "manifest.json"),
      JSON.stringify({ purpose: "ceremony", circuits: {} }),
    );
    await assert.rejects(developmentKeyHashes(pathToFileURL(`${folder}/`)));
  });

  it("lets keys of a ceremony pass", async () => {
    assert.equal(developmentKeyAmong(honest, development), undefined);
    await requireNoDevelopmentKeys(honest, poolOf(honest), development);
  });

  for (const kind of KIND_NAMES) {
    it(`refuses a pool whose ${kind} key is a development key, whatever kind that was made for`, async () => {
      const mixed = new Map(honest).set(kind, hash("d"));
      await assert.rejects(
        requireNoDevelopmentKeys(honest, poolOf(mixed), development),
        new RegExp(`the pool's ${kind} key is a development key`),
      );
    });
  }

  it("refuses its own development keys without asking the chain, and no others while the chain is unreachable", async () => {
    const unreachable = { verifyingKeyHash: () => Promise.reject(new ChainUnreachable("no node")) };
    const mixed = new Map(honest).set("spend", hash("D"));
    await assert.rejects(requireNoDevelopmentKeys(mixed, unreachable, development), /this proxy's spend key/);
    await requireNoDevelopmentKeys(honest, unreachable, development);
  });

  describe("on a chain", function () {
    let anvil: Anvil;
    let deployer: NonceManager;
    before(async () => {
      anvil = await startAnvil();
      const provider = new JsonRpcProvider(anvil.url, anvil.chainId, {
        staticNetwork: true,
        cacheTimeout: -1,
        pollingInterval: 25,
      });
      deployer = new NonceManager(EthereumWallet.fromPhrase(DEVELOPMENT_MNEMONIC, provider));
    });
    after(async () => {
      (deployer.provider as JsonRpcProvider).destroy();
      await anvil.stop();
    });

    it("refuses a pool whose verifiers have the benchmarks' keys, and takes one whose keys are of no list", async () => {
      const keysFolder = path.join(folder, "trapdoor");
      await writeTrapdoorKeys(keysFolder);
      const benchmark = await readKeys(keysFolder);
      // As if from a ceremony: the same points with another delta.
      const other = { ...benchmark };
      for (const kind of KIND_NAMES) other[kind] = { ...benchmark[kind], delta: benchmark[kind].beta };
      const judge = async (keys: Readonly<Record<Kind, VerificationKey>>): Promise<void> => {
        const { address } = await deployPoolWithSigners(deployer, {
          signers: [],
          threshold: 1,
          changeDelay: 1,
          assets: [(await deployTestUsdc(deployer)).address],
          verifiers: await deployVerifiers(deployer, keys),
        });
        const pool = new Pool(createChain(anvil.url, BigInt(anvil.chainId)), address);
        await requireNoDevelopmentKeys(honest, pool, await developmentKeyHashes());
      };
      await assert.rejects(judge(benchmark), /the pool's deposit-shield key is a development key/);
      for (const kind of KIND_NAMES)
        await assert.rejects(
          judge({ ...other, [kind]: benchmark[kind] }),
          new RegExp(`the pool's ${kind} key is a development key`),
        );
      await judge(other);
    });
  });

  describe("in the program", function () {
    before(async () => {
      await createKeyRing(path.join(folder, "ring"));
      await createPepper(path.join(folder, "pepper"));
      await writeFile(path.join(folder, "sender"), `0x${"11".repeat(32)}`, { mode: 0o600 });
    });

    it("does not start in production with the development manifest", async () => {
      const { code, output } = await startProxy(folder, fileURLToPath(MANIFEST));
      assert.equal(code, 1);
      assert.match(output, /the proving keys are marked development only/);
    });

    it("does not start in production with development keys under another label, and names the key", async () => {
      const labelled = path.join(folder, "labelled.json");
      const text = await readFile(MANIFEST, "utf8");
      await writeFile(labelled, text.replace('"development only"', '"ceremony"'));
      const { code, output } = await startProxy(folder, labelled);
      assert.equal(code, 1);
      assert.match(output, /this proxy's deposit-shield key is a development key/);
    });

    for (const phrase of [BENCHMARK_PHRASE, "a phrase that nobody listed"]) {
      it(`does not start in production with a benchmark's keys of "${phrase}", whatever their label`, async () => {
        const keys = path.join(folder, `labelled ${phrase}`);
        const manifest = path.join(keys, "manifest.json");
        await writeTrapdoorKeys(keys, phrase);
        const asIs = await startProxy(folder, manifest, keys);
        assert.equal(asIs.code, 1);
        assert.match(asIs.output, /the proving keys are marked development only/);

        const named = JSON.parse(await readFile(manifest, "utf8")) as object;
        await writeFile(manifest, JSON.stringify({ ...named, purpose: "ceremony" }));
        const { code, output } = await startProxy(folder, manifest, keys);
        assert.equal(code, 1);
        assert.match(output, /the deposit-shield key is a benchmark key, under which everybody can forge/);
      });
    }
  });
});

/** In production, and with no node at its address, so only refusals that need none are seen. */
async function startProxy(
  folder: string,
  manifest: string,
  keys = "",
): Promise<{ code: number | null; output: string }> {
  const main = fileURLToPath(new URL("proxy/api/main.ts", ROOT));
  const child = spawn(process.execPath, ["--import", "tsx", main], {
    cwd: fileURLToPath(ROOT),
    env: {
      PATH: process.env["PATH"] ?? "",
      CLOISTER_ENV: "production",
      CLOISTER_PORT: "0",
      CLOISTER_DATA_DIR: path.join(folder, "store"),
      CLOISTER_RPC_URL: "http://127.0.0.1:9",
      CLOISTER_CHAIN_ID: "31337",
      CLOISTER_POOL: `0x${"11".repeat(20)}`,
      CLOISTER_USDC: `0x${"22".repeat(20)}`,
      CLOISTER_ADDRESS_PREFIX: "clo",
      CLOISTER_ENCLAVES: `unix:${folder}/none.sock:5000`,
      CLOISTER_ARTEFACT_MANIFEST: manifest,
      CLOISTER_VERIFICATION_KEYS: keys,
      CLOISTER_SENDER_KEY_FILE: path.join(folder, "sender"),
      CLOISTER_SESSION_KEYS_FILE: path.join(folder, "ring"),
      CLOISTER_API_KEY_PEPPER_FILE: path.join(folder, "pepper"),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { code, output };
}
