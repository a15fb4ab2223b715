// The ways into the forge suite: forge gets one compiler only, one configuration only, and the edits that break
// the pool on purpose still fit it. What the suite itself finds is `npm run forge`.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { commandOf, type Run } from "../../../../scripts/lab/forge.ts";
import { editedText, MUTATIONS } from "../../../../scripts/lab/forge-mutations.ts";

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const WRAPPER = path.join(ROOT, "scripts/lab/forge-solc.mjs");

interface Answer {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

function ask(wrapper: string, args: readonly string[], input = ""): Promise<Answer> {
  const child = spawn(process.execPath, [wrapper, ...args]);
  let out = "";
  let error = "";
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (error += chunk.toString()));
  child.stdin.end(input);
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, out, error })));
}

describe("scripts: forge's compiler", () => {
  it("is the pinned solc of package.json, and says so", async () => {
    const { devDependencies } = JSON.parse(await readFile(path.join(ROOT, "package.json"), "utf8")) as {
      devDependencies: Record<string, string>;
    };
    const { code, out } = await ask(WRAPPER, ["--version"]);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`^Version: ${devDependencies["solc"] ?? ""}\\+commit\\.`, "m"));
  });

  it("compiles what stands in the input, wherever forge says that files are", async () => {
    const input = {
      language: "Solidity",
      sources: { "A.sol": { content: "pragma solidity ^0.8.28; contract A {}" } },
      settings: { outputSelection: { "*": { "*": ["evm.bytecode.object"] } } },
    };
    const { code, out } = await ask(
      WRAPPER,
      ["--base-path", "/nowhere", "--standard-json", "--allow-paths", "/nowhere"],
      JSON.stringify(input),
    );
    assert.equal(code, 0);
    const { contracts } = JSON.parse(out) as { contracts: Record<string, Record<string, unknown>> };
    assert.ok(contracts["A.sol"]?.["A"]);
  });

  it("refuses to be any other version", async () => {
    const copy = await mkdtemp(path.join(tmpdir(), "forge-solc-"));
    try {
      await mkdir(path.join(copy, "scripts/lab"), { recursive: true });
      await mkdir(path.join(copy, "node_modules", "solc"), { recursive: true });
      await cp(WRAPPER, path.join(copy, "scripts/lab/forge-solc.mjs"));
      await writeFile(path.join(copy, "node_modules", "solc", "package.json"), '{"version":"0.8.36"}');
      await writeFile(
        path.join(copy, "node_modules", "solc", "index.js"),
        "module.exports = { version: () => '0.8.37', compile: () => '{}' };",
      );
      for (const args of [["--version"], ["--standard-json"]]) {
        const { code, out, error } = await ask(path.join(copy, "scripts/lab/forge-solc.mjs"), args, "{}");
        assert.deepEqual({ code, out }, { code: 1, out: "" });
        assert.match(error, /0\.8\.36/);
      }
    } finally {
      await rm(copy, { recursive: true });
    }
  });

  it("refuses what it does not know", async () => {
    for (const args of [[], ["--bin"], ["--version", "--standard-json"], ["A.sol"]]) {
      const { code, out } = await ask(WRAPPER, args);
      assert.deepEqual({ code, out }, { code: 1, out: "" }, args.join(" "));
    }
  });
});

describe("scripts: forge's command", () => {
  const run: Run = { fuzzRuns: 7, invariantRuns: 5, depth: 3, seed: "0x1" };

  it("says the counts and the seed, and stays off the network", () => {
    const { args, env } = commandOf(run);
    assert.deepEqual(args.slice(args.indexOf("--fuzz-seed"), args.indexOf("--fuzz-seed") + 4), [
      "--fuzz-seed",
      "0x1",
      "--fuzz-runs",
      "7",
    ]);
    assert.ok(args.includes("--offline"));
    assert.equal(env["FOUNDRY_INVARIANT_RUNS"], "5");
    assert.equal(env["FOUNDRY_INVARIANT_DEPTH"], "3");
  });

  it("takes no setting from the caller's environment", () => {
    process.env["FOUNDRY_FFI"] = "true";
    try {
      assert.equal(commandOf(run).env["FOUNDRY_FFI"], undefined);
    } finally {
      delete process.env["FOUNDRY_FFI"];
    }
  });
});

describe("scripts: ways to break the pool", () => {
  it("each fits the contracts as they are, in one place", async () => {
    for (const { name, file, from, to } of MUTATIONS) {
      const text = await readFile(path.join(ROOT, "shared", "contracts", file), "utf8");
      assert.notEqual(editedText(text, from, to), undefined, name);
    }
  });

  it("an edit that fits nowhere, or in two places, is none", () => {
    assert.equal(editedText("a b a", "c", "x"), undefined);
    assert.equal(editedText("a b a", "a", "x"), undefined);
    assert.equal(editedText("a b a", "b", "x"), "a x a");
  });
});
