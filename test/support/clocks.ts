/** Of the clocks (`setTimeout`) that ran out, in milliseconds as they were asked for: the longest, and all together. */
export interface RanOut {
  longestMs: number;
  totalMs: number;
}

/**
 * What was waited for while `work` went on: limits that were met and pauses, and not how fast the machine is. For
 * pages too, so it stands on nothing. A rejection of `work` is the caller's to turn into a result.
 */
export async function ranOut<T>(work: () => Promise<T>): Promise<{ result: T; clocks: RanOut }> {
  const clocks = { longestMs: 0, totalMs: 0 };
  const real = globalThis.setTimeout;
  const watching = <Given extends unknown[]>(run: (...given: Given) => void, ms = 0, ...given: Given) =>
    real(() => {
      clocks.longestMs = Math.max(clocks.longestMs, ms);
      clocks.totalMs += ms;
      run(...given);
    }, ms);
  globalThis.setTimeout = watching as typeof setTimeout;
  try {
    return { result: await work(), clocks };
  } finally {
    globalThis.setTimeout = real;
  }
}
