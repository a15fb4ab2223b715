// Compiles the contracts to .cloister/build/contracts/<Name>.json and writes the ABI that proxy and client
// import, shared/contracts/abi.ts, and the same for people into the specification. Trusts the compiler of the lock file and nothing else: it reads no network.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { Interface, type JsonFragment } from "ethers";
import { format } from "prettier";

const HELP = `Usage: tsx scripts/build/contracts.ts [--force] [--check]

Compiles shared/contracts/**/*.sol and the tests' own contracts with the pinned solc to
.cloister/build/contracts/<Name>.json ({abi, bytecode}) and writes shared/contracts/abi.ts and the ABI in SPEC.md.
Does nothing when no input has changed.
A warning of the compiler is a failure.

  --force   compile even when nothing changed
  --check   fail instead of writing when they are not what the compiler says
  --help    this text`;

const ROOT = path.resolve(import.meta.dirname, "../..");
const SOURCES = path.join("shared", "contracts");
/** What plays others' contracts, and attackers and harnesses: compiled as the contracts are that they meet. */
const OTHER_SOURCES = [
  path.join("scripts", "stand-ins", "contracts"),
  path.join("test", "support", "contracts"),
];
const OUTPUT = path.join(ROOT, ".cloister/build/contracts");
const STAMP = path.join(OUTPUT, "inputs.sha256");
export const ABI_FILE = path.join(ROOT, SOURCES, "abi.ts");
export const SPEC_FILE = path.join(ROOT, "shared/protocol/SPEC.md");

/** The ABI file's constants and the interface each is taken from. */
export const PUBLISHED = [
  { constant: "POOL_ABI", contract: "IPool", comment: "The pool: `interfaces/IPool.sol`." },
  {
    constant: "ATTESTATIONS_ABI",
    contract: "INitroAttestations",
    comment: "What verifies attestation documents: `nitro/interfaces/INitroAttestations.sol`.",
  },
  {
    constant: "FORWARDERS_ABI",
    contract: "IForwarders",
    comment: "Addresses that pay one note or one account: `interfaces/IForwarders.sol`.",
  },
  {
    constant: "TOKEN_ABI",
    contract: "IToken",
    comment: "The token: EIP-20, EIP-2612 and EIP-3009 as far as we use them, `interfaces/IToken.sol`.",
  },
] as const;

/**
 * Chosen by measuring (`npm run gas`): 200 runs cost 700 gas more a private transfer, a million change
 * nothing, and without the IR pipeline the pool does not compile (stack too deep). No metadata at the end
 * of the code, so that it depends on the code alone and a comment does not change it.
 */
const SETTINGS = {
  optimizer: { enabled: true, runs: 20_000 },
  viaIR: true,
  evmVersion: "cancun",
  metadata: { appendCBOR: false, bytecodeHash: "none" },
} as const;
const OUTPUTS = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object"];

/** EIP-170. */
const MAX_CODE_BYTES = 24_576;

export interface Artifact {
  readonly abi: readonly JsonFragment[];
  /** Creation code, `0x` and hex. Empty (`0x`) for interfaces. */
  readonly bytecode: string;
}

interface Compiled {
  readonly abi: readonly JsonFragment[];
  readonly evm: Readonly<Record<"bytecode" | "deployedBytecode", { readonly object: string }>>;
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  /** By file and name. */
  readonly contracts?: Readonly<Record<string, Readonly<Record<string, Compiled>>>>;
}

/** The compiled contract of that name; compiles first when the sources are newer than the output. */
export async function loadArtifact(name: string): Promise<Artifact> {
  await (build ??= buildContracts());
  if (!/^[A-Za-z0-9]+$/.test(name)) throw new TypeError("not the name of a contract");
  return JSON.parse(await readFile(path.join(OUTPUT, `${name}.json`), "utf8")) as Artifact;
}
let build: Promise<unknown> | undefined;

/** True when something was compiled. */
export async function buildContracts({ force = false, check = false } = {}): Promise<boolean> {
  const sources = await readSources();
  if (!force && !check && (await textOf(STAMP)) === (await fingerprint(sources))) return false;

  const artifacts = await compile(sources);
  await publishAbi(artifacts, check);
  await mkdir(OUTPUT, { recursive: true });
  for (const file of await outputFiles()) {
    if (!artifacts.has(path.basename(file, ".json"))) await rm(path.join(OUTPUT, file), { force: true });
  }
  for (const [name, artifact] of artifacts) {
    await writeWhole(path.join(OUTPUT, `${name}.json`), `${JSON.stringify(artifact, undefined, 1)}\n`);
  }
  await writeWhole(STAMP, await fingerprint(sources));
  return true;
}

/** What is deployed, and what is for development and tests, takes as long: one beside the other. */
async function compile(sources: ReadonlyMap<string, string>): Promise<Map<string, Artifact>> {
  const files = [...sources.keys()];
  const halves = [files.filter(isDeployed), files.filter((file) => !isDeployed(file))];
  const outputs = await Promise.all(halves.map((half) => compileHalf(sources, half)));
  const messages = new Set(outputs.flatMap(({ errors = [] }) => errors.map((one) => one.formattedMessage)));
  for (const message of messages) console.error(message);
  if (messages.size > 0) throw new Error(`solc: ${String(messages.size)} errors or warnings, see above`);

  const artifacts = new Map<string, Artifact>();
  for (const [file, contracts] of outputs.flatMap((output) => Object.entries(output.contracts ?? {}))) {
    for (const [name, { abi, evm }] of Object.entries(contracts)) {
      // Artifacts are found by name alone, so a second one would silently replace the first.
      if (artifacts.has(name)) throw new Error(`two contracts are called ${name}, one in ${file}`);
      const size = evm.deployedBytecode.object.length / 2;
      if (size > MAX_CODE_BYTES)
        throw new Error(`${name} has ${size} bytes of code, ${MAX_CODE_BYTES} are allowed`);
      artifacts.set(name, { abi, bytecode: `0x${evm.bytecode.object}` });
    }
  }
  return artifacts;
}

