// Loads the test files named in CLOISTER_SPECS (a JSON list) as ES modules. Mocha would `require`
// TypeScript files, which rewrites them to CommonJS: not what runs in earnest, and the helpers of
// that rewriting would count as uncovered branches of the enclave.
import "./waiting-by-time.ts";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { describe, it } = globalThis;
const probe = describe("probe", () => {});
const root = probe.parent;
root.suites.splice(root.suites.indexOf(probe), 1);

for (const file of JSON.parse(process.env.CLOISTER_SPECS ?? "[]")) {
  const before = root.suites.length;
  try {
    await import(pathToFileURL(path.resolve(file)).href);
  } catch (error) {
    // One file that cannot be loaded is that file's failure.
    describe(file, () => {
      it("can be loaded", () => {
        throw error;
      });
    });
  }
  // Whose each group is: test/support/tally.cjs counts by file.
  for (const suite of root.suites.slice(before)) suite.file = file;
}
