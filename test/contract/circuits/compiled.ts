// The circuits as their sources give them now, compiled once for all tests of this folder, and the parts of them that
// tests look at.

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import path from "node:path";
import {
  compileCircuit,
  readCompiled,
  repositoryRoot,
  type CircuitName,
  type CompiledCircuit,
} from "../../../scripts/build/circuits/compile.ts";
import { until } from "../../support/until.ts";
import { readR1cs, type R1cs } from "./r1cs.ts";

export interface Compiled {
  readonly facts: CompiledCircuit;
  readonly wasm: Buffer;
  readonly r1cs: R1cs;
  /** Wire of every named signal; -1 when the compiler simplified it away. */
  readonly wires: ReadonlyMap<string, number>;
}

/** A minute of a processor for all of them: what one file has compiled from these sources, the others read. */
const FOLDER = path.join(repositoryRoot, ".cloister/build/circuits-of-tests");

const cache = new Map<CircuitName, Promise<Compiled>>();

export function compiled(name: CircuitName): Promise<Compiled> {
  let found = cache.get(name);
  if (found === undefined) {
    found = read(name);
    cache.set(name, found);
  }
  return found;
}

async function read(name: CircuitName): Promise<Compiled> {
  const digest = await digestOfSources();
  const folder = path.join(FOLDER, digest, name);
  await until("another file to have compiled it", async () => {
    if (existsSync(folder)) return true;
    const lock = await lockOf(`${digest} ${name}`);
    if (lock === undefined) return false;
    try {
      if (!existsSync(folder)) await compileInto(folder, name);
      return true;
    } finally {
      lock.close();
    }
  });
  const facts = await readCompiled(name, folder);
  return {
    facts,
    wasm: await readFile(facts.wasmPath),
    r1cs: readR1cs(await readFile(facts.r1csPath)),
    wires: readSymbols(await readFile(facts.symPath, "utf8")),
  };
}

async function compileInto(folder: string, name: CircuitName): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  const own = await mkdtemp(`${folder}-`);
  try {
    await compileCircuit(name, own);
    await rename(own, folder);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

/** A name that the system forgets with its owner; undefined while another has it. */
async function lockOf(name: string): Promise<Server | undefined> {
  const server = createServer().unref();
  return new Promise((resolve) => {
    server.once("error", () => resolve(undefined));
    server.listen(`\0cloister ${name}`, () => resolve(server));
  });
}

async function digestOfSources(): Promise<string> {
  const digest = createHash("sha256").update(await readFile(path.join(repositoryRoot, "package-lock.json")));
  const folder = path.join(repositoryRoot, "shared/circuits");
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith(".circom"));
  for (const file of files.sort()) digest.update(file).update(await readFile(path.join(folder, file)));
  return digest.digest("hex").slice(0, 24);
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
