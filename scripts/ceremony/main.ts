// The key ceremony at the terminal: `npm run ceremony -- <step>`. Several parties pass a folder on; each step
// checks what it was given, says what it does, and can be repeated when it was interrupted.
// The guide is shared/circuits/CEREMONY.md.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { releaseCurve } from "../build/circuits/ceremony.ts";
import { announceBeacon, applyBeacon } from "./beacon.ts";
import { contribute, WHAT_REMAINS } from "./contribute.ts";
import { readUnseen } from "./entropy.ts";
import { finishCeremony } from "./finish.ts";
import { circuitsOf, newestLink, type Ceremony } from "./folder.ts";
import { initCeremony } from "./init.ts";
import { compiledElsewhere, compileHere } from "./sources.ts";
import { CeremonyError, isKeyEntry, linkName, parseEntry, recordHash } from "./transcript.ts";
import { verifyCeremony } from "./verify.ts";

const HELP = `Usage: npm run ceremony -- <step> --folder <folder> [options]

Makes Groth16 keys together with others, so that nobody can forge a proof unless all parties conspire.

  init        coordinator: pin circuits and powers of tau, make key number 0
  contribute  each party in turn: add randomness to every circuit's key
  verify      anybody, at any time: check everything that was done so far
  beacon      coordinator: announce public randomness, later apply it
  finish      coordinator: export keys, hashes and manifest

  --help      this text; after a step, the help of that step

The guide, with what to exchange and what to publish: shared/circuits/CEREMONY.md`;

const FOLDER = `  --folder <folder>   the ceremony's folder`;
const TRUST = `  --trust-powers-of-tau  compare the powers of tau with the transcript's hash only; for a file whose hash
                      you know from its publishers. Verifying them takes minutes`;

interface Step {
  readonly help: string;
  readonly options: NonNullable<ParseArgsConfig["options"]>;
  run(values: Values): Promise<void>;
}

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

const STEPS: Readonly<Record<string, Step>> = {
  init: {
    help: `Usage: npm run ceremony -- init --folder <folder> --ptau <file> [options]

Compiles the circuits of this checkout, verifies the powers of tau, makes key number 0 of every circuit and
starts the transcript. Adds no randomness: everybody can repeat it and gets the same keys.

${FOLDER}, made here
  --ptau <file>       powers of tau on BN254, prepared for phase 2, with contributions of others
  --ptau-sha256 <hex> refuse another file than this
  --circuits <a,b>    these circuits only (default: all)
  --compiled <folder> circuits that are compiled already: <name>.r1cs and <name>_js/<name>.wasm`,
    options: {
      ptau: { type: "string" },
      "ptau-sha256": { type: "string" },
      circuits: { type: "string" },
      compiled: { type: "string" },
    },
    async run(values) {
      const names = optional(values, "circuits")?.split(",");
      const compiled = optional(values, "compiled");
      const ptau = path.resolve(needed(values, "ptau"));
      say(compiled === undefined ? "compiling the circuits" : `taking the circuits from ${compiled}`);
      const sources =
        compiled === undefined ? await compileHere(names) : await compiledElsewhere(compiled, names);
      const ptauSha256 = optional(values, "ptau-sha256")?.toLowerCase();
      const made = await initCeremony({
        folder: folderOf(values),
        ptau,
        ptauSha256,
        sources,
        now: new Date(),
        say,
      });
      describe(made);
      say("Pass the folder on to the first party.");
    },
  },

  contribute: {
    help: `Usage: npm run ceremony -- contribute --folder <folder> --name <name> [options]

Checks the newest keys, adds your randomness to every circuit's key, and writes the folder <number>-<name>
with the new keys and record.json, the statement that you sign and publish. After an interruption run it again.

${FOLDER}
  --name <name>       your name in the transcript: lower-case letters, digits, hyphens
  --entropy           also use what you type (it is not shown) or pipe in; the system's randomness is used always
${TRUST}`,
    options: {
      name: { type: "string" },
      entropy: { type: "boolean" },
      "trust-powers-of-tau": { type: "boolean" },
    },
    async run(values) {
      const party = needed(values, "name");
      const ownEntropy = values["entropy"] === true ? await askForEntropy() : undefined;
      const made = await contribute({
        folder: folderOf(values),
        party,
        ownEntropy,
        trustPowersOfTau: values["trust-powers-of-tau"] === true,
        now: new Date(),
        say,
      });
      describe(made);
      say(`Sign and keep ${newestLink(made)}/record.json, publish its hash, and pass the folder on.\n`);
      say(WHAT_REMAINS);
    },
  },

  verify: {
    help: `Usage: npm run ceremony -- verify --folder <folder> [options]

Checks the whole ceremony: hash chain, files, every key's history, and that the newest key of each circuit
belongs to circuit and powers of tau. Names the first link that does not hold. Exit code 0 only when all holds.

${FOLDER}
  --expect <record>   a record.json that must be in the transcript, as its party kept or published it; may be
                      given several times. Only this notices a ceremony that was made again without somebody
  --recompile         compile the circuits of this checkout and compare
  --newest-only       earlier keys may be absent
${TRUST}`,
    options: {
      expect: { type: "string", multiple: true },
      recompile: { type: "boolean" },
      "newest-only": { type: "boolean" },
      "trust-powers-of-tau": { type: "boolean" },
    },
    async run(values) {
      const files = [values["expect"] ?? []].flat().map(String);
      const expected = await Promise.all(files.map(async (file) => parseEntry(await readFile(file, "utf8"))));
      const found = await verifyCeremony({
        folder: folderOf(values),
        expected,
        newestOnly: values["newest-only"] === true,
        trustPowersOfTau: values["trust-powers-of-tau"] === true,
        recompile: values["recompile"] === true,
        say,
      });
      describe(found);
      say(
        expected.length === 0
          ? "All holds. Whether these are the contributions that the parties made, only their records tell: --expect."
          : `All holds, with ${String(expected.length)} expected record${expected.length === 1 ? "" : "s"}.`,
      );
    },
  },

  beacon: {
    help: `Usage: npm run ceremony -- beacon --folder <folder> --announce <source> [--iterations <n>]
       npm run ceremony -- beacon --folder <folder> --value <hex>

First announces, after the last contribution, which public randomness will be used; it must not exist yet.
Publish the announcement's hash. Later applies the value that the source gave.

${FOLDER}
  --announce <source> for example "hash of Ethereum mainnet block 30000000" or "drand default chain, round 9000000"
  --iterations <n>    the value is hashed 2^n times, n from 10 to 40 (default 10)
  --value <hex>       32 bytes
${TRUST}`,
    options: {
      announce: { type: "string" },
      iterations: { type: "string" },
      value: { type: "string" },
      "trust-powers-of-tau": { type: "boolean" },
    },
    async run(values) {
      const source = optional(values, "announce");
      const value = optional(values, "value");
      if ((source === undefined) === (value === undefined))
        throw new CeremonyError("MALFORMED", "either --announce or --value is needed");
      const common = { folder: folderOf(values), now: new Date(), say };
      if (source !== undefined) {
        const iterationsExponent = Number(optional(values, "iterations") ?? "10");
        const trustPowersOfTau = values["trust-powers-of-tau"] === true;
        describe(await announceBeacon({ ...common, source, iterationsExponent, trustPowersOfTau }));
        say("Publish this hash before the value exists, then come back with --value.");
      } else if (value !== undefined) {
        describe(await applyBeacon({ ...common, value }));
        say("Next: finish.");
      }
    },
  },

  finish: {
    help: `Usage: npm run ceremony -- finish --folder <folder> --out <folder> [options]

Verifies everything once more and writes compressed keys and witness programs, verification keys, manifest.json
with purpose "ceremony", and the transcript. Refuses without a beacon or with fewer than two parties.

${FOLDER}
  --out <folder>      made here
${TRUST}`,
    options: { out: { type: "string" }, "trust-powers-of-tau": { type: "boolean" } },
    async run(values) {
      const out = path.resolve(needed(values, "out"));
      const manifest = await finishCeremony({
        folder: folderOf(values),
        out,
        trustPowersOfTau: values["trust-powers-of-tau"] === true,
        say,
      });
      for (const [circuit, { verificationKey }] of Object.entries(manifest.circuits))
        say(`${circuit}: key hash ${verificationKey.keyHash}`);
      say(`Written to ${out}.`);
    },
  },
};

