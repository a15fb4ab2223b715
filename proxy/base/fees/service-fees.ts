/**
 * What the service itself asks, now and until a moment ago. Terms in dollars follow prices. Before terms are
 * shown to anybody it is on disk until when they are enough, so no client is refused for a price that moved, a
 * setting that changed at a restart, or another proxy that knew the new price first.
 */
import { VALUE_LIMIT, type Address, type Field } from "../../../shared/protocol/brands.ts";
import type { FeeOperation } from "../../../shared/protocol/host/fees.ts";
import type { Asset } from "../instance-config.ts";
import type { FeeScheduleEntry } from "../fee-settings.ts";
import { unitsFor } from "../../../shared/protocol/host/dollars.ts";
import type { Prices } from "../prices/prices.ts";
import type { FeePromise, FeeRuleStore, FeeTerms } from "../store/fee-rules.ts";

/** Terms stay enough this long after they were shown. */
export const GRACE_MS = 10 * 60_000;
/** Promised beyond the grace, so that promises need not be renewed with every answer. */
const AHEAD_MS = 60_000;
const RENEW_BELOW_MS = GRACE_MS + AHEAD_MS / 2;

export const OPERATIONS: readonly FeeOperation[] = ["deposit", "transfer", "withdraw", "swap"];

/** In force now. `unpriced`: asked in dollars, and there never was a price. */
export type InForce = FeeTerms | undefined | "unpriced";

/** What both parties ask; undefined asks for nothing. */
export interface AskedTerms {
  readonly service: FeeTerms | undefined;
  readonly developer: FeeTerms | undefined;
}

export interface ServiceFeesParts {
  readonly assets: readonly Asset[];
  readonly serviceFee: { readonly text: string; readonly sink: { readonly owner: Field } } | undefined;
  readonly feeSchedule: readonly FeeScheduleEntry[];
  readonly prices: Pick<Prices, "priceOf">;
  readonly store: Pick<FeeRuleStore, "promised" | "promise">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Price {
  readonly terms: InForce;
  readonly goodUntil: number;
}

export function createServiceFees(parts: ServiceFeesParts) {
  const { assets, serviceFee, feeSchedule, prices, store, now } = parts;
  const keyOf = (asset: Address, operation: FeeOperation): string => `${asset} ${operation}`;
  const places = assets.flatMap((asset) => OPERATIONS.map((operation) => ({ asset, operation })));
  const lines = new Map<string, Price>(
    places.map(({ asset, operation }) => [
      keyOf(asset.address, operation),
      { terms: derive(asset, operation), goodUntil: 0 },
    ]),
  );

  function derive(asset: Asset, operation: FeeOperation): InForce {
    const entry = feeSchedule.find((one) => one.asset === asset.address && one.operation === operation);
    if (serviceFee === undefined || entry === undefined) return undefined;
    const flat = entry.usd === undefined ? entry.flat : inUnits(entry.usd, asset);
    if (flat === undefined) return "unpriced";
    return { flat, bps: entry.bps, sink: serviceFee.text, owner: serviceFee.sink.owner };
  }

  function inUnits(usd: bigint, { address, decimals }: Asset): bigint | undefined {
    const price = prices.priceOf(address);
    const units = price === undefined ? undefined : unitsFor(usd, price, decimals);
    // Nothing that a note cannot hold is ever asked: a price that small is no price.
    return units === undefined || units >= VALUE_LIMIT ? undefined : units;
  }

  const lineOf = (asset: Address, operation: FeeOperation): Price | undefined =>
    lines.get(keyOf(asset, operation));

  return {
    inForce: (asset: Address, operation: FeeOperation): InForce => lineOf(asset, operation)?.terms,
    /** Milliseconds since 1970: until then the terms in force are enough, whatever happens. */
    goodUntil: (asset: Address, operation: FeeOperation) => lineOf(asset, operation)?.goodUntil ?? 0,

    /** Those in force first, then what was promised and still stands. Not while `unpriced`. */
    async enough(asset: Address, operation: FeeOperation): Promise<readonly (FeeTerms | undefined)[]> {
      const terms = lineOf(asset, operation)?.terms;
      if (terms === "unpriced") return [undefined];
      const promised = await store.promised(asset, operation, now());
      return [terms, ...promised.map((kept) => kept.terms).filter((kept) => !isSame(kept, terms))];
    },

    /** Follows the prices; resolves when what is in force from now on is promised on disk. */
    async refresh(): Promise<void> {
      const at = now();
      const changed: FeePromise[] = [];
      for (const { asset, operation } of places) {
        const before = lineOf(asset.address, operation);
        const terms = derive(asset, operation);
        const isKept = before !== undefined && before.goodUntil - at > RENEW_BELOW_MS;
        if (terms === "unpriced" || (isKept && before.terms !== "unpriced" && isSame(before.terms, terms)))
          continue;
        changed.push({ asset: asset.address, operation, terms, goodUntil: at + GRACE_MS + AHEAD_MS });
      }
      if (changed.length === 0) return;
      await store.promise(changed, at);
      for (const { asset, operation, terms, goodUntil } of changed)
        lines.set(keyOf(asset, operation), { terms, goodUntil });
    },
  };
}

export function isSame(a: FeeTerms | undefined, b: FeeTerms | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.flat === b.flat && a.bps === b.bps && a.sink === b.sink;
}
