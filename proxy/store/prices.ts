/** The last good price of each asset, so that a restart with a silent feed goes on with the price before it. */
import type { Address } from "../../shared/protocol/brands.ts";

/** Dollars for one whole token: answer / 10^decimals. */
export interface StoredPrice {
  readonly answer: bigint;
  readonly decimals: number;
  /** Unix seconds, by the feed. */
  readonly updatedAt: number;
}

export interface PriceStore {
  price(asset: Address): Promise<StoredPrice | undefined>;
  /** Durable. An older price than the kept one changes nothing. */
  keepPrice(asset: Address, price: StoredPrice): Promise<void>;
}