const isDeployed = (file: string): boolean => file.startsWith("shared/contracts/");

/** Of all sources, so that the code does not depend on how they are divided, the outputs of these. */
function compileHalf(
  sources: ReadonlyMap<string, string>,
  files: readonly string[],
): Promise<CompilerOutput> {
  const input = {
    language: "Solidity",
    sources: Object.fromEntries([...sources].map(([file, content]) => [file, { content }])),
    settings: {
      ...SETTINGS,
      outputSelection: Object.fromEntries(files.map((file) => [file, { "*": OUTPUTS }])),
    },
  };
  return new Promise((resolve, reject) => {
    const thread = new Worker(path.join(ROOT, "scripts/build/solc-thread.mjs"), {
      workerData: JSON.stringify(input),
      // It needs no loader of TypeScript.
      execArgv: [],
    });
    thread.once("message", (text: string) => resolve(JSON.parse(text) as CompilerOutput));
    thread.once("error", reject);
    thread.once("exit", () => reject(new Error("solc ended without an answer")));
  });
}

/** What shared/contracts/abi.ts has to be, from the compiler's output: a line of ethers' human-readable form for each entry. */
export async function abiFileText(abiOf: (contract: string) => readonly JsonFragment[]): Promise<string> {
  const constants = PUBLISHED.map(
    ({ constant, contract, comment }) =>
      `/** ${comment} */\nexport const ${constant} = ${JSON.stringify(new Interface(abiOf(contract)).format())};\n`,
  );
  const text = `// Written by scripts/build/contracts.ts from the compiler's output; do not edit.\n\n${constants.join("\n")}`;
  return format(text, { parser: "typescript", printWidth: 110, trailingComma: "all" });
}

/** The specification with the same lines, each contract's behind a comment with the name of its interface. */
export function specText(spec: string, abiOf: (contract: string) => readonly JsonFragment[]): string {
  return spec.replaceAll(/^(<!-- (\w+) -->\n\n```text\n)[^`]*/gm, (_, head: string, contract: string) => {
    return `${head}${new Interface(abiOf(contract)).format().join("\n")}\n`;
  });
}

async function publishAbi(artifacts: ReadonlyMap<string, Artifact>, check: boolean): Promise<void> {
  const abiOf = (contract: string): readonly JsonFragment[] => {
    const artifact = artifacts.get(contract);
    if (artifact === undefined) throw new Error(`no contract is called ${contract}`);
    return artifact.abi;
  };
  const spec = await readFile(SPEC_FILE, "utf8");
  for (const [file, text] of [
    [ABI_FILE, await abiFileText(abiOf)],
    [SPEC_FILE, specText(spec, abiOf)],
  ] as const) {
    if ((await textOf(file)) === text) continue;
    const name = path.relative(ROOT, file);
    if (check) throw new Error(`${name} is not what the compiler says; run scripts/build/contracts.ts`);
    await writeWhole(file, text);
  }
}

/** Of all that goes in and comes out: a file that was edited by hand or deleted is made again. */
async function fingerprint(sources: ReadonlyMap<string, string>): Promise<string> {
  const compiler = JSON.parse(
    await readFile(path.join(ROOT, "node_modules", "solc", "package.json"), "utf8"),
  ) as { version: string };
  const hash = createHash("sha256").update(
    JSON.stringify([compiler.version, SETTINGS, OUTPUTS, PUBLISHED, [...sources]]),
  );
  const outputs = (await outputFiles()).map((file) => path.join(OUTPUT, file));
  for (const file of [ABI_FILE, ...outputs])
    hash.update(`\0${path.basename(file)}\0`).update((await textOf(file)) ?? "");
  return hash.digest("hex");
}

/** Path from the project's root (as imports in Solidity see it) to text, sorted, so the input is the same on every machine. */
async function readSources(): Promise<Map<string, string>> {
  const folders = await Promise.all([SOURCES, ...OTHER_SOURCES].map(filesIn));
  const files = folders.flat().filter((file) => file.endsWith(".sol"));
  const texts = await Promise.all(files.sort().map((file) => readFile(path.join(ROOT, file), "utf8")));
  return new Map(files.map((file, i) => [file.split(path.sep).join("/"), texts[i] ?? ""]));
}

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(path.join(ROOT, folder), { recursive: true });
  return names.map((name) => path.join(folder, name));
}

async function outputFiles(): Promise<string[]> {
  const files = await readdir(OUTPUT).catch(() => []);
  return files.filter((file) => file.endsWith(".json")).sort();
}

async function textOf(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch(() => undefined);
}

/** Under another name first: suites run side by side, and none may read half a file. */
async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.${String(process.pid)}.draft`;
  await writeFile(draft, text);
  await rename(draft, file);
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === import.meta.filename) {
  const { help, ...how } = parseArgs({
    options: { force: { type: "boolean" }, check: { type: "boolean" }, help: { type: "boolean" } },
  }).values;
  if (help === true) console.log(HELP);
  else console.log((await buildContracts(how)) ? "contracts compiled" : "contracts are up to date");
}
