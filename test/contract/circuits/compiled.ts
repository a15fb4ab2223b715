// The circuits as their sources give them now, compiled once for all tests of this folder and held in
// memory, and the parts of them that tests look at.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import {
  compileCircuit,
  type CircuitName,
  type CompiledCircuit,
} from "../../../scripts/build/circuits/compile.ts";
import { readR1cs, type R1cs } from "./r1cs.ts";

export interface Compiled {
  readonly facts: CompiledCircuit;
  readonly wasm: Buffer;
  readonly r1cs: R1cs;
  /** Wire of every named signal; -1 when the compiler simplified it away. */
  readonly wires: ReadonlyMap<string, number>;
}

const cache = new Map<CircuitName, Promise<Compiled>>();

export function compiled(name: CircuitName): Promise<Compiled> {
  let found = cache.get(name);
  if (found === undefined) {
    found = compileInTemporaryFolder(name);
    cache.set(name, found);
  }
  return found;
}

async function compileInTemporaryFolder(name: CircuitName): Promise<Compiled> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "cloister-circuits-"));
  try {
    const facts = await compileCircuit(name, folder);
    return {
      facts,
      wasm: await readFile(facts.wasmPath),
      r1cs: readR1cs(await readFile(facts.r1csPath)),
      wires: readSymbols(await readFile(facts.symPath, "utf8")),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A line of a sym file: label, wire, component, name. */
function readSymbols(sym: string): Map<string, number> {
  const wires = new Map<string, number>();
  for (const line of sym.trimEnd().split("\n")) {
    const [, wire, , name] = line.split(",");
    if (name !== undefined) wires.set(name, Number(wire));
  }
  return wires;
}
