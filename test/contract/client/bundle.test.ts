import { build, type BuildOptions, type BuildResult } from "esbuild";
import assert from "node:assert/strict";
import { builtinModules } from "node:module";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { bundledWithoutDescriptions } from "../../../scripts/build/without-descriptions.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

/** Compressed: of the 200 KiB that a wallet page may ask for, this leaves nearly sixty for the page itself. */
const MOST_FIRST_LOAD = 140 * 1024;

const options = (contents: string) =>
  ({
    stdin: { contents, resolveDir: PROJECT_ROOT, loader: "ts" },
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    write: false,
    metafile: true,
    minify: true,
    logLevel: "silent",
    absWorkingDir: PROJECT_ROOT,
  }) as const satisfies BuildOptions;

const bundle = (contents: string): Promise<BuildResult<{ metafile: true; write: false }>> =>
  build(options(contents));

describe("client library as a browser bundle", function () {
  it("needs no module of Node, and nothing of proxy, enclave or scripts", async () => {
    const { metafile, outputFiles } = await bundle('export * from "./shared/client/index.ts";');
    const builtin = new Set([...builtinModules, ...builtinModules.map((name) => `node:${name}`)]);
    for (const [file, { imports }] of Object.entries(metafile.inputs)) {
      assert.ok(!/^(proxy|enclave|scripts|test)\//.test(file), file);
      assert.ok(!file.startsWith("shared/client/node/"), file);
      for (const { path: imported, external } of imports) {
        assert.ok(external !== true && !builtin.has(imported), `${file} imports ${imported}`);
      }
    }
    assert.ok(
      Object.keys(metafile.inputs).includes(path.posix.join("shared", "client", "wallet", "wallet.ts")),
    );
    const text = outputFiles[0]!.text;
    assert.ok(!/\bfrom\s*"node:/.test(text) && !/require\("(fs|crypto|path|os)"\)/.test(text));
  });

  it("would be refused with a module of Node in it", async () => {
    await assert.rejects(bundle('export * from "./shared/client/node/index.ts";'));
  });

  it("asks of a wallet page no more than 142 KiB before it shows anything, and brings the rest when it is called", async () => {
    const page = `import * as all from "./shared/client/index.ts";
      const { createClient, createProver, createWallet, eip1193Signer, fetchArtefacts, indexedDbStorage, newPhrase,
        paymentLink, poolRootVerifier, readPaymentRequest, writePaymentRequest, activityCsv, verifyDisclosure } = all;
      globalThis.page = [createClient, createProver, createWallet, eip1193Signer, fetchArtefacts, indexedDbStorage,
        newPhrase, paymentLink, poolRootVerifier, readPaymentRequest, writePaymentRequest, activityCsv, verifyDisclosure];`;
    const { metafile, outputFiles } = await build({
      ...options(page),
      splitting: true,
      outdir: "page",
      // As a page is built, and the package is: what the OpenAPI document says of each field is not in either.
      plugins: [bundledWithoutDescriptions],
    });
    const sizes = new Map(
      outputFiles.map(({ path: file, contents }) => [
        path.relative(PROJECT_ROOT, file).replaceAll(path.sep, "/"),
        gzipSync(contents, { level: 9 }).length,
      ]),
    );
    const first = new Set<string>();
    const walk = (file: string): void => {
      if (first.has(file)) return;
      first.add(file);
      for (const { path: imported, kind } of metafile.outputs[file]!.imports)
        if (kind === "import-statement") walk(imported);
    };
    walk(Object.keys(metafile.outputs).find((file) => metafile.outputs[file]!.entryPoint === "<stdin>")!);
    const total = [...first].reduce((sum, file) => sum + sizes.get(file)!, 0);
    assert.ok(total <= MOST_FIRST_LOAD, `${total} bytes`);
    const inputs = [...first].flatMap((file) => Object.keys(metafile.outputs[file]!.inputs));
    // What is loaded later is there, and not in the first load: ABI, bridges, disclosures.
    for (const later of [
      "node_modules/ethers/",
      "client/bridges/live.ts",
      "client/disclosure/verifying.ts",
    ]) {
      assert.ok(!inputs.some((file) => file.includes(later)), later);
      assert.ok(
        Object.keys(metafile.inputs).some((file) => file.includes(later)),
        later,
      );
    }
  });
});
