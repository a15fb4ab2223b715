// Plays one test file in a process of its own and says how it went. What a crash has left unreported has failed.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { run } from "./processes.mjs";
import { bin, findChromium } from "./suites.mjs";
import { limitOf } from "./times.mjs";

const MOCHA = [
  ...[bin("mocha/bin/mocha.js"), "--no-config", "--forbid-only", "--timeout", "240000"],
  ...["--reporter", "test/support/tally.cjs"],
];
const LOADER = "test/support/as-modules.mjs";
/** By it. */
export const LOADED_FIRST = "test/support/waiting-by-time.ts";

/**
 * A record is `{ file, passed, failed, skipped, failures, secs, cpu }`: `failures` its texts, `cpu` seconds of a processor,
 * of all processes that it started too. `isClean` says whether the process ended by itself and without a failure.
 * `bundles` names modules by file; without one a file is played from its source.
 */
export async function playFile(file, { scratch, name, bundles = {}, say, env = {}, passedOn = [] }) {
  const tally = path.join(scratch, `${name}.jsonl`);
  const isBundled = bundles[file] !== undefined;
  const flags = isBundled ? ["--enable-source-maps"] : ["--import", "tsx"];
  const began = performance.now();
  const { code, why } = await run([...flags, ...MOCHA, ...passedOn, LOADER], {
    env: {
      CLOISTER_TALLY: tally,
      CLOISTER_SPECS: JSON.stringify([file]),
      CLOISTER_BUNDLES: JSON.stringify(
        isBundled ? { [file]: bundles[file], [LOADED_FIRST]: bundles[LOADED_FIRST] } : {},
      ),
      ...(findChromium() === undefined ? {} : { CHROMIUM_PATH: findChromium() }),
      ...env,
    },
    listen: say,
    limitMs: limitOf(file),
    isComplete: () => endOf(linesOf(tally)) !== undefined,
  });
  const lines = linesOf(tally);
  const record = {
    ...{ file, passed: 0, failed: 0, skipped: 0, failures: [] },
    ...lines.find((line) => line.file === file),
    ...{ secs: (performance.now() - began) / 1000, cpu: endOf(lines)?.cpu ?? 0 },
  };
  const hasReported = endOf(lines) !== undefined && (lines.length > 1 || passedOn.length > 0);
  if (!hasReported) {
    record.failed += 1;
    record.failures = [
      ...record.failures,
      `${file}\n${why ?? `its process ended (exit code ${code})`} before it could report`,
    ];
  }
  return { record, isClean: code === 0 || record.failed > 0 };
}

/** Its last line may be half written. */
function linesOf(tally) {
  if (!existsSync(tally)) return [];
  const lines = readFileSync(tally, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

const endOf = (lines) => lines.find(({ end }) => end === true);
