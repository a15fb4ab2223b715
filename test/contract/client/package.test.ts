// The client library as other people get it: packed, installed into a project of their own, compiled and run there.
import { build } from "esbuild";
import { Wallet as EthereumWallet } from "ethers";
import assert from "node:assert/strict";
import { readFile, readdir, stat } from "node:fs/promises";
import { builtinModules } from "node:module";
import path from "node:path";
import { gzipSync } from "node:zlib";
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
import { readFile, readdir, stat } from "node:fs/promises";
import { createClient, createProver, createWallet } from "cloister-client";
import { fileStorage, folderArtefacts, readManifest } from "cloister-client/node";

const given = JSON.parse(await readFile("given.json", "utf8"));
// What the depositor signs with is the application's own.
const { Wallet: EthereumWallet } = await import(given.ethers);
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

/** Of a file in node_modules, also where one package has another of its own. */
const packageOf = (file: string): string | undefined =>
  /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1];
/** A package's folder, and not one inside of a package. */
const isPackage = (folder: string): boolean => /(^|\/node_modules\/)(@[^/]+\/)?[^@/][^/]*$/.test(folder);

async function bytesUnder(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(async ({ parentPath, name }) => (await stat(path.join(parentPath, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

describe("the packed client library, in a project of its own", function () {
  this.timeout(300_000);
  let project: FreshProject;
  before(async () => {
    project = await freshProject();
  });
  after(() => (project as FreshProject | undefined)?.remove());

  const bundle = (contents: string, platform: "browser" | "node" = "browser") =>
    build({
      stdin: { contents, resolveDir: project.folder },
      bundle: true,
      splitting: true,
      outdir: "out",
      minify: true,
      platform,
      format: "esm",
      target: "es2022",
      write: false,
      metafile: true,
      logLevel: "silent",
    });
  const installed = async (): Promise<string[]> => {
    const folders = await readdir(path.join(project.folder, "node_modules"), { recursive: true });
    return folders.map((folder) => /^(.*)\/package\.json$/.exec(folder)?.[1] ?? "").filter(isPackage);
  };

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
        ethers: import.meta.resolve("ethers"),
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

  it("brings no package that it does not use, and little of anything", async () => {
    const { metafile } = await bundle(
      'export * from "cloister-client"; export * from "cloister-client/node";',
      "node",
    );
    const used = new Set(
      Object.keys(metafile.inputs)
        .map(packageOf)
        .filter((name) => name !== undefined),
    );
    assert.deepEqual([...used].sort(), (await installed()).sort());
    const megabytes = (await bytesUnder(path.join(project.folder, "node_modules"))) / 1e6;
    assert.ok(megabytes < 15, `${megabytes.toFixed(1)} MB`);
  });

  /** Of what is loaded before anything happens, and which packages are in it. */
  async function loadedAtFirst(
    program: string,
  ): Promise<{ bytes: number; packages: Set<string | undefined> }> {
    const { metafile, outputFiles } = await bundle(program);
    const files = new Map(outputFiles.map(({ path: file, contents }) => [path.basename(file), contents]));
    const [entry] =
      Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === "<stdin>") ?? [];
    assert.ok(entry !== undefined);
    const graph = new Set([entry]);
    for (const file of graph) {
      for (const { path: imported, kind } of metafile.outputs[file]!.imports)
        if (kind === "import-statement") graph.add(imported);
    }
    const loaded = [...graph].map((file) => gzipSync(files.get(path.basename(file))!).length);
    const inputs = [...graph].flatMap((file) => Object.keys(metafile.outputs[file]!.inputs));
    return { bytes: loaded.reduce((sum, each) => sum + each, 0), packages: new Set(inputs.map(packageOf)) };
  }

  it("costs an app that reads and quotes no more than 55 kB, compressed", async () => {
    const { bytes } = await loadedAtFirst(`
      import { createClient } from "cloister-client/service";
      const client = createClient({ baseUrl: "https://x", credential: { sessionProvider: async () => "" } });
      console.log(await client.whoami(), await client.quoteSwap(JSON.parse(name)), await client.info());
      for await (const event of client.events()) console.log(event);
    `);
    assert.ok(bytes <= 55_000, `${String(bytes)} bytes`);
  });

  it("keeps what proves out of a wallet until it proves, and what few wallets need until they need it", async () => {
    const { bytes, packages } = await loadedAtFirst(`
      import { createClient, createProver, createWallet, fetchArtefacts, indexedDbStorage } from "cloister-client";
      console.log(createClient, createProver, createWallet, fetchArtefacts, indexedDbStorage);
    `);
    assert.ok(bytes <= 145_000, `${String(bytes)} bytes`);
    for (const name of ["ffjavascript", "snarkjs", "circom_runtime", "ethers"])
      assert.ok(!packages.has(name), name);
  });

  it("bundles for a browser without a module of Node, and its Node half does not", async () => {
    const { metafile } = await bundle('export * from "cloister-client";');
    const builtin = new Set(builtinModules.flatMap((name) => [name, `node:${name}`]));
    const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
    assert.ok(imports.length > 0);
    for (const { path: imported, external } of imports) {
      assert.ok(external !== true && !builtin.has(imported), imported);
    }
    await assert.rejects(bundle('export * from "cloister-client/node";'));
  });
});
