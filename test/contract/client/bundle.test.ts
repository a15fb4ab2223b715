import { build, type BuildResult } from "esbuild";
import assert from "node:assert/strict";
import { builtinModules } from "node:module";
import path from "node:path";
import { PROJECT_ROOT } from "../../support/tree.ts";

const bundle = (contents: string): Promise<BuildResult<{ metafile: true; write: false }>> =>
  build({
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
  });

describe("client library as a browser bundle", function () {
  this.timeout(60_000);

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
    assert.ok(Object.keys(metafile.inputs).includes(path.posix.join("shared", "client", "wallet.ts")));
    const text = outputFiles[0]!.text;
    assert.ok(!/\bfrom\s*"node:/.test(text) && !/require\("(fs|crypto|path|os)"\)/.test(text));
  });

  it("would be refused with a module of Node in it", async () => {
    await assert.rejects(bundle('export * from "./shared/client/node/index.ts";'));
  });
});
