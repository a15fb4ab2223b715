// The releases of Node: what package.json promises, what is installed to try them, and what the set-up refuses.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { PROJECT_ROOT } from "../../../support/tree.ts";

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- npm's own files
const json = async (file: string): Promise<any> =>
  JSON.parse(await readFile(path.join(PROJECT_ROOT, file), "utf8"));

describe("the releases of Node", () => {
  it("each that package.json names is tried at one exact version, on both machines, by a lock of its own", async () => {
    const ranges: string[] = (await json("package.json")).engines.node.split(" || ");
    const wanted: Record<string, string> = (await json("scripts/build/nodes/package.json"))
      .optionalDependencies;
    const { packages } = await json("scripts/build/nodes/package-lock.json");
    assert.equal(Object.keys(wanted).length, 2 * ranges.length);
    for (const range of ranges) {
      const [, release, minor] = /^\^(\d+)\.(\d+)\.0$/.exec(range) ?? assert.fail(range);
      for (const arch of ["arm64", "x64"]) {
        const name = `node${release ?? ""}-linux-${arch}`;
        const locked = packages[`node_modules/${name}`];
        assert.equal(wanted[name], `npm:node-linux-${arch}@${String(locked.version)}`);
        const [major, itsMinor] = String(locked.version).split(".");
        assert.equal(major, release);
        assert.ok(Number(itsMinor) >= Number(minor), name);
        assert.match(locked.integrity, /^sha512-/);
        assert.equal(locked.resolved, undefined);
      }
    }
  });

  /** The set-up as it would be on another release; refused before it touches anything. */
  const onRelease = (version: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const program = `
        Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${version}" } });
        const { setUp } = await import("./scripts/build/setup.mjs");
        await setUp().then(() => process.exit(9), ({ message }) => console.log(message));`;
      execFile(
        process.execPath,
        ["--input-type=module", "-e", program],
        { cwd: PROJECT_ROOT },
        (error, out, err) => (error === null ? resolve(out) : reject(new Error(err))),
      );
    });

  it("the set-up refuses every other, and says which ones it takes", async () => {
    for (const version of ["18.20.0", "20.18.3", "21.9.0", "22.12.0", "23.11.0", "25.0.0"]) {
      const said = await onRelease(version);
      assert.match(said, /^Node 20\.19\.0 or 22\.13\.0 or 24\.0\.0 /);
      assert.ok(said.includes(`this is ${version}`), said);
    }
  });
});
