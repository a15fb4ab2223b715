// Waiting for what another process does, which says nothing when it has done it.
import { setTimeout as sleep } from "node:timers/promises";

/** For what comes in moments on an idle machine: so long that only what never comes is given up. */
export const PATIENCE_MS = 180_000;

/** What `look` finds, asked again and again; undefined when it found nothing in this time. */
export async function poll<T>(
  look: () => T | undefined | Promise<T | undefined>,
  withinMs = PATIENCE_MS,
  everyMs = 50,
): Promise<T | undefined> {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined || Date.now() > end) return found;
    await sleep(everyMs);
  }
}
