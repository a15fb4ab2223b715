// The client library as other people get it: packed, installed into a project of their own, compiled and run there.
import { build } from "esbuild";
import { Wallet as EthereumWallet } from "ethers";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import path from "node:path";
import { curves } from "snarkjs";
import { DEVELOPMENT_KEYS } from "../../../shared/client/node/development.ts";
import { freshProject, type FreshProject } from "../../support/fresh-project.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";
import { vouchedPins } from "../../support/vouching.ts";
import { CHAIN_ID, POOL, USDC } from "./chain.ts";
import { FLAT_FEE, PREFIX } from "./checks.ts";
import { API_KEY, TestService } from "./service.ts";

const TSC = path.join(PROJECT_ROOT, "node_modules", "typescript", "bin", "tsc");
/** Declarations are checked too, and a browser's project has no types of Node. */
const STRICT = [
  "--noEmit",
  "--strict",
  "--target",
  "es2022",
  "--module",
  "nodenext",
  "--skipLibCheck",
  "false",
];

/** What the reader of the README brings. */
const GIVEN = `
import type { DepositSigner, EnclavePins, TransactionSender } from "cloister-client";
declare const baseUrl: string, apiKey: string, ownNodeUrl: string, pool: string, addressPrefix: string;
declare const usdc: string, weth: string, chainId: number, keys: URL, enclaves: EnclavePins;
declare const depositor: DepositSigner, sender: TransactionSender;
`;

const PROGRAM = `
import { readFile } from "node:fs/promises";
import { Wallet as EthereumWallet } from "ethers";
import { createClient, createProver, createWallet } from "cloister-client";
import { fileStorage, folderArtefacts, readManifest } from "cloister-client/node";

const given = JSON.parse(await readFile("given.json", "utf8"));
const keys = new URL(given.keys);
const client = createClient({ baseUrl: given.baseUrl, credential: { apiKey: given.apiKey } });
const prover = createProver({ source: folderArtefacts(keys), manifest: await readManifest(keys) });
const ceiling = { flat: 100_000n, bps: 0 };
const wallet = await createWallet({
  key: { seed: Uint8Array.from(given.seed) },
  client,
  prover,
  storage: fileStorage("wallet.cloister"),
  pins: { ...given.pins, feeCeiling: { deposit: ceiling, transfer: ceiling } },
});
await wallet.deposit(10_000_000n, new EthereumWallet(given.depositor));
await wallet.pay(wallet.address, 1_000_000n);
const { total } = wallet.balance();
await wallet.close();
await prover.close();
console.log(String(total));
`;

describe("the packed client library, in a project of its own", function () {
  this.timeout(300_000);
  let project: FreshProject;
  before(async () => {
    project = await freshProject();
  });
  after(() => (project as FreshProject | undefined)?.remove());

  it("compiles the README's example against the package's own declarations, all of them checked", async () => {
    const readme = await readFile(
      path.join(project.folder, "node_modules/cloister-client/README.md"),
      "utf8",
    );
    const [, example] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    assert.ok(example !== undefined && example.includes("createWallet"));
    await project.write("example.ts", GIVEN + example);
    await project.node(TSC, ...STRICT, "example.ts");

    await project.write("bent.ts", GIVEN + example.replace("wallet.pay(", "wallet.payy("));
    await assert.rejects(project.node(TSC, ...STRICT, "bent.ts"), ({ stdout }: { stdout: string }) =>
      stdout.includes("TS2551"),
    );
  });

  it("deposits and pays from Node, with real proofs, and ends by itself", async () => {
    const service = new TestService();
    try {
      const given = {
        baseUrl: await service.listen(),
        apiKey: API_KEY,
        keys: DEVELOPMENT_KEYS,
        seed: Array.from({ length: 32 }, () => 6),
        depositor: EthereumWallet.createRandom().privateKey,
        pins: {
          chainId: CHAIN_ID,
          pool: POOL,
          assets: [USDC],
          addressPrefix: PREFIX,
          enclaves: vouchedPins(),
        },
      };
      await project.write("given.json", JSON.stringify(given));
      await project.write("main.mjs", PROGRAM);
      assert.equal((await project.node("main.mjs")).trim(), String(10_000_000n - 2n * FLAT_FEE));
      assert.equal(service.tickets.size, 2);
    } finally {
      await service.close();
      await (await curves.getCurveFromName("bn128")).terminate();
    }
  });

  it("bundles for a browser without a module of Node, and its Node half does not", async () => {
    const bundle = (entry: string) =>
      build({
        stdin: { contents: `export * from "${entry}";`, resolveDir: project.folder },
        bundle: true,
        platform: "browser",
        format: "esm",
        write: false,
        metafile: true,
        logLevel: "silent",
      });
    const { metafile } = await bundle("cloister-client");
    const builtin = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));
    const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
    assert.ok(imports.length > 0);
    for (const { path: imported, external } of imports) {
      assert.ok(external !== true && !builtin.has(imported), imported);
    }
    await assert.rejects(bundle("cloister-client/node"));
  });
});
