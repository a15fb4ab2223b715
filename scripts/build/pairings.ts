// `npm run pairings`: generates enclave/bn254.wasm, the pairings of the enclave's verifier, from the package wasmcurves.
// The same bytes at every run: `npm run audit` and a test generate them again and compare.
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { ModuleBuilder } from "wasmbuilder";
import { buildBn128 } from "wasmcurves";
import { runCommand } from "../base/command.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
export const PAIRINGS_FILE = path.join(ROOT, "enclave", "bn254.wasm");
/** What generates the file; the exact versions are those of package-lock.json. */
export const GENERATORS = ["wasmcurves", "wasmbuilder"] as const;
/** Least pages of memory. What the file computes with is the memory that it is given. */
const PAGES = 25;

const HELP = `Usage: npm run pairings [-- --check]

Generates enclave/bn254.wasm from the package wasmcurves and prints its SHA-256.

  --check   write nothing; exit code 1 when the committed file is another
  --help    this text`;

export function generatePairings(): Uint8Array {
  const module = new ModuleBuilder();
  module.setMemory(PAGES);
  buildBn128(module);
  return Uint8Array.from(module.build());
}

const OPTIONS = { check: { type: "boolean" }, help: { type: "boolean" } } as const;

if (import.meta.filename === process.argv[1]) {
  await runCommand({ help: HELP, options: OPTIONS }, async ({ values }) => {
    const code = generatePairings();
    console.log(`${createHash("sha256").update(code).digest("hex")}  enclave/bn254.wasm`);
    if (values.check === true) return Buffer.compare(await readFile(PAIRINGS_FILE), code) === 0 ? 0 : 1;
    await writeFile(PAIRINGS_FILE, code);
    return 0;
  });
}
