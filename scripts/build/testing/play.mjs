// Plays test files in one process and says of each how it went. What a crash has left unreported has failed.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { run } from "./processes.mjs";
import { bin, findChromium } from "./suites.mjs";

const MOCHA = [bin("mocha/bin/mocha.js"), "--reporter", "test/support/tally.cjs"];
const LOADER = "test/support/as-modules.mjs";

/**
 * A record is `{ file, passed, failed, skipped, failures, secs }`, `failures` its texts. `isWhole` says whether the
 * process ended by itself and as one whose tests have all passed.
 */
export async function playFiles(files, { scratch, name, say, env = {}, passedOn = [] }) {
  const tally = path.join(scratch, `${name}.jsonl`);
  const code = await run([...MOCHA, ...passedOn, LOADER], {
    env: {
      CLOISTER_TALLY: tally,
      CLOISTER_SPECS: JSON.stringify(files),
      ...(findChromium() === undefined ? {} : { CHROMIUM_PATH: findChromium() }),
      ...env,
    },
    listen: say,
    progress: tally,
    isComplete: () => hasEnded(linesOf(tally)),
  });
  const lines = linesOf(tally);
  // Options of mocha may leave files out.
  const silent = hasEnded(lines) && passedOn.length > 0 ? leftOut : (file) => unreported(file, code);
  const records = files.map((file) => lines.find((line) => line.file === file) ?? silent(file));
  return { records, isWhole: code === 0 };
}

/** Its last line may be half written. */
function linesOf(tally) {
  if (!existsSync(tally)) return [];
  const lines = readFileSync(tally, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

const hasEnded = (lines) => lines.some(({ end }) => end === true);

const leftOut = (file) => ({ file, passed: 0, failed: 0, skipped: 0, failures: [], secs: 0 });

const unreported = (file, code) => ({
  ...leftOut(file),
  failed: 1,
  failures: [`${file}\nits process ended (exit code ${code}) before it could report`],
});
