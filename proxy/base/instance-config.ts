/** What all programs of an instance read alike out of their settings: assets, fees, limits. */
import { z } from "zod";
import { address as addressText, amount as amountText } from "../../shared/api/values.ts";
import { feeOperation } from "../../shared/api/credentials.ts";
import { decodeShieldedAddress } from "../../shared/notes/address.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import type { FeeOperation } from "../../shared/protocol/host/fees.ts";
import { asksFlat, readFeeSchedule, readPrices } from "./fee-settings.ts";
import { addressSetting, type ReaderOf, type Setting } from "./settings.ts";

export interface Asset {
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
}

export interface Minimum {
  readonly asset: Address;
  readonly operation: FeeOperation;
  readonly minimum: bigint;
}

/** What a developer gets whose record says nothing else. */
export type LimitDefaults = ReturnType<typeof readLimits>;

const assetsShape = z.array(
  z.strictObject({
    address: addressSetting,
    symbol: z.string().regex(/^[\x21-\x7e]{1,32}$/, "1 to 32 printable characters"),
    decimals: z.int().min(0).max(36),
  }),
);
const minimumsShape = z.array(
  z.strictObject({ asset: addressText, operation: feeOperation, minimum: amountText.transform(BigInt) }),
);

type AssetSetting = Extract<
  Setting,
  "CLOISTER_USDC" | "CLOISTER_USDC_SYMBOL" | "CLOISTER_USDC_DECIMALS" | "CLOISTER_ASSETS"
>;
type FeesSetting = Extract<
  Setting,
  "CLOISTER_FEE_SCHEDULE" | "CLOISTER_PRICES" | "CLOISTER_MINIMUMS" | "CLOISTER_SERVICE_FEE_ADDRESS"
>;
type LimitSetting = Extract<Setting, `CLOISTER_LIMIT_${string}`>;

/** USDC first; without a good address of its own it is left out, which is a fault. */
export function readAssets(
  read: Pick<ReaderOf<AssetSetting>, "address" | "text" | "integer" | "json" | "fault">,
): readonly Asset[] {
  const usdc = read.address("CLOISTER_USDC");
  const symbol = read.text("CLOISTER_USDC_SYMBOL");
  const decimals = read.integer("CLOISTER_USDC_DECIMALS", 0, 36);
  const further = read.json("CLOISTER_ASSETS", assetsShape) ?? [];
  const assets = [...(usdc === undefined ? [] : [{ address: usdc, symbol, decimals }]), ...further];
  const addresses = new Set(assets.map((asset) => asset.address));
  if (addresses.size !== assets.length) read.fault("CLOISTER_ASSETS", "names an asset twice");
  if (addresses.has(ZERO_ADDRESS)) read.fault("CLOISTER_ASSETS", "names the zero address");
  return assets;
}

export function readFees(
  read: Pick<ReaderOf<FeesSetting>, "json" | "fault" | "optional">,
  addresses: readonly Address[],
  addressPrefix: string,
) {
  const { json, fault } = read;
  const listed = (name: FeesSetting, text: string): Address | undefined => {
    const asset = asAddress(text);
    if (asset !== undefined && addresses.includes(asset)) return asset;
    fault(name, "names an asset that is not listed");
    return undefined;
  };
  const feeSchedule = readFeeSchedule({ json, listed, fault }, addresses);
  const prices = readPrices({ json, listed, fault }, feeSchedule);
  const minimums = (json("CLOISTER_MINIMUMS", minimumsShape) ?? []).flatMap((entry): Minimum[] => {
    const asset = listed("CLOISTER_MINIMUMS", entry.asset);
    return asset === undefined ? [] : [{ ...entry, asset }];
  });
  // Two rules for one thing would make it a matter of order which one a client must obey.
  for (const [name, rules] of [
    ["CLOISTER_FEE_SCHEDULE", feeSchedule],
    ["CLOISTER_MINIMUMS", minimums],
  ] as const) {
    const named = new Set(rules.map(({ asset, operation }) => `${asset} ${operation}`));
    if (named.size !== rules.length) fault(name, "has two entries for one asset and operation");
  }

  const text = read.optional("CLOISTER_SERVICE_FEE_ADDRESS");
  const sink = text === undefined ? undefined : decodeShieldedAddress(text, addressPrefix);
  if (text !== undefined && sink === undefined)
    fault("CLOISTER_SERVICE_FEE_ADDRESS", "is no shielded address of this network");
  if (text === undefined && feeSchedule.some((entry) => asksFlat(entry) || entry.bps > 0))
    fault("CLOISTER_SERVICE_FEE_ADDRESS", "is required when the schedule asks for a fee");
  return {
    /** Undefined when the service takes no fee. */
    serviceFee: text === undefined || sink === undefined ? undefined : Object.freeze({ text, sink }),
    feeSchedule,
    prices,
    minimums: Object.freeze(minimums),
  };
}

export function readLimits({ integer }: Pick<ReaderOf<LimitSetting>, "integer">) {
  return Object.freeze({
    sessionPerMinute: integer("CLOISTER_LIMIT_SESSION_PER_MINUTE", 1, 1_000_000),
    keyPerMinute: integer("CLOISTER_LIMIT_KEY_PER_MINUTE", 1, 1_000_000),
    keyPerDay: integer("CLOISTER_LIMIT_KEY_PER_DAY", 1, 10_000_000),
    streamsPerUser: integer("CLOISTER_LIMIT_STREAMS_PER_USER", 1, 10_000),
    streamsPerDeveloper: integer("CLOISTER_LIMIT_STREAMS_PER_DEVELOPER", 1, 100_000),
    /** Bad credentials from one address before it receives 429 instead of 401. */
    failuresPerMinute: integer("CLOISTER_LIMIT_FAILURES_PER_MINUTE", 1, 100_000),
    /** Tries of POST /session/exchange from one address. */
    exchangesPerMinute: integer("CLOISTER_LIMIT_EXCHANGES_PER_MINUTE", 1, 100_000),
    /** Proofs of one user that do not verify before the next ones are not looked at. */
    badProofsPerMinute: integer("CLOISTER_LIMIT_BAD_PROOFS_PER_MINUTE", 1, 100_000),
  });
}
