// Makes DEVELOPMENT proving and verification keys: contributions with fresh randomness, a beacon, and a
// check of the outcome against circuit and powers of tau. One party runs it, so it can forge proofs if
// it keeps its randomness; keys for money come from a ceremony of many parties.

import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { zKey } from "snarkjs";
import {
  compiledPart,
  emptyManifest,
  keysFolder,
  packageVersion,
  readManifest,
  verificationKeysFolder,
  writeCompressed,
  writeManifest,
  type CircuitEntry,
  type Manifest,
} from "./circuits/artefacts.ts";
import { mustNotBeFalse, releaseCurve } from "./circuits/ceremony.ts";
import {
  CIRCUITS,
  compileCircuit,
  defaultBuildFolder,
  repositoryRoot,
  sha256Hex,
  type CircuitName,
  type CompiledCircuit,
} from "./circuits/compile.ts";
import { defaultPtauFile, makePtau } from "./ptau.ts";

const POWER = 16;
const CONTRIBUTIONS = 3;
const SHARED_PTAU = path.join("..", "shared", "ptau", "development-16.ptau");
const SHARED_PTAU_SHA256 = "eca68cd46c0b0e1551745e686523fd785300c14f6a45b2a6cf8ada54d0d86dbd";

/**
 * A real beacon is public randomness fixed after the last contribution. This one is a constant and adds
 * no security; it is here so that development keys take every step the real ones will.
 */
const BEACON_HEX = createHash("sha256").update("Cloister development keys, not for money").digest("hex");
const BEACON_ITERATIONS_EXPONENT = 10;

const HELP = `Usage: tsx scripts/build/keys.ts [--only <circuit> ...] [--ptau <file>]

Makes DEVELOPMENT keys for every circuit, or for those named: compiles it, runs ${String(CONTRIBUTIONS)} contributions with fresh randomness and
a beacon with snarkjs, verifies the outcome, and writes
  shared/circuits/keys/development/   proving keys and witness programs (Brotli), manifest.json
  shared/protocol/verification-keys/  verification keys

Every run makes other keys: pools and enclaves that pinned the old ones must be set up again.

  --only <circuit>  this circuit and no other; may be repeated. The other circuits keep their files, and
                    the new keys must come from the same tools and powers of tau as theirs
  --ptau <file>     powers of tau prepared for phase 2, power ${String(POWER)} or more. Without it:
                    ${SHARED_PTAU} when it is there (its hash is checked), else
                    .cloister/build/ptau/development-${String(POWER)}.ptau, which scripts/build/ptau.ts makes
                    first when missing (about half an hour)
  --help            this text`;

interface Ptau {
  readonly file: string;
  readonly sha256: string;
}

interface Keys {
  readonly compiled: CompiledCircuit;
  readonly zkey: Buffer;
  readonly verificationKey: string;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true },
      ptau: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const chosen = chooseCircuits(values.only);
  console.log("DEVELOPMENT KEYS ONLY: never use what this makes with money.");
  const ptau = await findPtau(values.ptau);
  console.log(`powers of tau: ${path.basename(ptau.file)} ${ptau.sha256}`);
  const manifest = await freshManifest(ptau);
  // Asked twice: a refusal should come before the work, and another run may end during it.
  const kept = (): Promise<Partial<Record<CircuitName, CircuitEntry>>> => keptCircuits(manifest, chosen);
  await kept();

  // Nothing is written to its final place before every circuit is verified: keys of two runs never mix.
  const made: Keys[] = [];
  for (const name of chosen) made.push(await makeKeys(name, ptau));
  const written = await writeArtefacts(made);
  const circuits = { ...(await kept()), ...written };
  const inOrder = CIRCUITS.flatMap((name) => (circuits[name] ? [[name, circuits[name]] as const] : []));
  await writeManifest({ ...manifest, circuits: Object.fromEntries(inOrder) });
  await releaseCurve();
}

/** Throws for a name that no circuit has. */
function chooseCircuits(names: readonly string[] | undefined): readonly CircuitName[] {
  const unknown = names?.find((name) => !CIRCUITS.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`${unknown} is no circuit; there are ${CIRCUITS.join(", ")}`);
  return CIRCUITS.filter((name) => names?.includes(name) ?? true);
}

async function freshManifest(ptau: Ptau): Promise<Manifest> {
  return {
    ...(await emptyManifest()),
    setup: {
      snarkjs: await packageVersion("snarkjs"),
      ptau: { file: path.basename(ptau.file), sha256: ptau.sha256 },
      beacon: { hex: BEACON_HEX, iterationsExponent: BEACON_ITERATIONS_EXPONENT },
    },
  };
}

