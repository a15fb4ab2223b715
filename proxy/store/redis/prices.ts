/** Last good prices in the durable Redis, one record an asset, shared by every proxy. */
import { z } from "zod";
import type { PriceStore, StoredPrice } from "../prices.ts";
import type { DurableRedis } from "./durable.ts";
import { openRecords, type RecordForm } from "./records.ts";
import { storedBigint } from "./values.ts";

const shape = z.strictObject({ answer: storedBigint, decimals: z.int(), updatedAt: z.int() });
const form: RecordForm<StoredPrice> = {
  read: (json) => shape.parse(json),
  write: ({ answer, decimals, updatedAt }) => ({ answer: String(answer), decimals, updatedAt }),
};

export function openRedisPriceStore(redis: DurableRedis): PriceStore {
  const prices = openRecords(redis, "prices", form);
  return {
    price: (asset) => prices.get(asset),
    async keepPrice(asset, price) {
      await prices.change(asset, (now) => ((now?.updatedAt ?? 0) > price.updatedAt ? now : price));
    },
  };
}
