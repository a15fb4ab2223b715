/**
 * Puts an enclave's image together in a folder of its own: our code, the packages of the lock file, and the
 * configuration. Trusts the compiler and the packages as they are installed; what came out is measured.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CONFIGURATION_FILE, codeFiles, PROGRAMS, type ProgramName } from "./measurement.ts";

/** Beside the program that loads it: the compiler emits nothing but what it compiled. */
const PAIRINGS = "bn254.wasm";
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

export interface Assembly {
  /** Emptied first. */
  readonly to: string;
  /** Text of configuration.json. */
  readonly configuration: string;
  /** Default: the first. */
  readonly program?: ProgramName | undefined;
}

/** Of an enclave folder that is built: package.json, dist/, node_modules/. */
export async function copyImage(
  enclaveFolder: string,
  { to, configuration, program = "first" }: Assembly,
): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await copyCode(enclaveFolder, to, program);
  await writeFile(path.join(to, CONFIGURATION_FILE), configuration);
}

/** What of it is built, of both programs unless one is named; without a configuration. */
export async function copyCode(enclaveFolder: string, to: string, program?: ProgramName): Promise<void> {
  for (const file of ["package-lock.json", ...(await codeFiles(enclaveFolder, { program }))])
    await cp(path.join(enclaveFolder, file), path.join(to, file));
}

/** From the sources of a whole tree, which is only read: nothing that was emitted before can slip in. */
export async function buildImage(
  { to, configuration, program = "first" }: Assembly,
  tree = ROOT,
): Promise<void> {
  const enclave = path.join(tree, "enclave");
  const dist = path.join(to, "dist", "enclave");
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  await compile(path.join(enclave, "tsconfig.json"), path.join(to, "dist"));
  await compile(path.join(enclave, "second", "tsconfig.json"), path.join(dist, "second"));
  await cp(path.join(enclave, PAIRINGS), path.join(dist, PAIRINGS));
  for (const left of PROGRAMS[program].without) await rm(path.join(to, left), { recursive: true });
  const packages = await codeFiles(enclave, { withoutOwnCode: true });
  for (const file of ["package.json", "package-lock.json", ...packages]) {
    await cp(path.join(enclave, file), path.join(to, file));
  }
  await writeFile(path.join(to, CONFIGURATION_FILE), configuration);
}

async function compile(project: string, outDir: string): Promise<void> {
  const compiler = path.join(ROOT, "node_modules", "typescript", "bin", "tsc");
  try {
    await promisify(execFile)(process.execPath, [compiler, "-p", project, "--outDir", outDir]);
  } catch (error) {
    const { stdout } = error as { readonly stdout?: string };
    throw new Error(`the enclave cannot be compiled:\n${stdout ?? ""}`, { cause: error });
  }
}
