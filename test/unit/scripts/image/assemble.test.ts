// What a reviewer relies on: whoever builds the image from these sources measures the same, wherever he does it.
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { buildImage, copyImage } from "../../../../scripts/image/assemble.ts";
import { developmentConfiguration } from "../../../../scripts/image/configuration.ts";
import { codeFiles, imageFiles, measureImage } from "../../../../scripts/image/measurement.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const SOURCES = ["package.json", "tsconfig.json", "enclave", "shared/protocol", "shared/types"];

describe("scripts/image/assemble", function () {
  let folder: string;
  let configuration: string;
  /** Two copies of the sources in different folders, and the image built from each. */
  let trees: readonly [string, string];
  let images: readonly [string, string];

  /** As a fresh clone has them: without anything that was emitted. */
  async function cloneTo(tree: string): Promise<string> {
    for (const part of SOURCES) {
      await cp(path.join(ROOT, part), path.join(tree, part), {
        recursive: true,
        filter: (source) => !/[/\\](node_modules|dist)$/.test(source),
      });
    }
    await symlink(path.join(ROOT, "node_modules"), path.join(tree, "node_modules"));
    const packages = path.join("enclave", "node_modules");
    await cp(path.join(ROOT, packages), path.join(tree, packages), { recursive: true });
    return tree;
  }

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-images-"));
    configuration = await developmentConfiguration();
    trees = [
      await cloneTo(path.join(folder, "one")),
      await cloneTo(path.join(folder, "elsewhere", "deeper", "two")),
    ];
    // What an earlier build left behind must not get in.
    await mkdir(path.join(trees[1], "enclave", "dist", "enclave"), { recursive: true });
    await writeFile(path.join(trees[1], "enclave", "dist", "enclave", "stale.js"), "");
    images = [path.join(folder, "image-one"), path.join(folder, "image-two")];
    await buildImage({ to: images[0], configuration }, trees[0]);
    await buildImage({ to: images[1], configuration }, trees[1]);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("two clean builds in different folders give the same files and the same measurement", async () => {
    assert.deepEqual(await imageFiles(images[0]), await imageFiles(images[1]));
    assert.deepEqual(await measureImage(images[0]), await measureImage(images[1]));
    assert.ok(!(await imageFiles(images[1])).includes("dist/enclave/stale.js"));
  });

  it("a copy of a build measures as the build, its configuration given or in its file", async () => {
    const copy = path.join(folder, "copy");
    await copyImage(images[0], { to: copy, configuration });
    const measured = await measureImage(copy);
    assert.deepEqual(measured, await measureImage(images[0]));
    assert.deepEqual(measured, await measureImage(images[0], { configuration }));
    assert.equal(await readFile(path.join(copy, "configuration.json"), "utf8"), configuration);
  });

  it("another configuration is another image, in pcr0 and pcr2", async () => {
    const other = configuration.replace(/"attestationRoot": "./, (text) =>
      text.replace(/.$/, (digit) => (digit === "0" ? "1" : "0")),
    );
    assert.notEqual(other, configuration);
    const [one, two] = [
      await measureImage(images[0]),
      await measureImage(images[0], { configuration: other }),
    ];
    assert.notEqual(one.pcr0, two.pcr0);
    assert.equal(one.pcr1, two.pcr1);
    assert.notEqual(one.pcr2, two.pcr2);
  });

  it("one byte of a source is another image", async () => {
    const source = path.join(trees[0], "enclave", "phase.ts");
    const text = await readFile(source, "utf8");
    await writeFile(source, `${text}// one more line\n`);
    const changed = path.join(folder, "changed");
    await buildImage({ to: changed, configuration }, trees[0]);
    assert.notEqual((await measureImage(changed)).pcr0, (await measureImage(images[1])).pcr0);
    await writeFile(source, text);
  });

  it("nothing is built from sources that do not compile", async () => {
    const source = path.join(trees[0], "enclave", "phase.ts");
    const text = await readFile(source, "utf8");
    await writeFile(source, `${text}const broken: number = "";\n`);
    await assert.rejects(
      buildImage({ to: path.join(folder, "no"), configuration }, trees[0]),
      /cannot be compiled/,
    );
    await writeFile(source, text);
  });

  it("an image without its configuration is half an image", async () => {
    const copy = path.join(folder, "half");
    await copyImage(images[0], { to: copy, configuration });
    await rm(path.join(copy, "configuration.json"));
    await assert.rejects(measureImage(copy), /lacks configuration\.json/);
    assert.ok(!(await codeFiles(copy)).includes("configuration.json"));
  });
});
