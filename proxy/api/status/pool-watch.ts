/**
 * How the pool's brakes stand, for the operator's figures. Claims that a token refused are told by no reader of the pool,
 * so they are looked for: behind the first that waits, and not paid.
 */
import { askNowAndThen } from "../../base/chain/now-and-then.ts";
import type { Pool } from "../../base/chain/pool.ts";
import type { AssetBrakes, PoolBrakes } from "../../base/observe/metrics.ts";
import type { Address } from "../../../shared/protocol/brands.ts";

const EVERY_MS = 15_000;
/** Most claims that one look asks for: after a start there may be many. */
const MOST_ASKED = 50;

/** Of an asset's claims, which were found unpaid behind the first that waits; those from `next` on were not looked at. */
interface Seen {
  next: number;
  aside: readonly number[];
}

export type PoolWatch = ReturnType<typeof createPoolWatch>;

export function createPoolWatch(
  pool: Pick<Pool, "brakes" | "room" | "claimLine" | "claimLeft">,
  assets: readonly Address[],
  everyMs = EVERY_MS,
) {
  const seen = new Map<Address, Seen>();

  async function ask(): Promise<PoolBrakes> {
    return { ...(await pool.brakes()), assets: await Promise.all(assets.map(ofAsset)) };
  }

  async function ofAsset(asset: Address): Promise<AssetBrakes> {
    const [room, { made, first }] = await Promise.all([pool.room(asset), pool.claimLine(asset)]);
    const claimsSetAside = await countSetAside(asset, first);
    return {
      ...{ attestedRoom: room.attested, provedRoom: room.proved },
      ...{ waitingClaims: made - first, claimsSetAside },
    };
  }

  /** What is paid stays paid: each is asked for until then, and no more. */
  async function countSetAside(asset: Address, first: number): Promise<number> {
    const earlier = seen.get(asset);
    // A reorganisation may have made the line shorter.
    const { next, aside } = earlier !== undefined && earlier.next <= first ? earlier : { next: 0, aside: [] };
    const end = Math.min(first, next + MOST_ASKED);
    const ids = [...aside, ...Array.from({ length: end - next }, (_, i) => next + i)];
    const left = await Promise.all(ids.map((id) => pool.claimLeft(asset, id)));
    const unpaid = ids.filter((_, i) => left[i]! > 0n);
    seen.set(asset, { next: end, aside: unpaid });
    return unpaid.length;
  }

  const asked = askNowAndThen(ask, everyMs);
  return { ...asked, brakes: asked.answer };
}