async function askForEntropy(): Promise<Buffer> {
  const own = await readUnseen(process.stdin, () => {
    process.stderr.write("Type at random, then Enter (nothing is shown): ");
  });
  process.stderr.write("\n");
  if (own === undefined) process.exit(130);
  return own;
}

/** One line a link, so that two people can read the hashes to each other. */
function describe(ceremony: Ceremony): void {
  const { opening, entries } = ceremony.transcript;
  say(`\n${circuitsOf(ceremony).join(", ")}`);
  say(`  0000-opening  ${recordHash(opening)}`);
  for (const entry of entries) {
    const what = isKeyEntry(entry) ? "" : `  ${entry.source}`;
    say(`  ${linkName(entry)}  ${recordHash(entry)}${what}`);
  }
  say("");
}

function say(text: string): void {
  console.log(text);
}

function folderOf(values: Values): string {
  return path.resolve(needed(values, "folder"));
}

function needed(values: Values, name: string): string {
  const value = optional(values, name);
  if (value === undefined) throw new CeremonyError("MALFORMED", `--${name} is needed; see --help`);
  return value;
}

function optional(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

async function main(args: readonly string[]): Promise<number> {
  const [name = "--help", ...rest] = args;
  if (name === "--help") {
    say(HELP);
    return args.length === 0 ? 2 : 0;
  }
  const step = Object.hasOwn(STEPS, name) ? STEPS[name] : undefined;
  if (step === undefined) {
    console.error(`There is no step "${name}"; there are ${Object.keys(STEPS).join(", ")}. See --help.`);
    return 2;
  }
  const { values } = parseArgs({
    args: rest,
    options: { ...step.options, folder: { type: "string" }, help: { type: "boolean" } },
  });
  if (values["help"] === true) {
    say(step.help);
    return 0;
  }
  try {
    await step.run(values);
    return 0;
  } catch (error) {
    if (!(error instanceof CeremonyError)) throw error;
    console.error(`${error.code}: ${error.message}`);
    return 1;
  } finally {
    await releaseCurve();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
