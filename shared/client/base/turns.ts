/**
 * Long work on the thread that also draws the page and hears the person: done in pieces, with a turn for everybody else in
 * between.
 */

/** A page that answers within a twentieth of a second feels at once; the browser needs its share of that. */
const BUSY_MS = 12;

/** For one piece of work. */
export class Turns {
  #began = performance.now();

  /** Returns at once while the piece is short. */
  async pause(): Promise<void> {
    if (performance.now() - this.#began < BUSY_MS) return;
    await nextTurn();
    this.#began = performance.now();
  }
}

/** Behind what waits already. A timer would be held back for four milliseconds each time. */
function nextTurn(): Promise<void> {
  const { scheduler, setImmediate } = globalThis as {
    scheduler?: { yield?(): Promise<void> };
    setImmediate?: (work: () => void) => unknown;
  };
  if (scheduler?.yield !== undefined) return scheduler.yield();
  return new Promise((resolve) => {
    if (setImmediate !== undefined) setImmediate(resolve);
    else setTimeout(resolve, 0);
  });
}
