/**
 * This machine's clock beside those that the proxies of an instance share, the store's and the chain's. A proxy whose clock is
 * wrong refuses its neighbours' sessions, and mints some that live too long.
 */
const MOST_APART_SECS = 60;
/** Chains make blocks oftener; one that stands still is worth a look, too. */
const NEWEST_BLOCK_SECS = 15 * 60;

export class ClocksApart extends Error {
  constructor(secs: number) {
    super(`the clocks of this machine and of the store are ${String(secs)} s apart`);
    this.name = "ClocksApart";
  }
}

/** Milliseconds since 1970. Throws ClocksApart. */
export function requireSameClock(theirs: number, ours: number): void {
  const secs = Math.round(Math.abs(theirs - ours) / 1_000);
  if (secs > MOST_APART_SECS) throw new ClocksApart(secs);
}

/** `timestamp`: Unix seconds, of the newest block. `now`: milliseconds. */
export function clockWarnings(newest: { readonly timestamp: number } | undefined, now: number): string[] {
  if (newest === undefined) return [];
  const age = Math.round(now / 1_000 - newest.timestamp);
  if (age < -MOST_APART_SECS)
    return [`the newest block is ${String(-age)} s ahead of this machine's clock: one of the two is wrong`];
  return age > NEWEST_BLOCK_SECS
    ? [`the newest block is ${String(age)} s old: the chain stands still, or this machine's clock is ahead`]
    : [];
}
