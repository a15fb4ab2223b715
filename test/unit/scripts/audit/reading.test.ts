// What the reviewer's report says of reading: its order, the generated file, and what changed since a commit.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  changedSince,
  readingOrder,
  readingOrderOf,
  vendoredPairings,
} from "../../../../scripts/audit/reading.ts";
import { ENCLAVE_FOLDER, imageFiles, PROGRAM_NAMES } from "../../../../scripts/image/measurement.ts";

const ROOT = path.dirname(ENCLAVE_FOLDER);
/** Where each verifier's reading begins. */
const FIRST_READ = { first: "shared/protocol/enclave-messages.ts", second: "enclave/second/judge/judge.ts" };

describe("scripts: what the audit says of reading", () => {
  it("orders as the table does: bare names beside the one before them, the rest last, none twice", () => {
    const readme = [
      "`late.ts` is no row\n## Reading order\n",
      "| file | what |\n| --- | --- |",
      "| `../shared/protocol/x.ts`, `y.ts` | `late.ts` |",
      "| `b.ts`, `../shared/protocol/z.ts`, `a.ts` | |",
      "| `gone.ts`, `b.ts` | |\n## Next\n| `late.ts` | |",
    ].join("\n");
    const files = ["enclave/a.ts", "enclave/b.ts", "enclave/late.ts"];
    const protocol = ["x", "y", "z"].map((name) => `shared/protocol/${name}.ts`);
    const [x, y, z] = protocol;
    assert.deepEqual(readingOrder(readme, [...files, ...protocol]), [
      ...[x, y, "enclave/b.ts", z, "enclave/a.ts", "enclave/late.ts"],
    ]);
  });

  it("begins as the enclave's own README does", async () => {
    const readme = await readFile(path.join(ENCLAVE_FOLDER, "README.md"), "utf8");
    const files = ["enclave/boot.ts", "enclave/main.ts", "shared/protocol/enclave-messages.ts"];
    assert.deepEqual(readingOrder(readme, files), [files[2], files[1], files[0]]);
  });

  it("has every file of both images in one of the two READMEs, the second verifier's after the program", async () => {
    for (const program of PROGRAM_NAMES) {
      const emitted = await imageFiles(ENCLAVE_FOLDER, { program });
      const files = emitted
        .filter((file) => /^dist\/.*\.js$/.test(file))
        .map((file) => file.replace(/^dist\//, "").replace(/\.js$/, ".ts"));
      const order = await readingOrderOf(ROOT, files);
      assert.deepEqual(order.toSorted(), files.toSorted());
      const readmes = await Promise.all(
        ["README.md", "second/README.md"].map((name) => readFile(path.join(ENCLAVE_FOLDER, name), "utf8")),
      );
      for (const file of files.filter((one) => one.startsWith("enclave/")))
        assert.ok(readmes.join().includes(`${path.basename(file)}\``), file);
      const isSecond = order.map((file) => file.startsWith("enclave/second/"));
      assert.deepEqual(isSecond, isSecond.toSorted());
      assert.equal(order.at(program === "first" ? 0 : isSecond.indexOf(true)), FIRST_READ[program]);
    }
  });

  it("says of the generated file what the README does, and that it was made again", async () => {
    const { file, bytes, sha256, generators, isReproduced } = await vendoredPairings(ROOT);
    assert.deepEqual([file, isReproduced], ["enclave/bn254.wasm", true]);
    assert.match(generators.join(), /^wasmcurves [0-9.]+,wasmbuilder [0-9.]+$/);
    const readme = await readFile(path.join(ENCLAVE_FOLDER, "README.md"), "utf8");
    assert.ok(readme.includes(sha256) && readme.includes(bytes.toLocaleString("en")));
  });

  describe("changes", () => {
    let tree: string;
    const git = (...words: string[]): string =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], {
        cwd: tree,
        encoding: "utf8",
      });
    const write = async (file: string, text: string | Uint8Array): Promise<void> => {
      await mkdir(path.dirname(path.join(tree, file)), { recursive: true });
      await writeFile(path.join(tree, file), text);
    };
    before(async () => {
      tree = await mkdtemp(path.join(tmpdir(), "cloister-audit-test-"));
      git("init", "-q");
      await write("enclave/a.ts", "1\n2\n");
      await write("enclave/gone.ts", "1\n");
      await write("enclave/init/init.c", "1\n");
      await write("enclave/bn254.wasm", Uint8Array.of(0, 1));
      await write("shared/protocol/used.ts", "1\n");
      await write("shared/protocol/unused.ts", "1\n");
      git("add", ".");
      git("commit", "-q", "-m", "one");
    });
    after(() => rm(tree, { recursive: true }));

    it("are of the image's files alone, with lines, what went and what is not committed among them", async () => {
      const files = ["enclave/a.ts", "shared/protocol/used.ts"];
      assert.deepEqual(await changedSince(tree, "HEAD", files), []);
      await write("enclave/a.ts", "1\n3\n4\n");
      await write("enclave/init/init.c", "1\n2\n");
      await write("enclave/bn254.wasm", Uint8Array.of(0, 2));
      await write("shared/protocol/used.ts", "");
      await write("shared/protocol/unused.ts", "2\n");
      await rm(path.join(tree, "enclave/gone.ts"));
      assert.deepEqual(await changedSince(tree, "HEAD", files), [
        { file: "enclave/a.ts", added: 2, removed: 1 },
        { file: "enclave/bn254.wasm", added: undefined, removed: undefined },
        { file: "enclave/gone.ts", added: 0, removed: 1 },
        { file: "enclave/init/init.c", added: 1, removed: 0 },
        { file: "shared/protocol/used.ts", added: 0, removed: 1 },
      ]);
    });

    it("are refused since what is no commit, also where it looks like an option", async () => {
      for (const commit of ["nothing", "HEAD:enclave", "--output=x", ""])
        await assert.rejects(changedSince(tree, commit, []), /is no commit here/);
    });
  });
});
