#!/usr/bin/env node
// Runs the checks by name, one process each, a few side by side, and ends with one line that counts them
// all. What cannot run here (no browser, no Redis) is said, and is a failure where CLOISTER_REQUIRE_ALL is set.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { orExplain, setUp } from "./setup.mjs";
import { writtenSince } from "./testing/built.mjs";
import { counted, playAll } from "./testing/everything.mjs";
import { playFile } from "./testing/play.mjs";
import { ageOf, readReleased } from "./testing/released.mjs";
import { FORGE, selection } from "./testing/selection.mjs";
import { CHECK_NAMES, checksOf, filesOf, formatOf, ROOT, SUITES } from "./testing/suites.mjs";
import { TIMES, withRecords } from "./testing/times.mjs";
import { filesToPlayAgain, reportOf, unsteadyLine, withSecondRecords } from "./testing/verdict.mjs";

/** Minutes, so only with --all or by name. */
const LENGTHY = new Set(["seeded"]);
/** Starts of an emulated machine, which takes minutes to make: with --release or by name. */
const FOR_RELEASE = new Set(["boot"]);
const HELP = `Usage: npm test [-- [NAME ...] [OPTIONS] [-- OPTIONS OF MOCHA OR OF THE CHECK]]

Runs suites, checks and test files by name and ends with "N passed, N failed". Every file has a process of its own, the
slowest of test/times.json first, as many side by side as the machine bears. A file that failed is played once more at
the end, alone. If it passes then, the line UNSTEADY names it, and .cloister/unsteady.txt lists it; nothing is played
again where more than ten files failed, a check, or a file about money, vectors or seeded faults.

  suites:  ${Object.keys(SUITES).join(", ")}
           (when no name is given, all of them but ${[...LENGTHY, ...FOR_RELEASE].join(", ")}, which take minutes)
  checks:  ${CHECK_NAMES.join(", ")}
  files:   paths of test files, test/unit/…/NAME.test.ts
  --all        what a change has to pass: every check and suite, with --coverage. Of the files that start chains, browsers
               or databases, those that depend on something changed since the commit in test/last-green.json, and a tenth
               of the others in turn
  --release    with --all: every file, more of the random cases, other releases of Node, guides, tour, screens, operator commands
  --coverage   the suite "enclave" also measures enclave/ and fails below 95 % of lines or branches
  --times      records in test/times.json what each file took; it always stands in .cloister/times.json
  --help       this text

CLOISTER_REQUIRE_ALL=1  what cannot run here, or is skipped, counts as failed
CHROMIUM_PATH           browser for the suite "browser", when it is not on the PATH`;

const OPTIONS = ["--all", "--release", "--coverage", "--times", "--help"];
const NEWEST_TIMES = path.join(ROOT, ".cloister/times.json");
const UNSTEADY = path.resolve(ROOT, process.env.CLOISTER_UNSTEADY ?? ".cloister/unsteady.txt");

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
  const builtAt = Date.now();

  const isRelease = flags.has("--release");
  const suites = Object.keys(SUITES).filter((name) => isRelease || !FOR_RELEASE.has(name));
  // Whoever names a suite gets all of it.
  const hasAllFiles = isRelease || names.length > 0;
  const checks = { ...checksOf(true), ...checksOf(isRelease) };
  const usual = flags.has("--all")
    ? [...Object.keys(checksOf(isRelease)), ...suites]
    : suites.filter((name) => !LENGTHY.has(name));
  const files = names.filter(isFile);
  const chosen = names.length > 0 ? names.filter((name) => !isFile(name)) : usual;
  if (isRelease) process.env.CLOISTER_RELEASE = "1";

  const scratch = await mkdtemp(path.join(tmpdir(), "cloister-test-"));
  try {
    const coverage = flags.has("--all") || flags.has("--coverage");
    const groups = groupsOf(chosen, files, hasAllFiles);
    const isLanding = flags.has("--all") && names.length === 0 && !isRelease;
    const { isPlayed, why, changed } = isLanding
      ? selection(groups.flatMap((group) => group.files))
      : { isPlayed: () => true, why: "what was named" };
    if (isLanding) console.log(`played: ${why}`);
    // The form of a file is its own matter: the others had theirs at the last green commit.
    if (changed !== undefined) checks.format = formatOf(changed);
    for (const group of groups) group.files = group.files.filter(isPlayed);
    const first = await playAll(
      chosen.filter((name) => name !== "forge" || isPlayed(FORGE)),
      groups,
      { checks, passedOn, scratch, coverage },
    );
    const again = filesToPlayAgain(first);
    const second = [];
    for (const [index, file] of again.entries()) {
      console.log(`\n── once more, alone (${index + 1} of ${again.length}): ${file}`);
      const { record } = await playFile(file, { scratch, passedOn, name: `again-${index}` });
      second.push(counted(record));
    }
    const { results, unsteady } = withSecondRecords(first, second);
    for (const place of writtenSince(builtAt))
      results.push({
        name: "built",
        isCheck: true,
        broken: `${place} was written while tests read it, by one of them or by somebody else`,
      });
    await mkdir(path.dirname(UNSTEADY), { recursive: true });
    await writeFile(UNSTEADY, unsteady.map((one) => `${unsteadyLine(one)}\n`).join(""));
    const times = withRecords(first.flatMap(({ records = [] }) => records));
    for (const to of flags.has("--times") ? [NEWEST_TIMES, TIMES] : [NEWEST_TIMES])
      await writeFile(to, times);
    const { text, isGreen } = reportOf(results, unsteady);
    if (isLanding) console.log(`\nplayed: ${why}\n${ageOf(readReleased())}`);
    console.log(text);
    process.exitCode = isGreen ? 0 : 1;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** By suite what is to be played of it, and what keeps it from being played. */
function groupsOf(chosen, files, hasAllFiles) {
  const suites = chosen.filter((name) => name in SUITES);
  const groups = suites.map((name) => {
    const its = filesOf(name, hasAllFiles);
    const missing = SUITES[name].lacks?.();
    const lack = missing === undefined ? undefined : `${missing} is not installed`;
    return { name, files: its, leftOut: its.length === 0 ? "no test file in this copy" : lack };
  });
  return [...groups, ...(files.length > 0 ? [{ name: "files", files }] : [])];
}

await orExplain(() => main(process.argv.slice(2)));
