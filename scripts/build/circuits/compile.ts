// Compiles one circuit of shared/circuits/ with the pinned WebAssembly build of circom and counts what
// came out. Trusts the two npm packages named here; their versions are fixed by the lock file.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";

/** Every kind of statement has a circuit of its own, whose main file is named after it. */
export const CIRCUITS: readonly Kind[] = KIND_NAMES;
export type CircuitName = Kind;

export const repositoryRoot = fileURLToPath(new URL("../../../", import.meta.url));
export const defaultBuildFolder = path.join(repositoryRoot, ".cloister", "build", "circuits");

export interface CompiledCircuit {
  readonly name: CircuitName;
  readonly r1csPath: string;
  readonly wasmPath: string;
  readonly symPath: string;
  readonly r1csSha256: string;
  readonly wasmSha256: string;
  readonly wasmBytes: number;
  readonly counts: ConstraintCounts;
}

export interface ConstraintCounts {
  readonly constraints: number;
  readonly wires: number;
  readonly publicInputs: number;
  readonly privateInputs: number;
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export async function compileCircuit(name: CircuitName, outFolder: string): Promise<CompiledCircuit> {
  await mkdir(outFolder, { recursive: true });
  await runCircom([
    path.join("shared", "circuits", `${name}.circom`),
    "--r1cs",
    "--wasm",
    "--sym",
    // Full simplification of linear constraints: without it spend does not fit 2^14.
    "--O2",
    "-l",
    path.join("node_modules", "circomlib", "circuits"),
    "-o",
    path.relative(repositoryRoot, outFolder) || ".",
  ]);
  return readCompiled(name, outFolder);
}

/** What was compiled into this folder before. */
export async function readCompiled(name: CircuitName, outFolder: string): Promise<CompiledCircuit> {
  const r1csPath = path.join(outFolder, `${name}.r1cs`);
  const wasmPath = path.join(outFolder, `${name}_js`, `${name}.wasm`);
  const [r1cs, wasm] = await Promise.all([readFile(r1csPath), readFile(wasmPath)]);
  return {
    name,
    r1csPath,
    wasmPath,
    symPath: path.join(outFolder, `${name}.sym`),
    r1csSha256: sha256Hex(r1cs),
    wasmSha256: sha256Hex(wasm),
    wasmBytes: wasm.length,
    counts: readCounts(r1cs),
  };
}

/**
 * The compiler in a process of its own: it ends its process when it is done. The working folder is
 * always the repository, because it can open files only below the folders above its own.
 */
async function runCircom(args: readonly string[]): Promise<void> {
  const cli = path.join(repositoryRoot, "node_modules", "circom2", "cli.js");
  try {
    await promisify(execFile)(process.execPath, [cli, ...args], { cwd: repositoryRoot });
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    throw new Error(`circom ended with ${String(code)}:\n${stdout ?? ""}${stderr ?? ""}`, { cause: error });
  }
}

/** The header section of an r1cs file (iden3 binary format, version 1, section type 1). */
function readCounts(r1cs: Buffer): ConstraintCounts {
  const sections = r1cs.readUInt32LE(8);
  let offset = 12;
  for (let i = 0; i < sections; i++) {
    const type = r1cs.readUInt32LE(offset);
    const size = Number(r1cs.readBigUInt64LE(offset + 4));
    offset += 12;
    if (type === 1) {
      const fieldBytes = r1cs.readUInt32LE(offset);
      const at = offset + 4 + fieldBytes;
      const outputs = r1cs.readUInt32LE(at + 4);
      if (outputs !== 0) throw new Error("a circuit of ours has no outputs: all public signals are inputs");
      return {
        constraints: r1cs.readUInt32LE(at + 24),
        wires: r1cs.readUInt32LE(at),
        publicInputs: r1cs.readUInt32LE(at + 8),
        privateInputs: r1cs.readUInt32LE(at + 12),
      };
    }
    offset += size;
  }
  throw new Error("the r1cs file has no header section");
}
