// The circuits that a ceremony is about: this checkout's, compiled now, or a folder of others for a trial.

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { CIRCUITS, compileCircuit, repositoryRoot, sha256Hex } from "../build/circuits/compile.ts";
import { CeremonyError } from "./transcript.ts";

export interface CircuitFiles {
  readonly name: string;
  readonly r1cs: Buffer;
  readonly wasm: Buffer;
}

export interface Sources {
  /** SHA-256 by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly circuits: readonly CircuitFiles[];
}

/** Undefined names: all of them. */
export async function compileHere(names: readonly string[] | undefined): Promise<Sources> {
  const chosen = CIRCUITS.filter((name) => names?.includes(name) ?? true);
  const unknown = names?.find((name) => !chosen.some((known) => known === name));
  if (unknown !== undefined || chosen.length === 0)
    throw new CeremonyError("MALFORMED", `no circuit ${unknown ?? ""}; there are ${CIRCUITS.join(", ")}`);
  const scratch = await mkdtemp(path.join(os.tmpdir(), "cloister-ceremony-"));
  try {
    const circuits: CircuitFiles[] = [];
    for (const name of chosen) {
      const compiled = await compileCircuit(name, scratch);
      circuits.push({
        name,
        r1cs: await readFile(compiled.r1csPath),
        wasm: await readFile(compiled.wasmPath),
      });
    }
    return { files: await circomHashes(path.join(repositoryRoot, "shared", "circuits")), circuits };
  } finally {
    await rm(scratch, { recursive: true });
  }
}

/** A folder as circom leaves it: `<name>.r1cs` and `<name>_js/<name>.wasm`, beside the sources. */
export async function compiledElsewhere(
  folder: string,
  names: readonly string[] | undefined,
): Promise<Sources> {
  const found = (await readdir(folder))
    .filter((file) => file.endsWith(".r1cs"))
    .map((file) => file.slice(0, -5));
  const circuits = (names ?? found.sort()).map(async (name) => ({
    name,
    r1cs: await readFile(path.join(folder, `${name}.r1cs`)),
    wasm: await readFile(path.join(folder, `${name}_js`, `${name}.wasm`)),
  }));
  return { files: await circomHashes(folder), circuits: await Promise.all(circuits) };
}

/** SHA-256 of the r1cs that each circuit of this checkout compiles to. */
export async function recompiled(names: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { circuits } = await compileHere(names);
  return new Map(circuits.map(({ name, r1cs }) => [name, sha256Hex(r1cs)]));
}

async function circomHashes(folder: string): Promise<Record<string, string>> {
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => file.endsWith(".circom"))
    .sort();
  const hashed = files.map(
    async (file) =>
      [file.split(path.sep).join("/"), sha256Hex(await readFile(path.join(folder, file)))] as const,
  );
  return Object.fromEntries(await Promise.all(hashed));
}
