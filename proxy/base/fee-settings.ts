/** Settings of fees and prices: what the service asks for each asset and operation, and what assets cost in dollars. */
import { z } from "zod";
import { address as addressText, amount as amountText } from "../../shared/api/values.ts";
import { feeOperation } from "../../shared/api/credentials.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { parseDollars, type Dollars } from "../../shared/protocol/host/dollars.ts";
import type { FeeOperation } from "../../shared/protocol/host/fees.ts";

/** fee = flat + floor(amount × bps / 10,000); with `usd` the flat part follows the asset's price. */
export type FeeScheduleEntry = {
  readonly asset: Address;
  readonly operation: FeeOperation;
  readonly bps: number;
} & (
  { readonly flat: bigint; readonly usd?: undefined } | { readonly usd: Dollars; readonly flat?: undefined }
);

/** Where an asset's price in dollars comes from. */
export type PriceSetting =
  | { readonly asset: Address; readonly fixed: Dollars }
  | {
      readonly asset: Address;
      readonly feed: Address;
      /** Older than this, an answer is stale. */
      readonly heartbeatSecs: number;
      /** A price outside is believed to be a fault of the feed. */
      readonly least: Dollars;
      readonly most: Dollars;
    };

/** How this file reads and complains: see config.ts. */
export interface FeeSettingsReader {
  readonly json: <S extends z.ZodType>(name: FeeSetting, shape: S) => z.output<S> | undefined;
  /** Undefined, and a fault, for an asset that is not listed. */
  readonly listed: (name: FeeSetting, asset: string) => Address | undefined;
  readonly fault: (name: FeeSetting, text: string) => void;
}
export type FeeSetting = "CLOISTER_FEE_SCHEDULE" | "CLOISTER_PRICES";

/** Below a half: with the part of a developer, which is no more than that, something is left of every swap. */
const SWAP_BPS_LIMIT = 5_000;

const dollars = z.string().transform((text, context): Dollars => {
  const value = parseDollars(text);
  if (value !== undefined) return value;
  context.addIssue({ code: "custom", message: "dollars as a decimal number, at most 18 places" });
  return z.NEVER;
});
const aboveZero = dollars.refine((value) => value > 0n, "must be above zero");

const common = { asset: addressText, operation: feeOperation, bps: z.int().min(0).max(10_000).default(0) };
const scheduleShape = z.array(
  z.union([
    z.strictObject({ ...common, flat: amountText.transform(BigInt) }),
    z.strictObject({ ...common, usd: dollars }),
  ]),
);

const pricesShape = z.array(
  z.union([
    z.strictObject({ asset: addressText, fixed: aboveZero }),
    z
      .strictObject({
        asset: addressText,
        feed: addressText,
        heartbeat_secs: z.int().min(1).max(1_000_000_000),
        min: aboveZero,
        max: aboveZero,
      })
      .refine(({ min, max }) => min < max, "min must be below max"),
  ]),
);

export function readFeeSchedule(
  { json, listed, fault }: FeeSettingsReader,
  assets: readonly Address[],
): readonly FeeScheduleEntry[] {
  const NAME = "CLOISTER_FEE_SCHEDULE";
  const schedule = (json(NAME, scheduleShape) ?? []).flatMap((entry): FeeScheduleEntry[] => {
    const asset = listed(NAME, entry.asset);
    return asset === undefined ? [] : [{ ...entry, asset }];
  });
  for (const { operation, bps } of schedule) {
    // The amount of a transfer is hidden from us; a proportional fee could be asked but never checked.
    if (operation === "transfer" && bps > 0) fault(NAME, "cannot hold bps for transfers");
    if (operation === "swap" && bps >= SWAP_BPS_LIMIT)
      fault(NAME, "leaves nothing, or less than half, of a swap");
  }
  const charged = new Set(
    schedule.filter((entry) => entry.operation === "transfer" && asksFlat(entry)).map(({ asset }) => asset),
  );
  // Whoever pays nothing would say that the transfer is of the asset that is free.
  if (charged.size > 0 && charged.size < assets.length)
    fault(
      NAME,
      "asks a fee for transfers of some assets only: a transfer hides its asset, so all would be free",
    );
  return Object.freeze(schedule);
}

export function readPrices(
  { json, listed, fault }: FeeSettingsReader,
  schedule: readonly FeeScheduleEntry[],
): readonly PriceSetting[] {
  const NAME = "CLOISTER_PRICES";
  const prices = (json(NAME, pricesShape) ?? []).flatMap((entry): PriceSetting[] => {
    const asset = listed(NAME, entry.asset);
    if (asset === undefined) return [];
    if ("fixed" in entry) return [{ asset, fixed: entry.fixed }];
    const feed = asAddress(entry.feed);
    if (feed === undefined || feed === ZERO_ADDRESS) {
      fault(NAME, "names no feed");
      return [];
    }
    return [{ asset, feed, heartbeatSecs: entry.heartbeat_secs, least: entry.min, most: entry.max }];
  });
  const priced = prices.map(({ asset }) => asset);
  if (new Set(priced).size !== priced.length) fault(NAME, "has two prices for one asset");
  if (schedule.some(({ usd, asset }) => usd !== undefined && !priced.includes(asset)))
    fault(NAME, "has no price for an asset whose fee is in dollars");
  return Object.freeze(prices);
}

export function asksFlat(entry: FeeScheduleEntry): boolean {
  return (entry.usd ?? entry.flat) > 0n;
}
