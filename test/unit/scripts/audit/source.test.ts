// What the reviewer's report counts: lines that hold something, files that are in the image, packages by hash.
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import ts from "typescript";
import { codeLines, lockedPackages, ownFiles } from "../../../../scripts/audit/source.ts";
import { ENCLAVE_FOLDER } from "../../../../scripts/image/measurement.ts";

describe("scripts: what the audit counts", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-audit-test-"));
  });
  after(() => rm(folder, { recursive: true }));

  it("counts lines with code, and neither blanks nor comments of any kind", () => {
    const count = (text: string): number => codeLines(text, ts.ScriptKind.TS);
    assert.equal(count(""), 0);
    assert.equal(count("// one\n\n/* two\n three */\n"), 0);
    assert.equal(count("/** doc\n * of it */\nexport const a = 1; // here\n"), 1);
    assert.equal(count("const a =\n  1;\n\n// end"), 2);
    assert.equal(count("const a = `x\n\n// no comment`;"), 3);
    assert.equal(count("function f(): void {\n  // nothing\n}"), 2);
  });

  it("finds the source of each emitted file, and no file of a package", async () => {
    await mkdir(path.join(folder, "dist", "enclave"), { recursive: true });
    await mkdir(path.join(folder, "tree", "enclave"), { recursive: true });
    await writeFile(path.join(folder, "dist", "enclave", "a.js"), "export const a = 1;\n");
    await writeFile(
      path.join(folder, "tree", "enclave", "a.ts"),
      "export interface A {\n  b: 1;\n}\nexport const a = 1;\n",
    );
    const files = await ownFiles(path.join(folder, "tree"), folder, [
      "package.json",
      "dist/enclave/a.js",
      "node_modules/p/index.js",
    ]);
    assert.deepEqual(files, [{ file: "enclave/a.ts", lines: 4, emittedLines: 1 }]);
  });

  it("lists the packages by hash, and throws for one without", async () => {
    const packages = await lockedPackages(ENCLAVE_FOLDER);
    assert.ok(packages.length > 0 && packages.every(({ integrity }) => integrity.startsWith("sha512-")));
    const lock = JSON.parse(await readFile(path.join(ENCLAVE_FOLDER, "package-lock.json"), "utf8")) as {
      packages: Record<string, { integrity?: string }>;
    };
    const [, entry] = Object.entries(lock.packages).find(([where]) => where !== "")!;
    delete entry.integrity;
    await cp(path.join(ENCLAVE_FOLDER, "package.json"), path.join(folder, "package.json"));
    await writeFile(path.join(folder, "package-lock.json"), JSON.stringify(lock));
    await assert.rejects(lockedPackages(folder), /not pinned/);
  });
});
