// From how everything went to what is said: what is played again, what is red, and the last line.
import { isFinal } from "./suites.mjs";

/** More files than these do not fail by chance in one run. */
const MOST_AGAIN = 10;
const LONGEST_SHOWN = 40;

/**
 * The files to play once more, alone; none where the run is red whatever they do. A result is
 * `{ name, secs, records?, broken?, leftOut? }`: `broken` tells why a check, or a suite as a whole, has failed.
 */
export function filesToPlayAgain(results) {
  const failed = results.flatMap(({ records = [] }) => records).filter((record) => record.failed > 0);
  const isRed =
    results.some(({ broken }) => broken !== undefined) || failed.some(({ file }) => isFinal(file));
  return isRed || failed.length > MOST_AGAIN ? [] : failed.map(({ file }) => file);
}

/** Puts the second records in the place of the first; what passed then is unsteady, and told with its first failure. */
export function withSecondRecords(results, second) {
  const unsteady = [];
  const replaced = (first) => {
    const again = second.find(({ file }) => file === first.file);
    if (again === undefined) return first;
    if (again.failed === 0) unsteady.push({ file: first.file, text: first.failures[0] ?? "" });
    return { ...again, failures: again.failures.map((text) => `(twice) ${text}`) };
  };
  const judged = results.map((result) =>
    result.records === undefined ? result : { ...result, records: result.records.map(replaced) },
  );
  return { results: judged, unsteady };
}

/** The counts of a result: a check, and a suite that is broken beyond its files, counts as one test. */
export function countsOf({ records = [], broken, isCheck = false }) {
  const sum = (key) => records.reduce((total, record) => total + record[key], 0);
  const isBroken = broken !== undefined;
  return {
    passed: sum("passed") + (isCheck && !isBroken ? 1 : 0),
    failed: sum("failed") + (isBroken ? 1 : 0),
    skipped: sum("skipped"),
  };
}

/** All that is said at the end, with the counts as its last line. */
export function reportOf(results, unsteady) {
  const lines = [];
  const headline = (text) => lines.push("", `── ${text} ${"─".repeat(Math.max(0, 70 - text.length))}`);
  const failures = results.flatMap(({ name, records = [], broken }) =>
    [...records.flatMap((record) => record.failures), ...(broken === undefined ? [] : [broken])].map(
      (text) => `${name}: ${text}`,
    ),
  );
  if (failures.length > 0) {
    headline("failed, once more");
    lines.push(failures.join("\n\n"));
  }
  const longest = results
    .flatMap(({ records = [] }) => records)
    .sort((a, b) => b.secs - a.secs)
    .slice(0, LONGEST_SHOWN);
  if (longest.length > 1) {
    headline("the longest");
    for (const { file, secs } of longest) lines.push(`  ${String(Math.round(secs)).padStart(5)} s  ${file}`);
  }
  headline("sum");
  for (const result of results) {
    const { passed, failed, skipped } = countsOf(result);
    const words = result.leftOut ? `left out: ${result.leftOut}` : `${passed} passed, ${failed} failed`;
    const notes = skipped > 0 ? ` (${skipped} skipped)` : "";
    lines.push(`  ${result.name.padEnd(12)} ${words}${notes}, ${result.secs} s`);
  }
  lines.push("", ...unsteady.map(unsteadyLine));
  const totals = results.map(countsOf);
  const total = (key) => totals.reduce((sum, counts) => sum + counts[key], 0);
  lines.push(`${total("passed")} passed, ${total("failed")} failed`);
  return { text: lines.join("\n"), isGreen: total("failed") === 0 };
}

/** On one line: whoever reads a log from its end sees the file and what it failed with. */
export const unsteadyLine = ({ file, text }) =>
  `UNSTEADY ${file} (${text.replaceAll(/\s+/g, " ").slice(0, 400)})`;
