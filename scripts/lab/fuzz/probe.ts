/**
 * What the instrumented code calls: which places a case reached and how often, and a stop for a case
 * that works without end. Counted, not timed, so a run repeats exactly.
 */
const MAX_PROBES = 8192;
const counts = new Uint32Array(MAX_PROBES);
const reached: number[] = [];
let work = 0;
let limit = Infinity;

export class WorkExceeded extends Error {
  override readonly name = "WorkExceeded";
}

export function hit(probe: number): void {
  if (++work > limit) throw new WorkExceeded(`more than ${limit} steps`);
  if (counts[probe]!++ === 0) reached.push(probe);
}

/** Before every case. */
export function begin(workLimit: number): void {
  for (const probe of reached) counts[probe] = 0;
  reached.length = 0;
  work = 0;
  limit = workLimit;
}

/** Of the case that ran last. */
export function workDone(): number {
  return work;
}

/** Calls back for every probe reached, with how often. */
export function eachReached(report: (probe: number, count: number) => void): void {
  for (const probe of reached) report(probe, counts[probe]!);
}