/** The manifest names tools and powers of tau once for all circuits, so old and new must agree on them. */
async function keptCircuits(
  fresh: Manifest,
  replaced: readonly CircuitName[],
): Promise<Partial<Record<CircuitName, CircuitEntry>>> {
  const committed = await readManifest();
  if (committed === undefined) return {};
  const origin = ({ compiler, setup }: Manifest): string => JSON.stringify([compiler, setup]);
  const kept = Object.entries(committed.circuits).filter(
    ([name]) => !replaced.some((other) => other === name),
  );
  if (kept.length > 0 && origin(committed) !== origin(fresh))
    throw new Error("the keys that would stay come from other tools or powers of tau: make all of them");
  return Object.fromEntries(kept);
}

async function findPtau(given: string | undefined): Promise<Ptau> {
  if (given !== undefined) return hashed(path.resolve(given));
  const shared = path.join(repositoryRoot, SHARED_PTAU);
  if (existsSync(shared)) {
    const ptau = await hashed(shared);
    if (ptau.sha256 !== SHARED_PTAU_SHA256)
      throw new Error(`${SHARED_PTAU} does not have the expected SHA-256`);
    return ptau;
  }
  const own = defaultPtauFile(POWER);
  const { sha256 } = await makePtau({ power: POWER, contributions: CONTRIBUTIONS, outFile: own });
  return { file: own, sha256 };
}

async function hashed(file: string): Promise<Ptau> {
  return { file, sha256: sha256Hex(await readFile(file)) };
}

async function makeKeys(name: CircuitName, ptau: Ptau): Promise<Keys> {
  const compiled = await compileCircuit(name, defaultBuildFolder);
  console.log(`${name}: ${String(compiled.counts.constraints)} constraints`);
  const folder = path.join(repositoryRoot, ".cloister", "build", "keys", name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });

  let last = path.join(folder, "0.zkey");
  await mustNotBeFalse("the initial key", zKey.newZKey(compiled.r1csPath, ptau.file, last));
  for (let i = 1; i <= CONTRIBUTIONS; i++) {
    const next = path.join(folder, `${String(i)}.zkey`);
    console.log(`${name}: contribution ${String(i)} of ${String(CONTRIBUTIONS)}`);
    await mustNotBeFalse(
      "the contribution",
      zKey.contribute(last, next, `development ${String(i)}`, randomBytes(64).toString("hex")),
    );
    last = next;
  }
  const final = path.join(folder, "final.zkey");
  await mustNotBeFalse(
    "the beacon",
    zKey.beacon(last, final, "development beacon", BEACON_HEX, BEACON_ITERATIONS_EXPONENT),
  );
  console.log(`${name}: verifying against circuit and powers of tau`);
  if (!(await zKey.verifyFromR1cs(compiled.r1csPath, ptau.file, final))) {
    throw new Error(`the proving key of ${name} does not belong to its circuit and powers of tau`);
  }
  const zkey = await readFile(final);
  const verificationKey = `${JSON.stringify(await zKey.exportVerificationKey(final), null, 1)}\n`;
  await rm(folder, { recursive: true, force: true });
  return { compiled, zkey, verificationKey };
}

async function writeArtefacts(made: readonly Keys[]): Promise<Partial<Record<CircuitName, CircuitEntry>>> {
  await mkdir(keysFolder, { recursive: true });
  await mkdir(verificationKeysFolder, { recursive: true });
  const circuits: Partial<Record<CircuitName, CircuitEntry>> = {};
  for (const { compiled, zkey, verificationKey } of made) {
    const { name } = compiled;
    console.log(`${name}: compressing`);
    const wasm = await writeCompressed(`${name}.wasm.br`, await readFile(compiled.wasmPath));
    await writeFile(path.join(verificationKeysFolder, `${name}.json`), verificationKey);
    const entry: CircuitEntry = {
      ...compiledPart(compiled, wasm),
      zkey: await writeCompressed(`${name}.zkey.br`, zkey),
      verificationKey: { sha256: sha256Hex(Buffer.from(verificationKey)) },
      contributions: CONTRIBUTIONS,
    };
    circuits[name] = entry;
    console.log(
      `${name}: proving key ${String(entry.zkey?.bytes)} bytes, ${String(entry.zkey?.compressedBytes)} compressed`,
    );
  }
  return circuits;
}

await main();
