#!/usr/bin/env node
// Runs the checks by name, one process each, a few side by side, and ends with one line that counts them
// all. What cannot run here (no browser, no Redis) is said, and is a failure where CLOISTER_REQUIRE_ALL is set.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { orExplain, setUp } from "./setup.mjs";
import { playFiles } from "./testing/play.mjs";
import { run } from "./testing/processes.mjs";
import { bin, CHECK_NAMES, checksOf, filesOf, ROOT, SUITES } from "./testing/suites.mjs";
import { filesToPlayAgain, reportOf, unsteadyLine, withSecondRecords } from "./testing/verdict.mjs";

/** Uses every processor by itself. */
const ALONE = new Set(["seeded"]);
/** Minutes, so only with --all or by name. */
const LENGTHY = new Set(["seeded"]);
/** Starts of an emulated machine, which takes minutes to make: with --release or by name. */
const FOR_RELEASE = new Set(["boot"]);
/**
 * These only compute, and nothing in them depends on time. Beside suites they run one after the other in what those
 * leave idle while they wait for blocks and processes.
 */
const COMPUTING = new Set(["forge", "lint", "types", "format"]);
/** The longest first, so that the lanes end together. */
const BY_LENGTH = [
  ...["forge", "e2e", "contract", "unit", "chain", "browser", "adversarial", "redis", "faults", "enclave"],
  ...["boot", "nodes", "fuzz", "borders", "lint"],
];
/** Much of a suite is waiting; more than two would only make each other slow. */
const LANES = Math.min(2, availableParallelism());

/** Lines of a failed check that are said again below everything else, where nobody has to look for them. */
const LAST_WORDS = 30;

const HELP = `Usage: npm test [-- [NAME ...] [OPTIONS] [-- OPTIONS OF MOCHA OR OF THE CHECK]]

Runs suites, checks and test files by name and ends with "N passed, N failed". A file that failed is played once more at
the end, alone. If it passes then, the line UNSTEADY names it, and .cloister/unsteady.txt lists it; nothing is played
again where more than ten files failed, a check, or a file about money, vectors or seeded faults.

  suites:  ${Object.keys(SUITES).join(", ")}
           (when no name is given, all of them but ${[...LENGTHY, ...FOR_RELEASE].join(", ")}, which take minutes)
  checks:  ${CHECK_NAMES.join(", ")}
  files:   paths of test files, test/unit/…/NAME.test.ts
  --all        every check and every suite, with --coverage: what a change has to pass
  --release    with --all: more of the random cases, other releases of Node, guides, tour, screens, operator commands
  --coverage   the suite "enclave" also measures enclave/ and fails below 95 % of lines or branches
  --help       this text

CLOISTER_REQUIRE_ALL=1  what cannot run here, or is skipped, counts as failed
CHROMIUM_PATH           browser for the suite "browser", when it is not on the PATH`;

const OPTIONS = ["--all", "--release", "--coverage", "--help"];
const UNSTEADY = path.resolve(ROOT, process.env.CLOISTER_UNSTEADY ?? ".cloister/unsteady.txt");
const requireAll = (process.env.CLOISTER_REQUIRE_ALL ?? "") !== "";

const isFile = (name) => name.endsWith(".test.ts") && existsSync(path.resolve(ROOT, name));

