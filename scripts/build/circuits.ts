// Compiles the circuits and compares what came out with the committed manifest: whoever doubts the
// proving keys can see that they belong to these sources.

import { spawnSync } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import {
  compiledPart,
  emptyManifest,
  keysFolder,
  readManifest,
  writeCompressed,
  writeManifest,
  type CircuitEntry,
} from "./circuits/artefacts.ts";
import { CIRCUITS, compileCircuit, defaultBuildFolder, repositoryRoot } from "./circuits/compile.ts";

const HELP = `Usage: tsx scripts/build/circuits.ts [--out <folder>] [--write] [--attack]

Compiles shared/circuits/*.circom with circom2 at full optimisation, prints the constraint counts and
compares the hashes of the r1cs files with shared/circuits/keys/development/manifest.json.

  --out <folder>  where the r1cs, wasm and sym files go (default .cloister/build/circuits)
  --write         record the new hashes and wasm instead of failing; a circuit whose r1cs changed loses
                  its proving key in the manifest until scripts/build/keys.ts has made a new one
  --attack        afterwards look for a witness that breaks it alone for every constraint of every circuit
                  (hours; the tests try every constraint of deposit-shield and a sample of the others)
  --help          this text

Exit code: 0 when every r1cs is the committed one (or --write) and the attack finds no idle constraint.`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      out: { type: "string" },
      write: { type: "boolean" },
      attack: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const outFolder = path.resolve(values.out ?? defaultBuildFolder);
  const committed = await readManifest();
  const entries: Record<string, CircuitEntry> = {};
  let differs = false;

  for (const name of CIRCUITS) {
    const compiled = await compileCircuit(name, outFolder);
    const known = committed?.circuits[name];
    const isSame = known?.r1cs.sha256 === compiled.r1csSha256;
    const { constraints, publicInputs, privateInputs, wires } = compiled.counts;
    console.log(
      `${name}: ${String(constraints)} constraints (domain 2^${String(domainExponent(constraints, publicInputs))}), ` +
        `${String(wires)} wires, ${String(publicInputs)} public and ${String(privateInputs)} private inputs`,
    );
    console.log(`  r1cs ${compiled.r1csSha256} ${isSame ? "as committed" : "DIFFERS from the manifest"}`);
    if (known?.wasm.sha256 !== compiled.wasmSha256) {
      // Not a failure: the witness program is no part of the statement, the r1cs is.
      console.log(`  wasm ${compiled.wasmSha256} differs from the manifest`);
    }
    differs ||= !isSame;
    if (values.write) {
      await mkdir(keysFolder, { recursive: true });
      const wasm = await writeCompressed(`${name}.wasm.br`, await readFile(compiled.wasmPath));
      const fresh = compiledPart(compiled, wasm);
      entries[name] = isSame ? { ...known, ...fresh } : fresh;
    }
  }
  console.log(`written to ${path.relative(repositoryRoot, outFolder) || "."}`);

  if (values.write) {
    await writeManifest({ ...committed, ...(await emptyManifest()), circuits: entries });
    if (differs) console.log("manifest written; run scripts/build/keys.ts to make keys for the new circuits");
    return 0;
  }
  if (differs) console.error("The circuits are not the ones the committed keys were made for.");
  const attackCode = values.attack ? attack() : 0;
  return differs ? 1 : attackCode;
}

/** The sweep is a test, so that its sample runs with the others; here it runs over everything. */
function attack(): number {
  const mocha = path.join("node_modules", "mocha", "bin", "mocha.js");
  const test = path.join("test", "contract", "circuits", "lone-faults.test.ts");
  const { status, error } = spawnSync(process.execPath, [mocha, test], {
    cwd: repositoryRoot,
    stdio: "inherit",
    env: { ...process.env, CLOISTER_ATTACK: "all" },
  });
  if (error !== undefined) throw error;
  return status ?? 1;
}

/** Groth16 in snarkjs works on the next power of two above constraints plus public signals plus one. */
function domainExponent(constraints: number, publicInputs: number): number {
  return Math.ceil(Math.log2(constraints + publicInputs + 1));
}

process.exitCode = await main();
