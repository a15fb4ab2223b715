// Loads the test files named in CLOISTER_SPECS (a JSON list) as ES modules, from their bundles where CLOISTER_BUNDLES (a
// JSON object) names them. Mocha would `require` TypeScript files, which rewrites them to CommonJS: not what runs in
// earnest, and the helpers of that rewriting would count as uncovered branches of the enclave.
import path from "node:path";
import { pathToFileURL } from "node:url";

const bundles = JSON.parse(process.env.CLOISTER_BUNDLES ?? "{}");
const load = (file) => import(pathToFileURL(bundles[file] ?? path.resolve(file)).href);
await load("test/support/waiting-by-time.ts");

const { describe, it } = globalThis;
const probe = describe("probe", () => {});
const root = probe.parent;
root.suites.splice(root.suites.indexOf(probe), 1);

// What snarkjs keeps for the next proof would hold the process open.
globalThis.after(() => globalThis.curve_bn128?.terminate());

for (const file of JSON.parse(process.env.CLOISTER_SPECS ?? "[]")) {
  const before = root.suites.length;
  try {
    await load(file);
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
