// Plays checks and test files, each in a process of its own, and gathers how they went by check and suite.
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import path from "node:path";
import { sideBySide } from "./lanes.mjs";
import { LOADED_FIRST, playFile } from "./play.mjs";
import { run } from "./processes.mjs";
import { bin, ROOT } from "./suites.mjs";
import { byCost } from "./times.mjs";

/** Their scenarios let real time pass, so nothing runs beside them, neither a file nor a check. */
const ALONE = new Set(["seeded"]);
/** What their lines count of is the source, so they are not played from bundles. */
const MEASURED = "enclave";
const BUNDLES = path.join(ROOT, ".cloister/build/tests");

/** Lines of a failed check that are said again below everything else, where nobody has to look for them. */
const LAST_WORDS = 30;

const requireAll = (process.env.CLOISTER_REQUIRE_ALL ?? "") !== "";

/** Results as verdict.mjs takes them, of the checks and suites that are `chosen`; `groups` has their files. */
export async function playAll(chosen, groups, { checks, passedOn, scratch, coverage }) {
  const ready = groups.filter(({ leftOut }) => leftOut === undefined);
  const isLone = chosen.length + ready.flatMap(({ files }) => files).length <= 1;
  const results = new Map(
    groups.map(({ name, leftOut }) => [
      name,
      leftOut === undefined ? { name, records: [], secs: 0 } : left(name, leftOut),
    ]),
  );
  const raw = path.join(scratch, "coverage");
  const isMeasured = (name) => coverage && name === MEASURED;

  const checkJob = (name) => async () => {
    const began = performance.now();
    const say = isLone ? (text) => process.stdout.write(text) : lineWriter(name);
    const result = await runCheck([...checks[name], ...passedOn], { say });
    results.set(name, { name, ...result, secs: Math.round((performance.now() - began) / 1000) });
  };
  let count = 0;
  const fileJob =
    (file, { name, bundles }) =>
    async () => {
      const said = [];
      const say = isLone ? (text) => process.stdout.write(text) : (text) => said.push(text);
      const env = isMeasured(name) ? { NODE_V8_COVERAGE: raw } : {};
      const options = { scratch, name: `file-${count++}`, bundles, say, env, passedOn };
      const { record, isClean } = await playFile(file, options);
      if (!isLone) console.log(`\n── ${file} (${Math.round(record.secs)} s)\n${said.join("").trim()}`);
      const result = results.get(name);
      result.records.push(counted(record));
      result.secs += Math.round(record.secs);
      if (!isClean) result.broken = `${file} did not end cleanly`;
    };

  const folder = await bundlesFolder();
  try {
    const bundled = ready.filter(({ name }) => !isMeasured(name)).flatMap(({ files }) => files);
    const bundles = bundlesOf(folder, bundled);
    const owner = new Map(ready.flatMap(({ name, files }) => files.map((file) => [file, name])));
    const jobOf = (file) => {
      const name = owner.get(file);
      return fileJob(file, { name, bundles: isMeasured(name) ? {} : bundles });
    };
    const filesIn = (isAlone) =>
      byCost(ready.filter(({ name }) => ALONE.has(name) === isAlone).flatMap(({ files }) => files)).map(
        jobOf,
      );
    const named = chosen.filter((name) => name in checks);
    await sideBySide(filesIn(true), 1);
    // Beside files one check at a time, at the same priority: beside another program that computes without end, one of a
    // lower priority would get nothing.
    const checksDone = sideBySide(named.map(checkJob), ready.length > 0 ? 1 : undefined);
    await Promise.all([checksDone, sideBySide(filesIn(false))]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const measured = results.get(MEASURED);
  if (coverage && measured?.records?.length > 0) {
    const { code } = await run([...COVERAGE, "--temp-directory", raw], { listen: lineWriter(MEASURED) });
    if (code !== 0) measured.broken = "coverage of enclave/ is below the floor";
  }
  return [...results.values()];
}

/** Inside of the project, since the bundles leave most packages where they are. */
async function bundlesFolder() {
  await mkdir(BUNDLES, { recursive: true });
  return mkdtemp(path.join(BUNDLES, "run-"));
}

/** Modules by file. None where they cannot be made: then each file is played from its source, and says so itself. */
function bundlesOf(folder, files) {
  if (files.length === 0) return {};
  const made = spawnSync(
    process.execPath,
    ["--import", "tsx", "scripts/build/testing/bundle.ts", folder, LOADED_FIRST, ...files],
    { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 26 },
  );
  if (made.status === 0) return JSON.parse(made.stdout);
  console.log(`the test files cannot be bundled and are played from their sources:\n${made.stderr.trim()}`);
  return {};
}

/** Whole lines, each with the name of its check, because several speak at once. */
function lineWriter(name) {
  let rest = "";
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) process.stdout.write(`${name.padEnd(11)} │ ${line}\n`);
  };
}

async function runCheck(args, { say }) {
  const lines = [];
  const listen = (text) => {
    say(text);
    lines.push(...text.split("\n"));
    lines.splice(0, lines.length - LAST_WORDS);
  };
  const { code } = await run(args, { listen });
  return { isCheck: true, ...(code === 0 ? {} : { broken: lines.join("\n") }) };
}

/** A test that was skipped has failed where everything is required. */
export function counted(record) {
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

function left(name, reason) {
  return { name, secs: 0, leftOut: reason, ...(requireAll ? { broken: `left out: ${reason}` } : {}) };
}
