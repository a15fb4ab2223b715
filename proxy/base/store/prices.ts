/**
 * The last good price of each asset, one record each, so that a restart with a silent feed goes on with the price
 * before it.
 */
import { z } from "zod";
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Engine } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";
import { storedBigint } from "./values.ts";

/** Dollars for one whole token: answer / 10^decimals. */
const shape = z.strictObject({
  answer: storedBigint,
  decimals: z.int(),
  /** Unix seconds, by the feed. */
  updatedAt: z.int(),
});
export type StoredPrice = RecordOf<typeof shape>;

const form = jsonForm<StoredPrice>(shape, ({ answer, decimals, updatedAt }) => ({
  answer: String(answer),
  decimals,
  updatedAt,
}));

export type PriceStore = ReturnType<typeof openPriceStore>;

export function openPriceStore(engine: Engine) {
  const prices = new Records(engine, "prices", form);
  return {
    price: (asset: Address) => prices.get(asset),
    /** Durable. An older price than the kept one changes nothing. */
    async keepPrice(asset: Address, price: StoredPrice): Promise<void> {
      await prices.change(asset, (now) => ((now?.updatedAt ?? 0) > price.updatedAt ? now : price));
    },
  };
}
