/** One process serves from a folder, so a claim that this one does not hold was left behind by one that is dead. */
import type { LiveClaims } from "../idempotency.ts";

/** Its holder is alive, and most requests take less. */
const RETRY_AFTER_MS = 1_000;

export function openLmdbLiveClaims(): LiveClaims {
  const held = new Set<string>();
  return {
    hold(token) {
      held.add(token);
      return [];
    },
    ending: () => [],
    letGo: (token) => void held.delete(token),
    leftMs: async (token) => (held.has(token) ? RETRY_AFTER_MS : 0),
  };
}
