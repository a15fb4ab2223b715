/** One pass after another, never two at once, until it is stopped. A pass that fails is reported and comes again. */

export interface Passing {
  start(): void;
  stop(): Promise<void>;
  /** One whole pass that begins now or later. */
  sync(): Promise<void>;
  /** There is something to look at: a pass that is not waited for. */
  wake(): void;
  isStopped(): boolean;
  /** Milliseconds since 1970 of the last pass that succeeded. */
  syncedAt(): number | undefined;
  /** The last pass failed. */
  isAway(): boolean;
}

export function createPassing(
  /** `since`: who waits for it has asked then at the latest, by performance.now(). */
  pass: (since: number) => Promise<void>,
  intervalMs: number | (() => number),
  report: (error: unknown) => void,
): Passing {
  let running: Promise<void> | undefined;
  let following: Promise<void> | undefined;
  let followsSince = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let syncedAt: number | undefined;
  let isAway = false;

  async function run(since: number): Promise<void> {
    try {
      await pass(since);
      syncedAt = Date.now();
      isAway = false;
    } catch (error) {
      isAway = true;
      throw error;
    }
  }

  /** A pass that is under way may have looked at the head before the caller's news; it is followed by another. */
  function sync(since = performance.now()): Promise<void> {
    if (running === undefined) {
      running = run(since).finally(() => (running = undefined));
      return running;
    }
    followsSince = Math.max(followsSince, since);
    following ??= running
      .catch(() => undefined)
      .then(() => {
        const asked = followsSince;
        following = undefined;
        followsSince = -Infinity;
        return isStopped ? undefined : sync(asked);
      });
    return following;
  }

  async function loop(): Promise<void> {
    try {
      await sync(-Infinity);
    } catch (error) {
      report(error);
    }
    if (isStopped) return;
    timer = setTimeout(() => void loop(), typeof intervalMs === "number" ? intervalMs : intervalMs());
  }

  return {
    start: () => void loop(),
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await (following ?? running)?.catch(() => undefined);
    },
    sync: () => sync(),
    wake(): void {
      if (!isStopped) sync().catch(report);
    },
    isStopped: () => isStopped,
    syncedAt: () => syncedAt,
    isAway: () => isAway,
  };
}