async function main(argv) {
  const divider = argv.indexOf("--");
  const own = divider === -1 ? argv : argv.slice(0, divider);
  const passedOn = divider === -1 ? [] : argv.slice(divider + 1);
  const names = own.filter((arg) => !arg.startsWith("--"));
  const flags = new Set(own.filter((arg) => arg.startsWith("--")));
  const unknown = [
    ...names.filter((name) => !(name in SUITES) && !CHECK_NAMES.includes(name) && !isFile(name)),
    ...[...flags].filter((flag) => !OPTIONS.includes(flag)),
  ];
  if (flags.has("--help")) return console.log(HELP);
  if (unknown.length > 0) {
    console.error(`${unknown.join(", ")}: no such name.\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  await setUp();

  const isRelease = flags.has("--release");
  const suites = Object.keys(SUITES).filter((name) => isRelease || !FOR_RELEASE.has(name));
  // Whoever names a suite gets all of it.
  const hasAllFiles = isRelease || names.length > 0;
  const checks = checksOf(hasAllFiles);
  const usual = flags.has("--all")
    ? [...Object.keys(checks), ...suites]
    : suites.filter((name) => !LENGTHY.has(name));
  const files = names.filter(isFile);
  const chosen = names.length > 0 ? names.filter((name) => !isFile(name)) : usual;
  if (isRelease) process.env.CLOISTER_RELEASE = "1";

  const scratch = await mkdtemp(path.join(tmpdir(), "cloister-test-"));
  try {
    const plan = { checks, passedOn, scratch, hasAllFiles };
    const coverage = flags.has("--all") || flags.has("--coverage");
    const first = await playAll(chosen, files, { ...plan, coverage });
    const again = filesToPlayAgain(first);
    const second = [];
    for (const [index, file] of again.entries()) {
      console.log(`\n── once more, alone (${index + 1} of ${again.length}): ${file}`);
      const { records } = await playFiles([file], { scratch, passedOn, name: `again-${index}` });
      second.push(...records.map(counted));
    }
    const { results, unsteady } = withSecondRecords(first, second);
    await mkdir(path.dirname(UNSTEADY), { recursive: true });
    await writeFile(UNSTEADY, unsteady.map((one) => `${unsteadyLine(one)}\n`).join(""));
    const { text, isGreen } = reportOf(results, unsteady);
    console.log(text);
    process.exitCode = isGreen ? 0 : 1;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function playAll(chosen, files, plan) {
  const results = [];
  const isLone = chosen.length + (files.length > 0 ? 1 : 0) === 1;
  const isBeside = (name) => COMPUTING.has(name) && chosen.some((other) => !COMPUTING.has(other));
  const one = async (name, play) => {
    const say = isLone ? undefined : lineWriter(name);
    if (isLone) console.log(`\n── ${name} ${"─".repeat(Math.max(0, 70 - name.length))}`);
    const began = performance.now();
    const result = await play(say);
    results.push({ name, ...result, secs: Math.round((performance.now() - began) / 1000) });
  };
  const byName = (name) =>
    one(name, (say) =>
      name in plan.checks
        ? runCheck([...plan.checks[name], ...plan.passedOn], { say, isIdle: isBeside(name) })
        : runSuite(name, { ...plan, coverage: plan.coverage && name === "enclave", say }),
    );
  const ordered = inOrder(chosen);
  const lane = async (waiting) => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) await byName(name);
  };
  const suites = async () => {
    if (files.length > 0) await one("files", (say) => runFiles("files", files, { ...plan, say }));
    await lane(ordered.filter((name) => ALONE.has(name)));
    const waiting = ordered.filter((name) => !ALONE.has(name) && !isBeside(name));
    await Promise.all(Array.from({ length: LANES }, () => lane(waiting)));
  };
  await Promise.all([lane(ordered.filter(isBeside)), suites()]);
  return results;
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
  return { isCheck: true, ...(code === 0 ? {} : { broken: lines.join("\n") }) };
}

async function runSuite(name, plan) {
  const files = filesOf(name, plan.hasAllFiles);
  if (files.length === 0) return leftOut("no test file in this copy");
  const missing = SUITES[name].lacks?.();
  if (missing !== undefined) return leftOut(`${missing} is not installed`);
  return runFiles(name, files, plan);
}

async function runFiles(name, files, { coverage = false, passedOn, scratch, say }) {
  const raw = path.join(scratch, "coverage");
  const env = coverage ? { NODE_V8_COVERAGE: raw } : {};
  const { records, isWhole } = await playFiles(files, { scratch, name, say, env, passedOn });
  const isExplained = isWhole || records.some(({ failed }) => failed > 0);
  const broken = [
    ...(isExplained ? [] : ["the suite did not end cleanly"]),
    ...(coverage && (await run([...COVERAGE, "--temp-directory", raw], { listen: say })) !== 0
      ? ["coverage of enclave/ is below the floor"]
      : []),
  ];
  return { records: records.map(counted), ...(broken.length === 0 ? {} : { broken: broken.join(", ") }) };
}

/** A test that was skipped has failed where everything is required. */
function counted(record) {
  if (!requireAll || record.skipped === 0) return record;
  const failures = [...record.failures, `${record.file}\n${record.skipped} of its tests were skipped`];
  return { ...record, failed: record.failed + record.skipped, failures };
}

const COVERAGE = [
  ...[bin("c8/bin/c8.js"), "report"],
  ...["--check-coverage", "--lines=95", "--branches=95", "--functions=0", "--statements=0"],
  // `--all` counts files that no test has loaded: leaving a file untested must not raise the figure.
  ...["--all", "--src=enclave", "--include=enclave/**/*.ts"],
  ...["--exclude=enclave/dist/**", "--exclude=enclave/node_modules/**", "--exclude=**/*.d.ts"],
  ...["--reporter=text", "--reports-dir=coverage"],
];

function leftOut(reason) {
  return { leftOut: reason, ...(requireAll ? { broken: `left out: ${reason}` } : {}) };
}

await orExplain(() => main(process.argv.slice(2)));
