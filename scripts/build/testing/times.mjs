// What every file took, recorded: which is played first, and how long it may take.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./suites.mjs";

export const TIMES = path.join(ROOT, "test/times.json");
const SHORTEST_LIMIT_MS = 120_000;
/** Of a file that was never recorded, and in the release check, which plays more of the random cases than was recorded. */
const UNKNOWN_LIMIT_MS = 30 * 60_000;
/** How much slower than recorded a busy or a slow machine may be. */
const SLOWER = 5;

/** `{ secs, cpu }` by file. */
const times = existsSync(TIMES) ? JSON.parse(readFileSync(TIMES, "utf8")) : {};

/** Seconds, of the clock or of a processor; undefined where it was never recorded. */
export function costOf(file) {
  const { secs, cpu } = times[file] ?? {};
  return secs === undefined ? undefined : Math.max(secs, cpu);
}

export function limitOf(file) {
  const secs = process.env.CLOISTER_RELEASE === "1" ? undefined : times[file]?.secs;
  return secs === undefined ? UNKNOWN_LIMIT_MS : Math.max(SHORTEST_LIMIT_MS, SLOWER * secs * 1000);
}

/** The slowest first, so that no long one is left for the end; what is not known comes before all. */
export function byCost(files) {
  const costOf = (file) => times[file]?.secs ?? Number.MAX_VALUE;
  return files.toSorted((a, b) => costOf(b) - costOf(a));
}

/** The text of TIMES with these records in it, without files that are gone. */
export function withRecords(records) {
  const all = { ...times };
  for (const { file, secs, cpu } of records) all[file] = { secs: round(secs), cpu: round(cpu) };
  const kept = Object.entries(all).filter(([file]) => existsSync(path.join(ROOT, file)));
  const lines = kept.sort().map(([file, { secs, cpu }]) => `  "${file}": { "secs": ${secs}, "cpu": ${cpu} }`);
  return `{\n${lines.join(",\n")}\n}\n`;
}

const round = (secs) => Math.round(secs * 10) / 10;
