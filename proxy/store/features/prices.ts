/** Last good prices, one record an asset. */
import { z } from "zod";
import type { Engine } from "../engine.ts";
import type { PriceStore, StoredPrice } from "../prices.ts";
import { jsonForm, Records } from "./records.ts";
import { storedBigint } from "./values.ts";

const form = jsonForm<StoredPrice>(
  z.strictObject({ answer: storedBigint, decimals: z.int(), updatedAt: z.int() }),
  ({ answer, decimals, updatedAt }) => ({ answer: String(answer), decimals, updatedAt }),
);

export function openPriceStore(engine: Engine): PriceStore {
  const prices = new Records(engine, "prices", form);
  return {
    price: (asset) => prices.get(asset),
    async keepPrice(asset, price) {
      await prices.change(asset, (now) => ((now?.updatedAt ?? 0) > price.updatedAt ? now : price));
    },
  };
}
