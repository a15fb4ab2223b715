import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { copyImage } from "../../../scripts/image/assemble.ts";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { ENCLAVE_FOLDER, imageFiles, measureImage, PROGRAMS } from "../../../scripts/image/measurement.ts";

const ROOT = path.join(ENCLAVE_FOLDER, "..");

/** dist/enclave/main.js of an image is enclave/main.ts of the tree. */
const sourceOf = (emitted: string): string => emitted.replace(/^dist\//, "").replace(/\.js$/, ".ts");
const emittedOf = (source: string): string => `dist/${source.replace(/\.ts$/, ".js")}`;

/** These and all that they import of ours, for a type alone too: what a reader comes to. */
async function reached(sources: readonly string[]): Promise<string[]> {
  const found = new Set(sources);
  for (const source of found) {
    const text = await readFile(path.join(ROOT, source), "utf8");
    for (const [, to = ""] of text.matchAll(/ from "(\.[^"]+)";$/gm))
      found.add(path.join(path.dirname(source), to));
  }
  return [...found];
}

describe("the enclave's image", function () {
  const lock = async (): Promise<Record<string, Record<string, unknown>>> =>
    (
      JSON.parse(await readFile(path.join(ENCLAVE_FOLDER, "package-lock.json"), "utf8")) as {
        packages: never;
      }
    ).packages;

  it("has at most two packages, each with its hash, none with a script to run or a place to fetch it from", async () => {
    const packages = Object.entries(await lock()).filter(([where]) => where !== "");
    assert.ok(packages.length <= 2, String(packages.length));
    for (const [where, entry] of packages) {
      assert.match(String(entry["integrity"]), /^sha512-/, where);
      for (const unwanted of ["resolved", "hasInstallScript", "dev", "optional", "link"])
        assert.ok(!(unwanted in entry), where);
    }
  });

  it("names its packages exactly, as the project's own list does", async () => {
    const read = async (file: string): Promise<{ dependencies: Record<string, string> }> =>
      JSON.parse(await readFile(file, "utf8"));
    const own = await read(path.join(ENCLAVE_FOLDER, "package.json"));
    const root = await read(path.join(ENCLAVE_FOLDER, "..", "package.json"));
    assert.deepEqual(
      Object.keys(own).filter((key) => /dependencies/i.test(key)),
      ["dependencies"],
    );
    for (const [name, version] of Object.entries(own.dependencies)) {
      assert.match(version, /^\d+\.\d+\.\d+$/);
      assert.equal(root.dependencies[name], version, name);
    }
  });

  it("has at most 1,400 lines of our own in enclave/", async () => {
    const files = (await readdir(ENCLAVE_FOLDER)).filter((file) => file.endsWith(".ts"));
    const lines = (await Promise.all(files.map((file) => readFile(path.join(ENCLAVE_FOLDER, file), "utf8"))))
      .flatMap((text) => text.split("\n"))
      .filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line));
    assert.ok(lines.length <= 1_400, String(lines.length));
  });

  it("holds no package's tests, and less than 3 MB", async () => {
    const files = await imageFiles(ENCLAVE_FOLDER, { program: "first" });
    assert.deepEqual(
      files.filter((file) => /^node_modules\/([^@/]+|@[^/]+\/[^/]+)\/(test|tests)\//.test(file)),
      [],
    );
    const sizes = await Promise.all(
      files
        .filter((file) => file !== "configuration.json")
        .map(async (file) => (await stat(path.join(ENCLAVE_FOLDER, file))).size),
    );
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) < 3_000_000);
    // The builder's recipe leaves the same out.
    assert.match(await readFile(path.join(ENCLAVE_FOLDER, "Dockerfile"), "utf8"), /node_modules\/\*\/test/);
  });

  for (const { name, main, verifier } of Object.values(PROGRAMS)) {
    it(`holds our sources one file by one, those that it reaches and no other: the ${name} program`, async () => {
      const files = await imageFiles(ENCLAVE_FOLDER, { program: name });
      const sources = await reached([main, verifier].map(sourceOf));
      const expected = [...sources.map(emittedOf), "configuration.json", "package.json"];
      if (name === "first") expected.push("dist/enclave/bn254.wasm");
      assert.deepEqual(
        files.filter((file) => !file.startsWith("node_modules/")),
        expected.sort(),
      );
      for (const file of expected.filter((one) => one.endsWith("js") || one === "package.json")) {
        const text = await readFile(path.join(ENCLAVE_FOLDER, file), "utf8");
        assert.doesNotMatch(text, /process\.env|NODE_ENV|simulat(ed|ion) (platform|enclave)/i, file);
      }
    });
  }

  it("has nothing of one judge where the other decides", async () => {
    const [first, second] = await Promise.all(
      [PROGRAMS.first, PROGRAMS.second].map(({ name }) => imageFiles(ENCLAVE_FOLDER, { program: name })),
    );
    assert.ok(!first!.some((file) => file.includes("second")));
    for (const judges of ["attest", "attest-root", "claims", "first", "verifier", "verify", "bn254"])
      assert.ok(!second!.some((file) => file.startsWith(`dist/enclave/${judges}.`)), judges);
  });

  describe("its measurement", () => {
    let copy: string;
    let configuration: string;
    before(async () => {
      copy = await mkdtemp(path.join(tmpdir(), "cloister-image-"));
      configuration = await developmentConfiguration();
      await copyImage(ENCLAVE_FOLDER, { to: copy, configuration, program: "first" });
    });
    after(() => rm(copy, { recursive: true, force: true }));

    const changed = async (file: string, change: (text: string) => string): Promise<void> => {
      const at = path.join(copy, file);
      const before = await readFile(at, "utf8");
      const measured = await measureImage(copy);
      await writeFile(at, change(before));
      assert.notEqual((await measureImage(copy)).pcr0, measured.pcr0, file);
      await writeFile(at, before);
      assert.deepEqual(await measureImage(copy), measured);
    };

    it("is the same in another folder", async () => {
      assert.deepEqual(
        await measureImage(copy),
        await measureImage(ENCLAVE_FOLDER, { configuration, program: "first" }),
      );
    });

    it("changes with one byte of our code, of the configuration, of a package, of the package list", async () => {
      const flip = (text: string): string => text.replace(/1/, "2");
      await changed("dist/enclave/verify.js", flip);
      await changed("configuration.json", flip);
      await changed("node_modules/@noble/curves/nist.js", flip);
      await changed("package.json", flip);
    });

    it("changes with a file more or less, or one renamed", async () => {
      const measured = await measureImage(copy);
      await writeFile(path.join(copy, "dist", "extra.js"), "");
      assert.notEqual((await measureImage(copy)).pcr0, measured.pcr0);
      await rm(path.join(copy, "dist", "extra.js"));
      assert.deepEqual(await measureImage(copy), measured);
    });

    it("is not taken through a link, nor of half an image", async () => {
      await symlink("/etc/hostname", path.join(copy, "dist", "link.js"));
      await assert.rejects(measureImage(copy), /cannot be measured/);
      await rm(path.join(copy, "dist", "link.js"));
      await rm(path.join(copy, "node_modules", "@noble", "hashes"), { recursive: true });
      await assert.rejects(measureImage(copy), /lacks node_modules\/@noble\/hashes/);
    });

    it("tells the executable apart from the program", async () => {
      const one = await measureImage(ENCLAVE_FOLDER, { configuration, program: "first" });
      const node = path.join(ENCLAVE_FOLDER, "package.json");
      const other = await measureImage(ENCLAVE_FOLDER, { configuration, node, program: "first" });
      assert.equal(other.pcr0, one.pcr0);
      assert.notEqual(other.pcr1, one.pcr1);
      assert.equal(other.pcr2, one.pcr2);
    });
  });
});
