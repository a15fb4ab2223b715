// Plays mutants against the tests that have to notice, in a copy of the project. The working tree is only read.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Mutant } from "./derive.ts";

export const ROOT = path.resolve(import.meta.dirname, "../../..");
/** What is edited and what the tests import; the rest of the tree is linked where they read it. */
const COPIED = ["enclave", "shared", "scripts", "proxy", "test"];
const COPIED_FILES = ["package.json", "tsconfig.json", ".mocharc.json"];
const LINKED = ["node_modules", "enclave/node_modules", "shared/circuits", "shared/contracts"];

/** Tests beside the one of the same path, for files that another one knows better. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  "enclave/attest.ts": ["contract/vectors/typescript"],
  "enclave/claims.ts": ["unit/enclave/verify", "unit/enclave/verifier-pool"],
  "enclave/first.ts": ["unit/enclave/boot"],
  "enclave/phase.ts": ["unit/enclave/dispatch"],
  "enclave/release.ts": ["unit/enclave/restore"],
  "enclave/run.ts": ["unit/enclave/main"],
  "enclave/verifier.ts": ["unit/enclave/nitro", "unit/enclave/boot"],
  "shared/protocol/bytes.ts": ["contract/wire/codec"],
  "shared/protocol/enclave-messages.ts": ["contract/wire/codec", "unit/shared/protocol/frame-splitter"],
  "shared/protocol/layouts.ts": ["contract/wire/codec", "unit/shared/protocol/user-data"],
  "shared/protocol/statements.ts": ["contract/vectors/typescript"],
  "shared/protocol/tree.ts": ["unit/enclave/attest-root"],
};

/** Empty for a file that no test of its own looks at. */
export function testsOf(file: string): string[] {
  return [`unit/${file.replace(/\.ts$/, "")}`, ...(ALSO[file] ?? [])]
    .map((name) => `test/${name}.test.ts`)
    .filter((test) => existsSync(path.join(ROOT, test)));
}

export interface Outcome {
  readonly mutant: Mutant;
  /** The first test that failed; undefined when none did. */
  readonly noticedBy: string | undefined;
}

/** One after the other, each told as soon as it is known. Throws where the tests fail without any mutant. */
export async function play(
  mutants: readonly Mutant[],
  tell: (outcome: Outcome) => Promise<void> | void,
  tests: (file: string) => readonly string[] = testsOf,
): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-mutants-"));
  const limits = new Map<string, number>();
  try {
    await copyProject(folder);
    for (const mutant of mutants) {
      const { file, source } = mutant;
      const at = path.join(folder, file);
      const limitMs = limits.get(file) ?? (await timeOfTests(folder, tests(file)));
      limits.set(file, limitMs);
      const text = await readFile(at, "utf8");
      await writeFile(at, source);
      const { failed, said } = await runTests(folder, tests(file), limitMs);
      await writeFile(at, text);
      await tell({ mutant, noticedBy: failed ? said : undefined });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** How long a mutant may take: some make a program wait for ever, and its tests with it. */
async function timeOfTests(folder: string, tests: readonly string[]): Promise<number> {
  const began = performance.now();
  const { failed, said } = await runTests(folder, tests, 300_000);
  // A test that fails anyway would notice anything.
  if (failed) throw new Error(`${tests.join(", ")}: fails without any mutant: ${said}`);
  return 10_000 + 5 * (performance.now() - began);
}

async function copyProject(folder: string): Promise<void> {
  const left = new Set([...LINKED, "enclave/dist"].map((name) => path.join(ROOT, name)));
  const filter = (from: string): boolean => !left.has(from);
  for (const name of [...COPIED, ...COPIED_FILES])
    await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true, filter });
  for (const name of LINKED) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await symlink(path.join(ROOT, name), path.join(folder, name), "dir");
  }
}

/** `said`: the first test that failed. A run in which no test began has failed too. */
async function runTests(
  folder: string,
  tests: readonly string[],
  limitMs: number,
): Promise<{ readonly failed: boolean; readonly said: string }> {
  const mocha = path.join(folder, "node_modules", "mocha", "bin", "mocha.js");
  const child = spawn(process.execPath, [mocha, "--bail", "--reporter", "tap", ...tests], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    // A group of its own: mocha's starter takes no test with it when it is ended.
    detached: true,
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const late = new AbortController();
  const end = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  const timer = setTimeout(() => {
    late.abort();
    end();
  }, limitMs);
  process.once("SIGINT", end).once("SIGTERM", end);
  const code = await new Promise((resolve) => child.once("close", resolve));
  process.off("SIGINT", end).off("SIGTERM", end);
  clearTimeout(timer);
  if (late.signal.aborted) return { failed: true, said: "the tests do not end" };
  const failure = /^not ok \d+ (.*)$/m.exec(output)?.[1];
  if (failure !== undefined) return { failed: true, said: failure };
  return { failed: code !== 0 || !/^ok \d+ /m.test(output), said: "no test begins" };
}
