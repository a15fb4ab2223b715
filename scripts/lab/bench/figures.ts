// What every suite measures and reports with: rounds by turns, the middle of repeated measurements, named figures.

import { execFileSync } from "node:child_process";
import { cpus, loadavg, totalmem } from "node:os";
import { repositoryRoot } from "../../build/circuits/compile.ts";

/** The local chains' time for a block. */
export const BLOCK_MS = 1_000;

export interface SuiteOptions {
  /** Repetitions of what is repeated. */
  readonly runs: number;
  /** For suites that send at a rate: how many a second, and for how long in each repetition. */
  readonly perSecond: number;
  readonly seconds: number;
  /** Of suite sequencer: the chain's time for a block, and what each question to the node takes longer, in milliseconds. */
  readonly blockMs: number;
  readonly nodeMs: number;
  /** For suites with a queue: how many wait in it in a part of its own; none leaves that part out. */
  readonly queue: number;
  /** Of the number of leaves, as a power of two. */
  readonly exponent: number;
}

export type Figures = Readonly<Record<string, Figure>>;

export interface Figure {
  readonly value: number;
  /** `MB` is 10^6 bytes, `1/s` how many a second, `x` a ratio. */
  readonly unit:
    | ("s" | "ms" | "1/s" | "MB" | "MB/s" | "KiB" | "x" | "events" | "readers" | "cores" | "gas" | "tickets")
    | ("blocks" | "calls" | "bytes");
  /** Where the value is the median of several. */
  readonly spread?: readonly [least: number, most: number];
}

/** Of what was measured once, or of the median of several; four digits. */
export function figure(measured: number | readonly number[], unit: Figure["unit"]): Figure {
  const rounded = (value: number): number => Number(value.toPrecision(4));
  if (typeof measured === "number") return { value: rounded(measured), unit };
  const { median, least, most } = spreadOf(measured);
  return { value: rounded(median), unit, spread: [rounded(least), rounded(most)] };
}

/** Prints the figures of one part of a suite as soon as they are known. */
export function tell(heading: string, figures: Figures): Figures {
  console.log(heading);
  for (const [name, { value, unit, spread }] of Object.entries(figures)) {
    const range = spread === undefined ? "" : ` (${String(spread[0])} to ${String(spread[1])})`;
    console.log(`  ${name.padEnd(42)} ${String(value)} ${unit}${range}`);
  }
  return figures;
}

/** One of each, round after round, so that a busy moment hits them all. The first round warms up. */
export async function byTurns<Name extends string>(
  runs: number,
  measures: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(measures) as Name[];
  const measured = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = 0; round <= runs; round++) {
    for (const name of names) {
      const value = await measures[name]();
      if (round > 0) measured[name].push(value);
    }
  }
  return measured;
}

/** Of each round on its own. */
export function ratios(values: readonly number[], others: readonly number[]): number[] {
  return values.map((value, round) => value / (others[round] ?? NaN));
}

/** Processor time of this process for one of so many times, in milliseconds. */
export async function cpuMs(times: number, work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3 / times;
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? NaN;
  const middle = (sorted.length - 1) / 2;
  return {
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    least: at(0),
    most: at(sorted.length - 1),
  };
}

/** The value that this part of all does not exceed. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? NaN;
}

/** The load is part of the result: on a busy machine every time is too long. */
export function describeMachine(): string {
  const [first] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return (
    `${String(cpus().length)} × ${first?.model.trim() ?? "unknown"}, ${String(gigabytes)} GiB, ` +
    `${process.platform}, Node ${process.versions.node}, load ${(loadavg()[0] ?? 0).toFixed(1)}`
  );
}

/** Machine-readable, in the form that `npm run bench -- --help` describes. */
export function jsonLine(suite: string, machine: string, figures: Figures): string {
  const plain = Object.entries(figures).map(([name, { value, unit }]) => [name, { value, unit }] as const);
  return JSON.stringify({ suite, commit: commit(), machine, figures: Object.fromEntries(plain) });
}

/** With a plus when files differ from the commit. */
function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: repositoryRoot, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    return `${git("rev-parse", "--short=12", "HEAD").trim()}${git("status", "--porcelain") === "" ? "" : "+"}`;
  } catch {
    return "unknown";
  }
}
