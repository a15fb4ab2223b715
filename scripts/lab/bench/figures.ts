// What every suite reports in: named figures, and the middle of repeated measurements.

import { cpus, loadavg, totalmem } from "node:os";

export interface SuiteOptions {
  /** Repetitions of what is repeated. */
  readonly runs: number;
  /** For suites that send at a rate: how many a second, and for how long in each repetition. */
  readonly perSecond: number;
  readonly seconds: number;
  /** For suites with a queue: how many wait in it in a part of its own; none leaves that part out. */
  readonly queue: number;
}

export type Figures = Readonly<Record<string, Figure>>;

export interface Figure {
  readonly value: number;
  /** `MB` is 10^6 bytes, `1/s` how many a second, `x` a ratio. */
  readonly unit:
    "s" | "ms" | "1/s" | "MB" | "MB/s" | "KiB" | "x" | "events" | "readers" | "cores" | "gas" | "tickets";
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

export function figure(value: number, unit: Figure["unit"]): Figure {
  return { value: Number(value.toPrecision(4)), unit };
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
