// Production refuses keys that one party made, wherever they turn up; development takes them.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createKeyRing, createPepper } from "../../../../proxy/auth/secret-files.ts";
import {
  developmentKeyAmong,
  developmentKeyHashes,
  requireNoDevelopmentKeys,
} from "../../../../proxy/chain/development-keys.ts";
import { ChainAway } from "../../../../proxy/chain/json-rpc.ts";
import type { Bytes32 } from "../../../../shared/protocol/brands.ts";
import { KIND_NAMES, type Kind } from "../../../../shared/protocol/statements.ts";
import { parseVerificationKey, verificationKeyHash } from "../../../../shared/protocol/verification-key.ts";

const ROOT = new URL("../../../../", import.meta.url);
const MANIFEST = new URL("shared/circuits/keys/development/manifest.json", ROOT);

const hash = (digit: string): Bytes32 => `0x${digit.repeat(64)}` as Bytes32;
/** A ceremony's keys, one apart for each kind. */
const honest = new Map<Kind, Bytes32>(KIND_NAMES.map((kind, at) => [kind, hash(String(at + 1))]));
const development = new Map([["spend", hash("d")]]);

describe("chain/development-keys", () => {
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

  it("refuses its own development keys without asking the chain, and no others while the chain is away", async () => {
    const away = { verifyingKeyHash: () => Promise.reject(new ChainAway("no node")) };
    const mixed = new Map(honest).set("spend", hash("D"));
    await assert.rejects(requireNoDevelopmentKeys(mixed, away, development), /this proxy's spend key/);
    await requireNoDevelopmentKeys(honest, away, development);
  });

  describe("in the program", function () {
    this.timeout(180_000);

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
  });
});

/** In production, and with no node at its address, so only refusals that need none are seen. */
async function startProxy(
  folder: string,
  manifest: string,
): Promise<{ code: number | null; output: string }> {
  const main = fileURLToPath(new URL("proxy/main.ts", ROOT));
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
