// `npm run forge`: the Solidity tests of the pool (test/forge/), fuzzed and driven at random, by forge from npm
// with the project's own solc. They run the very bytes that scripts/build/contracts.ts makes; nothing is fetched.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { buildContracts } from "../build/contracts.ts";
import { runCommand, UsageError, wholeNumber } from "../base/command.ts";
import { breakPool, MUTATIONS } from "./forge-mutations.ts";

const HELP = `Usage: npm run forge [-- OPTIONS]

Runs the forge tests of the pool: every property over random cases, and three campaigns of random steps beside a
reference model. Prints the seed first; the same seed gives the same cases.

  --fuzz-runs N       cases of each property (default 10,000)
  --invariant-runs N  runs of each campaign (default 256)
  --depth N           steps of a run (default 128)
  --million           1,000,000 cases of each property, 10,000 runs of each campaign; hours
  --match TEXT        only tests whose name matches this regular expression
  --contract TEXT     only contracts whose name matches this regular expression
  --seed HEX          draw the cases of that seed
  --mutate            instead, break the pool in each known way and see that a test fails for it;
                      --match then names the ways
  --help              this text`;

const ROOT = path.resolve(import.meta.dirname, "../..");
const CONTRACTS = path.join(".cloister", "build", "contracts");
const COMPILER = path.join(ROOT, ".cloister", "forge", "solc");

export interface Run {
  readonly fuzzRuns: number;
  readonly invariantRuns: number;
  readonly depth: number;
  readonly match?: string | undefined;
  readonly contract?: string | undefined;
  readonly seed: string;
  /** Folder of the compiled contracts, from the project's root. */
  readonly contracts?: string | undefined;
}

/** The command line and the environment of forge; everything else it needs stands in test/forge/foundry.toml. */
export function commandOf(run: Run): { readonly args: readonly string[]; readonly env: NodeJS.ProcessEnv } {
  const args = [
    "test",
    ...["--root", ROOT],
    ...["--use", COMPILER],
    "--offline",
    ...["--fuzz-seed", run.seed],
    ...["--fuzz-runs", String(run.fuzzRuns)],
    ...(run.match === undefined ? [] : ["--match-test", run.match]),
    ...(run.contract === undefined ? [] : ["--match-contract", run.contract]),
  ];
  const { contracts = CONTRACTS } = run;
  // Forge tries what failed once before anything else; what failed against another pool says nothing here.
  const failures = path.join(
    contracts === CONTRACTS ? path.join(".cloister", "forge") : contracts,
    "failures",
  );
  // Settings in the caller's environment would win over the file.
  const inherited = Object.entries(process.env).filter(([name]) => !/^(FOUNDRY|DAPP|FORGE)_/.test(name));
  return {
    args,
    env: {
      ...Object.fromEntries(inherited),
      FOUNDRY_CONFIG: path.join(ROOT, "test", "forge", "foundry.toml"),
      FOUNDRY_INVARIANT_RUNS: String(run.invariantRuns),
      FOUNDRY_INVARIANT_DEPTH: String(run.depth),
      CLOISTER_FORGE_CONTRACTS: contracts,
      FOUNDRY_FUZZ_FAILURE_PERSIST_DIR: failures,
      FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR: failures,
    },
  };
}

/** Forge starts a program, and a copy of this folder may have lost the mode bits that make one of a script. */
async function writeCompiler(): Promise<void> {
  const quoted = [process.execPath, path.join(ROOT, "scripts/lab/forge-solc.mjs")].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  );
  await mkdir(path.dirname(COMPILER), { recursive: true });
  await writeFile(COMPILER, `#!/bin/sh\nexec ${quoted.join(" ")} "$@"\n`);
  await chmod(COMPILER, 0o755);
}

