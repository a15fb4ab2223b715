/** Last good prices in LMDB, one record an asset. */
import type { Address } from "../../../shared/protocol/brands.ts";
import type { PriceStore } from "../prices.ts";
import type { Database } from "./database.ts";

interface Stored {
  readonly answer: string;
  readonly decimals: number;
  readonly updatedAt: number;
}

export function openPriceStore(database: Database): PriceStore {
  const prices = database.table<Stored, Address>("prices");
  return {
    async price(asset) {
      const stored = prices.get(asset);
      return stored === undefined ? undefined : { ...stored, answer: BigInt(stored.answer) };
    },
    keepPrice: (asset, { answer, decimals, updatedAt }) =>
      database.transaction(() => {
        if ((prices.get(asset)?.updatedAt ?? 0) > updatedAt) return;
        void prices.put(asset, { answer: String(answer), decimals, updatedAt });
      }),
  };
}
