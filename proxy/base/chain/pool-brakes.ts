/**
 * What the pool's brakes let through, asked once a block: admission looks at them for each payment. An answer may be of
 * the block before the newest one. Nothing is executed by it: the sequencer asks again before each call, and the pool
 * decides. Of what is taken wrongly the ticket waits and says why, and what is refused wrongly may be posted again.
 */
import { oncePerBlock } from "./block-cache.ts";
import type { Pool } from "./pool.ts";

export type PoolBrakes = Pick<Pool, "brakes" | "room">;

export function brakesOfBlock(pool: PoolBrakes, freshTip: () => string | undefined): PoolBrakes {
  const once = oncePerBlock(freshTip);
  return {
    // Times, and no verdict: what has passed meanwhile is the caller's to see.
    brakes: () => once("brakes", () => pool.brakes()),
    room: (asset) => once(`room ${asset}`, () => pool.room(asset)),
  };
}
