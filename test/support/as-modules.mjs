// Loads the test files named in CLOISTER_SPECS (a JSON list) as ES modules. Mocha would `require`
// TypeScript files, which rewrites them to CommonJS: not what runs in earnest, and the helpers of
// that rewriting would count as uncovered branches of the enclave.
import path from "node:path";
import { pathToFileURL } from "node:url";

for (const file of JSON.parse(process.env.CLOISTER_SPECS ?? "[]")) {
  await import(pathToFileURL(path.resolve(file)).href);
}
