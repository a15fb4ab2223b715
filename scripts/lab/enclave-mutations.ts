// `npm run mutate:enclave`: removes the enclave's checks one at a time, in a copy of the project, and sees that a
// test fails for each. That every removal is noticed says that the tests' passing means something. The working tree
// is only read.
import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { transformSync } from "esbuild";
import { MUTATIONS, type Mutation } from "./enclave-mutations/table.ts";
import { editedText } from "./forge-mutations.ts";

const HELP = `Usage: npm run mutate:enclave [-- OPTIONS]

Removes each check of the enclave that the table names, one at a time, in a copy of the project, and runs the tests
that have to notice. Exit code 1 when a removal goes unnoticed, or when none was meant.

  --match TEXT   only removals whose file and name match this regular expression
  --list         only their files and names
  --help         this text`;

const ROOT = path.resolve(import.meta.dirname, "../..");
/** What is edited and what the tests import; the rest of the tree is linked where they read it. */
const COPIED = [
  "enclave",
  "shared",
  "scripts",
  "proxy",
  "test",
  "package.json",
  "tsconfig.json",
  ".mocharc.json",
];
const LINKED = ["node_modules", "enclave/node_modules", "shared/circuits", "shared/contracts"];
/** Some removals make a program wait for ever, and tests with it. */
const DEADLINE_MS = 300_000;

export interface Outcome {
  readonly mutation: Mutation;
  /** The first test that failed; absent when none did. */
  readonly noticedBy: string | undefined;
}

/** In the order of the table, each told as soon as it is known. Throws when an edit or a test is not as it should be. */
export async function runMutations(
  chosen: readonly Mutation[],
  tell: (outcome: Outcome) => void,
): Promise<Outcome[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-mutants-"));
  try {
    await copyProject(folder);
    const outcomes: Outcome[] = [];
    const sound = new Set<string>();
    for (const mutation of chosen) {
      // A test that fails anyway would notice anything.
      for (const test of mutation.tests.filter((file) => !sound.has(file))) {
        const failed = await firstFailure(folder, [test]);
        if (failed !== undefined) throw new Error(`${test} fails without any removal: ${failed}`);
        sound.add(test);
      }
      const file = path.join(folder, mutation.file);
      const text = await readFile(file, "utf8");
      await writeFile(file, mutate(text, mutation));
      const outcome = { mutation, noticedBy: await firstFailure(folder, mutation.tests) };
      await writeFile(file, text);
      tell(outcome);
      outcomes.push(outcome);
    }
    return outcomes;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Throws unless the edit fits in exactly one place and leaves a program. */
export function mutate(text: string, { file, name, from, to }: Mutation): string {
  const edited = editedText(text, from, to);
  if (edited === undefined) throw new Error(`"${name}" does not fit ${file} any more`);
  try {
    transformSync(edited, { loader: "ts" });
  } catch (cause) {
    throw new Error(`"${name}" leaves no program in ${file}`, { cause });
  }
  return edited;
}

async function copyProject(folder: string): Promise<void> {
  const left = new Set([...LINKED, "enclave/dist"].map((name) => path.join(ROOT, name)));
  for (const name of COPIED) {
    await cp(path.join(ROOT, name), path.join(folder, name), {
      recursive: true,
      filter: (from) => !left.has(from),
    });
  }
  for (const name of LINKED) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await symlink(path.join(ROOT, name), path.join(folder, name), "dir");
  }
}

/** Undefined when all tests pass. A suite in which no test ran proves nothing: that throws. */
async function firstFailure(folder: string, tests: readonly string[]): Promise<string | undefined> {
  const mocha = path.join(folder, "node_modules", "mocha", "bin", "mocha.js");
  const child = spawn(process.execPath, [mocha, "--bail", "--reporter", "tap", ...tests], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    // A group of its own: mocha's starter takes no test with it when it is ended.
    detached: true,
  });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const end = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    end();
  }, DEADLINE_MS);
  process.once("SIGINT", end).once("SIGTERM", end);
  const code = await new Promise((resolve) => child.once("close", resolve));
  process.off("SIGINT", end).off("SIGTERM", end);
  clearTimeout(timer);
  if (late.signal.aborted) return "the tests do not end";
  const failed = /^not ok \d+ (.*)$/m.exec(said)?.[1];
  if (failed === undefined && (code !== 0 || !/^ok \d+ /m.test(said)))
    throw new Error(`${tests.join(", ")}: not one test ran (exit code ${String(code)})`);
  return failed;
}

function lineOf({ mutation: { file, name }, noticedBy }: Outcome): string {
  return noticedBy === undefined ? `SURVIVED  ${file}: ${name}` : `noticed   ${file}: ${name} (${noticedBy})`;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { match: { type: "string" }, list: { type: "boolean" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const wanted = new RegExp(values.match ?? "");
  const chosen = MUTATIONS.filter(({ file, name }) => wanted.test(`${file}: ${name}`));
  if (values.list === true) {
    for (const { file, name } of chosen) console.log(`${file}: ${name}`);
    return 0;
  }
  const outcomes = await runMutations(chosen, (outcome) => console.log(lineOf(outcome)));
  const survivors = outcomes.filter(({ noticedBy }) => noticedBy === undefined).length;
  console.log(`${String(outcomes.length - survivors)} of ${String(outcomes.length)} removals were noticed`);
  return survivors === 0 && outcomes.length > 0 ? 0 : 1;
}

if (process.argv[1] !== undefined && path.resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS")) throw error;
    console.error((error as Error).message);
    process.exitCode = 2;
  }
}
