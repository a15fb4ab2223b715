/** How the pool's brakes stand, for the operator's figures. */
import { askNowAndThen } from "../../base/chain/now-and-then.ts";
import type { Pool } from "../../base/chain/pool.ts";
import type { AssetBrakes, PoolBrakes } from "../../base/observe/metrics.ts";
import type { Address } from "../../../shared/protocol/brands.ts";

const EVERY_MS = 15_000;

export type PoolWatch = ReturnType<typeof createPoolWatch>;

export function createPoolWatch(
  pool: Pick<Pool, "brakes" | "room" | "claimed">,
  assets: readonly Address[],
  everyMs = EVERY_MS,
) {
  async function ask(): Promise<PoolBrakes> {
    return { ...(await pool.brakes()), assets: await Promise.all(assets.map(ofAsset)) };
  }

  async function ofAsset(asset: Address): Promise<AssetBrakes> {
    const [room, claimed] = await Promise.all([pool.room(asset), pool.claimed(asset)]);
    return {
      ...{ attestedRoom: room.attested, provedRoom: room.proved },
      ...{ claimsDue: claimed.due, claimsWaiting: claimed.waiting },
    };
  }

  const asked = askNowAndThen(ask, everyMs);
  return { ...asked, brakes: asked.answer };
}
