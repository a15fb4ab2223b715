// The import rules, on the real tree and on a skeleton with one planted violation after another:
// a rule nobody has seen bite is no border.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { PROJECT_ROOT, plantTree, sourceFiles } from "../../support/tree.ts";
import { PARTS, cruise, ruleNames, type CruiseResult } from "./cruise.ts";
import { PLANTED, SKELETON, plantedFiles } from "./skeleton.ts";

describe("borders: imports of the real tree", () => {
  let real: CruiseResult;
  before(async () => {
    real = await cruise(PROJECT_ROOT);
  });

  it("break no rule", () => {
    assert.deepEqual(real.violations, []);
  });

  // With TypeScript 7 the tool reads no module, prints success and exits 0.
  it("were really read: the enclave's entry and every source file are among the modules", async () => {
    assert.ok(real.totalCruised > 0);
    assert.ok(real.modules.includes("enclave/main.ts"), "enclave/main.ts was not read");
    const files = (await Promise.all(PARTS.map((part) => sourceFiles(PROJECT_ROOT, part)))).flat();
    const expected = files.filter((file) => /\.(tsx?|mjs|cjs|js)$/.test(file));
    const read = new Set(real.modules);
    assert.deepEqual(
      expected.filter((file) => !read.has(file)),
      [],
    );
  });
});

describe("borders: planted imports", () => {
  let clean: CruiseResult;
  let planted: CruiseResult;

  before(async () => {
    const manifest = await readFile(path.join(PROJECT_ROOT, "package.json"), "utf8");
    const skeleton = new Map([...SKELETON, ["package.json", manifest]]);
    for (const violations of [false, true]) {
      const tree = await plantTree(new Map([...skeleton, ...(violations ? plantedFiles() : [])]));
      try {
        if (violations) planted = await cruise(tree.root);
        else clean = await cruise(tree.root);
      } finally {
        await tree.remove();
      }
    }
  });

  it("the skeleton itself is clean, so what is reported below is what was planted", () => {
    assert.deepEqual(clean.violations, []);
    assert.ok(clean.modules.includes("enclave/main.ts"));
  });

  it("every rule has a planted violation", () => {
    const proved = new Set<string>(PLANTED.map((plant) => plant.rule));
    assert.deepEqual(
      ruleNames().filter((name) => !proved.has(name)),
      [],
    );
  });

  for (const plant of PLANTED) {
    it(`${plant.rule} reports ${plant.file} (${plant.form} of ${plant.target})`, () => {
      const reported = planted.violations.some(
        ({ rule, from }) => rule === plant.rule && from === plant.file,
      );
      assert.ok(reported, `not reported by ${plant.rule}`);
    });
  }
});
