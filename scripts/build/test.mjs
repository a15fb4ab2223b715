#!/usr/bin/env node
// Runs the checks by name, one process each, a few side by side, and ends with one line that counts them
// all. What cannot run here (no browser, no Redis) is said, and is a failure where CLOISTER_REQUIRE_ALL is set.
import { spawn } from "node:child_process";
import {
  accessSync,
  constants as access,
  existsSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, constants, setPriority, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { orExplain, setUp } from "./setup.mjs";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const bin = (name) => path.join(ROOT, "node_modules", name);

/** Folders of test/ by suite. Every test file belongs to exactly one; `elsewhere` folders to another. */
const SUITES = {
  borders: { folders: ["contract/borders"] },
  enclave: { folders: ["unit/enclave", "contract/wire"] },
  unit: { folders: ["unit"], elsewhere: ["unit/enclave"] },
  contract: { folders: ["contract"], elsewhere: ["contract/wire", "contract/borders", "contract/redis"] },
  redis: {
    folders: ["contract/redis", "cluster"],
    lacks: () => (findProgram(["redis-server"]) === undefined ? "redis-server" : undefined),
  },
  adversarial: { folders: ["adversarial"] },
  e2e: { folders: ["e2e"] },
  faults: { folders: ["faults"], elsewhere: ["faults/seeded"] },
  seeded: { folders: ["faults/seeded"] },
  browser: { folders: ["browser"], lacks: () => (findChromium() === undefined ? "Chromium" : undefined) },
};

const CHECKS = {
  lint: [bin("eslint/bin/eslint.js"), ".", "--max-warnings=0"],
  format: [bin("prettier/bin/prettier.cjs"), "--check", "."],
  types: [bin("typescript/bin/tsc"), "--noEmit", "-p", "tsconfig.json"],
  // A fifth of what `npm run forge` plays: its 10,000 cases are eleven minutes of a processor.
  // The same cases every time, so that a change alone can turn it red; `npm run forge` draws others.
  forge: ["--import", "tsx", "scripts/lab/forge.ts", "--seed", "0xc10157e4", "--fuzz-runs", "2000"],
  // The suites themselves on the other releases take as long again each: npm run check:nodes, before a release.
  nodes: ["scripts/build/check-nodes.mjs", "22", "24", "quick"],
  // 50,000 cases, likewise always the same.
  fuzz: ["--import", "tsx", "scripts/lab/fuzz.ts", "--seed", "4"],
};

/** Uses every processor by itself. */
const ALONE = new Set(["seeded"]);
/** Two hundred scenarios: minutes, so only with --all or by name. */
const LENGTHY = new Set(["seeded"]);
/**
 * These only compute, and nothing in them depends on time. Beside suites they run one after the other in what those
 * leave idle while they wait for blocks and processes.
 */
const COMPUTING = new Set(["forge", "lint", "types", "format"]);
/** The longest first, so that the lanes end together. */
const BY_LENGTH = [
  ...["forge", "contract", "e2e", "adversarial", "faults", "unit", "redis", "nodes", "enclave", "browser"],
  ...["fuzz", "lint"],
];
/** Much of a suite is waiting; more than two would only make each other slow. */
const LANES = Math.min(2, availableParallelism());

const LOADER = "test/support/as-modules.mjs";

/** Several times what the slowest should take; a hang must end as a failure, not as a lost machine. */
const SUITE_LIMIT_MS = 60 * 60_000;
/** Lines of a failed check that are said again below everything else, where nobody has to look for them. */
const LAST_WORDS = 30;
/** A suite that has reported but does not end has left a server or a process running. */
const LINGER_LIMIT_MS = 30_000;
const LONGEST_SHOWN = 40;

const HELP = `Usage: npm test [-- [NAME ...] [--coverage] [-- OPTIONS OF MOCHA OR OF THE CHECK]]

Runs suites and checks by name and ends with "N passed, N failed".

  suites:  ${Object.keys(SUITES).join(", ")}
           (when no name is given, all of them but ${[...LENGTHY].join(", ")}, which takes minutes)
  checks:  ${Object.keys(CHECKS).join(", ")}
  --all        every check and every suite, with --coverage
  --coverage   the suite "enclave" also measures enclave/ and fails below 95 % of lines or branches
  --help       this text

CLOISTER_REQUIRE_ALL=1  what cannot run here, or is skipped, counts as failed
CHROMIUM_PATH           browser for the suite "browser", when it is not on the PATH`;

const requireAll = (process.env.CLOISTER_REQUIRE_ALL ?? "") !== "";

async function main(argv) {
  const divider = argv.indexOf("--");
  const own = divider === -1 ? argv : argv.slice(0, divider);
  const passedOn = divider === -1 ? [] : argv.slice(divider + 1);
  const names = own.filter((arg) => !arg.startsWith("--"));
  const flags = new Set(own.filter((arg) => arg.startsWith("--")));
  const unknown = [
    ...names.filter((name) => !(name in SUITES) && !(name in CHECKS)),
    ...[...flags].filter((flag) => !["--all", "--coverage", "--help"].includes(flag)),
  ];
  if (flags.has("--help")) return console.log(HELP);
  if (unknown.length > 0) {
    console.error(`${unknown.join(", ")}: no such name.\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  await setUp();

  const all = flags.has("--all");
  const coverage = all || flags.has("--coverage");
  const suites = Object.keys(SUITES);
  const usual = all ? [...Object.keys(CHECKS), ...suites] : suites.filter((name) => !LENGTHY.has(name));
  const chosen = names.length > 0 ? names : usual;
  const scratch = await mkdtemp(path.join(tmpdir(), "cloister-test-"));
  const results = [];
  try {
    const isLone = chosen.length === 1;
    const isBeside = (name) => COMPUTING.has(name) && chosen.some((other) => !COMPUTING.has(other));
    const one = async (name) => {
      const say = isLone ? undefined : lineWriter(name);
      if (isLone) console.log(`\n── ${name} ${"─".repeat(Math.max(0, 70 - name.length))}`);
      const began = performance.now();
      const result =
        name in CHECKS
          ? await runCheck([...CHECKS[name], ...passedOn], { say, isIdle: isBeside(name) })
          : await runSuite(name, { coverage: coverage && name === "enclave", passedOn, scratch, say });
      results.push({ name, ...result, secs: Math.round((performance.now() - began) / 1000) });
    };
    const ordered = inOrder(chosen);
    const lane = async (waiting) => {
      for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await one(name);
    };
    const suites = async () => {
      await lane(ordered.filter((name) => ALONE.has(name)));
      const waiting = ordered.filter((name) => !ALONE.has(name) && !isBeside(name));
      await Promise.all(Array.from({ length: LANES }, () => lane(waiting)));
    };
    await Promise.all([lane(ordered.filter(isBeside)), suites()]);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  report(results);
}

const inOrder = (names) => [
  ...BY_LENGTH.filter((name) => names.includes(name)),
  ...names.filter((name) => !BY_LENGTH.includes(name)),
];

/** Whole lines, each with the name of its suite, because two of them speak at once. */
function lineWriter(name) {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) process.stdout.write(`${name.padEnd(11)} │ ${line}\n`);
  };
}

async function runCheck(args, { say = (text) => process.stdout.write(text), isIdle }) {
  const lines = [];
  const listen = (text) => {
    say(text);
    lines.push(...text.split("\n"));
    lines.splice(0, lines.length - LAST_WORDS);
  };
  const code = await run(args, { listen, isIdle });
  return code === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1, failures: [lines.join("\n")] };
}

async function runSuite(name, { coverage, passedOn, scratch, say }) {
  const { folders, elsewhere = [], lacks = () => undefined } = SUITES[name];
  const files = folders.flatMap((folder) => testFiles(folder, elsewhere));
  if (files.length === 0) return leftOut("no test file in this copy");
  const missing = lacks();
  if (missing !== undefined) return leftOut(`${missing} is not installed`);

  const tally = path.join(scratch, `${name}.json`);
  const mocha = [bin("mocha/bin/mocha.js"), "--reporter", "test/support/tally.cjs", ...passedOn, LOADER];
  const measured = [bin("c8/bin/c8.js"), ...COVERAGE, process.execPath, ...mocha];
  const env = {
    CLOISTER_TALLY: tally,
    CLOISTER_SPECS: JSON.stringify(files),
    ...(findChromium() === undefined ? {} : { CHROMIUM_PATH: findChromium() }),
  };
  const code = await run(coverage ? measured : mocha, { env, tally, listen: say });
  if (!existsSync(tally)) return { passed: 0, failed: 1, note: "ended before it could report" };
  const counts = JSON.parse(readFileSync(tally, "utf8"));
  const notes = [];
  if (counts.skipped > 0) notes.push(`${counts.skipped} skipped`);
  if (counts.skipped > 0 && requireAll) counts.failed += counts.skipped;
  if (code !== 0 && counts.failed === 0) {
    counts.failed = 1;
    notes.push(coverage ? "coverage below the floor, or an unclean end" : "did not end cleanly");
  }
  return { ...counts, note: notes.join(", ") };
}

const COVERAGE = [
  ...["--check-coverage", "--lines=95", "--branches=95", "--functions=0", "--statements=0"],
  // `--all` counts files that no test has loaded: leaving a file untested must not raise the figure.
  ...["--all", "--src=enclave", "--include=enclave/**/*.ts"],
  ...["--exclude=enclave/dist/**", "--exclude=enclave/node_modules/**", "--exclude=**/*.d.ts"],
  ...["--reporter=text", "--reports-dir=coverage"],
];

function leftOut(reason) {
  return { passed: 0, failed: requireAll ? 1 : 0, leftOut: reason };
}

function testFiles(folder, elsewhere) {
  const at = path.join(ROOT, "test", folder);
  if (!existsSync(at)) return [];
  return readdirSync(at, { recursive: true, encoding: "utf8" })
    .map((file) => path.join(folder, file).replaceAll(path.sep, "/"))
    .filter((file) => file.endsWith(".test.ts") && !elsewhere.some((other) => file.startsWith(`${other}/`)))
    .sort()
    .map((file) => `test/${file}`);
}

function findChromium() {
  const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
  return findProgram(names, process.env.CHROMIUM_PATH);
}

/** The first that can be run, `preferred` before what is on the PATH. */
function findProgram(names, preferred) {
  const onPath = (process.env.PATH ?? "").split(path.delimiter);
  const candidates = onPath.flatMap((folder) => names.map((name) => path.join(folder, name)));
  return [preferred, ...candidates].find((file) => {
    if (file === undefined || file === "") return false;
    try {
      accessSync(file, access.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** What ends each process group that runs now. */
const running = new Set();
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    for (const end of running) end(signal);
    process.exit(130);
  });
}

/**
 * In a process group of its own, so that what a hanging suite started ends with it. `listen` receives what it says;
 * `isIdle` runs it in time that nobody else wants.
 */
function run(args, { env = {}, tally, listen, isIdle = false }) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ["ignore", ...(listen === undefined ? ["inherit", "inherit"] : ["pipe", "pipe"])],
      detached: process.platform !== "win32",
    });
    if (isIdle) yieldToOthers(child.pid);
    for (const stream of listen === undefined ? [] : ["stdout", "stderr"]) {
      child[stream].setEncoding("utf8").on("data", (text) => {
        listen(text);
      });
    }
    const end = (signal) => {
      try {
        process.kill(process.platform === "win32" ? child.pid : -child.pid, signal);
      } catch {
        // It has ended by itself.
      }
    };
    running.add(end);

    const began = performance.now();
    let reportedAt;
    const watch = setInterval(() => {
      const now = performance.now();
      if (tally !== undefined && existsSync(tally)) reportedAt ??= now;
      const lingers = reportedAt !== undefined && now - reportedAt > LINGER_LIMIT_MS;
      if (!lingers && now - began < SUITE_LIMIT_MS) return;
      console.error(lingers ? "\nreported, but something is still running: ended" : "\ntoo long: ended");
      end("SIGKILL");
    }, 1_000);

    child.on("close", (code) => {
      clearInterval(watch);
      running.delete(end);
      end("SIGKILL");
      resolve(code ?? 1);
    });
  });
}

/** Where Linux groups processes by session (sched(7), "autogroup"), only the group's own value counts between them. */
function yieldToOthers(pid) {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_LOW));
  } catch {
    // It has ended, or this system has no such groups.
  }
}

/** What a run that has become too long is shortened by. */
function sayLongest(results) {
  const groups = results.flatMap(({ name, groups = [] }) => groups.map((group) => ({ ...group, name })));
  const longest = groups.sort((a, b) => b.secs - a.secs).slice(0, LONGEST_SHOWN);
  if (longest.length === 0) return;
  console.log(`\n── the longest ${"─".repeat(59)}`);
  for (const { name, title, secs } of longest)
    console.log(`  ${String(Math.round(secs)).padStart(5)} s  ${name.padEnd(12)} ${title}`);
}

function report(results) {
  const sum = (key) => results.reduce((total, result) => total + (result[key] ?? 0), 0);
  const failures = results.flatMap(({ name, failures: told = [] }) => told.map((text) => `${name}: ${text}`));
  if (failures.length > 0) console.log(`\n── failed, once more ${"─".repeat(53)}\n${failures.join("\n\n")}`);
  if (results.length > 1) sayLongest(results);
  console.log(`\n── sum ${"─".repeat(67)}`);
  for (const { name, passed, failed, note, leftOut: reason, secs } of results) {
    const words = reason === undefined ? `${passed} passed, ${failed} failed` : `left out: ${reason}`;
    console.log(`  ${name.padEnd(12)} ${words}${note ? ` (${note})` : ""}, ${secs} s`);
  }
  const failed = sum("failed");
  console.log(`\n${sum("passed")} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

await orExplain(() => main(process.argv.slice(2)));