/** Resolves to forge's exit code; `quiet` collects what it says instead of showing it. */
function runForge(run: Run, quiet = false): Promise<{ readonly code: number; readonly said: string }> {
  const { args, env } = commandOf(run);
  const child = spawn(forgeBinary(), args, {
    cwd: ROOT,
    env,
    stdio: ["ignore", quiet ? "pipe" : "inherit", "inherit"],
  });
  let said = "";
  child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const passOn = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", passOn);
  process.on("SIGTERM", passOn);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      process.off("SIGINT", passOn);
      process.off("SIGTERM", passOn);
      resolve({ code: code ?? 1, said });
    });
  });
}

/** The platform's own program: the package's `bin` is a Node wrapper around it. */
function forgeBinary(): string {
  const require = createRequire(import.meta.url);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const manifest = require.resolve(`@foundry-rs/forge-${process.platform}-${architecture}/package.json`);
  return path.join(path.dirname(manifest), "bin", process.platform === "win32" ? "forge.exe" : "forge");
}

/** Each mutation must make a test fail; exit code 1 when one survives, or when none was meant. */
async function mutate(run: Run): Promise<number> {
  const chosen = MUTATIONS.filter(({ name }) => new RegExp(run.match ?? "").test(name));
  let survivors = 0;
  for (const mutation of chosen) {
    const contracts = await breakPool(mutation);
    const { said } = await runForge({ ...run, contracts, contract: mutation.tests, match: undefined }, true);
    const failed = failedTests(said);
    if (failed.length === 0) survivors += 1;
    console.log(
      failed.length === 0 ? `SURVIVED  ${mutation.name}` : `noticed   ${mutation.name}: ${failed.join(", ")}`,
    );
  }
  console.log(`${String(chosen.length - survivors)} of ${String(chosen.length)} broken pools were noticed`);
  return survivors === 0 && chosen.length > 0 ? 0 : 1;
}

/** Names of failed tests. A suite that did not even start (setUp) proves nothing and does not count. */
function failedTests(said: string): readonly string[] {
  const names = [...said.matchAll(/^\[FAIL[^\n]*?\] (?:(\w+)\()|^ (invariant_\w+)\(\)/gm)].map(
    (hit) => hit[1] ?? hit[2] ?? "",
  );
  return [...new Set(names)].filter((name) => name !== "" && name !== "setUp");
}

function seedOf(text: string | undefined): string {
  if (text === undefined) return `0x${randomBytes(32).toString("hex")}`;
  if (!/^0x[0-9a-f]{1,64}$/i.test(text)) throw new UsageError("--seed is 0x and up to 64 hexadecimal digits");
  return text;
}

const OPTIONS = {
  "fuzz-runs": { type: "string" },
  "invariant-runs": { type: "string" },
  depth: { type: "string" },
  million: { type: "boolean" },
  match: { type: "string" },
  contract: { type: "string" },
  seed: { type: "string" },
  mutate: { type: "boolean" },
  help: { type: "boolean" },
} as const;

if (import.meta.filename === process.argv[1]) {
  await runCommand({ help: HELP, options: OPTIONS }, async ({ values }) => {
    const isMutating = values.mutate === true;
    // To notice a broken pool takes far fewer cases than to trust a whole one.
    const [fuzzRuns, invariantRuns] =
      values.million === true ? [1_000_000, 10_000] : isMutating ? [1_000, 16] : [10_000, 256];
    const run: Run = {
      fuzzRuns: wholeNumber("--fuzz-runs", values["fuzz-runs"] ?? String(fuzzRuns), 1),
      invariantRuns: wholeNumber("--invariant-runs", values["invariant-runs"] ?? String(invariantRuns), 1),
      depth: wholeNumber("--depth", values.depth ?? "128", 1),
      match: values.match,
      contract: values.contract,
      seed: seedOf(values.seed),
    };
    await buildContracts();
    await writeCompiler();
    console.log(`seed ${run.seed}`);
    return isMutating ? mutate(run) : (await runForge(run)).code;
  });
}
