/**
 * What assets cost in dollars: fixed by the configuration or read from feeds. A feed that says nothing good
 * changes nothing: the last good price serves on, durably, with an alarm. Money never freezes because a price
 * is old.
 */
import type { Address } from "../../shared/protocol/brands.ts";
import type { Chain } from "../chain/provider.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../logging.ts";
import type { PriceStore, StoredPrice } from "../store/prices.ts";
import { fixedPrice, isBetween, type Dollars, type Price } from "../../shared/protocol/host/dollars.ts";
import { createFeed, type Feed, type Round } from "./feed.ts";

export type PriceSource =
  | { readonly asset: Address; readonly symbol: string; readonly fixed: Dollars }
  | {
      readonly asset: Address;
      readonly symbol: string;
      readonly feed: Feed;
      /** Older than this, an answer is stale. */
      readonly heartbeatSecs: number;
      /** A price outside is believed to be a fault of the feed. */
      readonly least: Dollars;
      readonly most: Dollars;
    };

export type PriceFault = "UNANSWERED" | "NO_ROUND" | "STALE" | "NOT_POSITIVE" | "OUT_OF_BOUNDS";

const FAULTS: Readonly<Record<PriceFault, string>> = {
  UNANSWERED: "cannot be asked",
  NO_ROUND: "gives no price",
  STALE: "is stale",
  NOT_POSITIVE: "gives a price that is not positive",
  OUT_OF_BOUNDS: "gives a price out of bounds",
};

export interface Prices {
  /** The last good one; undefined when there never was one. */
  priceOf(asset: Address): Price | undefined;
  /** Asks every feed once; resolves when what was good is on disk. Never rejects. */
  refresh(): Promise<void>;
  /** One sentence for each feed that says nothing good now. For everybody's eyes. */
  warnings(): readonly string[];
  /** Asks on and on; `onRefresh` runs after each round of questions. */
  start(onRefresh: () => Promise<void>): void;
  stop(): Promise<void>;
}

export interface PricesParts {
  readonly sources: readonly PriceSource[];
  readonly store: PriceStore;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly pollIntervalMs?: number;
}

const DEFAULT_POLL_MS = 20_000;
/** An alarm is repeated this often while it lasts, so that whoever looks at a day's log sees it. */
const REMINDER_MS = 600_000;
/** A feed's clock is the chain's, and a block may be ahead of us. */
const AHEAD_SECS = 900;

type FeedSource = Extract<PriceSource, { feed: Feed }>;
interface Standing {
  readonly fault: PriceFault;
  readonly reportedAt: number;
}

export function createPrices(parts: PricesParts): Prices {
  const { sources, store, logger, now, pollIntervalMs = DEFAULT_POLL_MS } = parts;
  const good = new Map<Address, Price>();
  const standings = new Map<Address, Standing>();
  const feeds = sources.filter((source) => "feed" in source);
  for (const source of sources) if ("fixed" in source) good.set(source.asset, fixedPrice(source.fixed));
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;

  async function refreshOne(source: FeedSource): Promise<void> {
    const { asset, feed } = source;
    let fault: PriceFault | undefined;
    try {
      if (!good.has(asset)) await resume(source);
      const latest = await feed.latest();
      fault = latest === undefined ? "NO_ROUND" : faultOf(latest.round, source, nowSecs(latest.now));
      if (latest !== undefined && fault === undefined) {
        await store.keepPrice(asset, latest.round);
        good.set(asset, latest.round);
      }
    } catch (error) {
      // The node, or our own disk. Neither is a reason to do without the price that there is.
      logger.debug({ err: error }, "a price feed was not read");
      fault = "UNANSWERED";
    }
    report(source, fault);
  }

  /** After a restart: the price of before, unless the bounds no longer allow it. */
  async function resume({ asset, least, most }: FeedSource): Promise<void> {
    const kept: StoredPrice | undefined = await store.price(asset);
    if (kept !== undefined && isBetween(kept, least, most)) good.set(asset, kept);
  }

  /** The chain may be ahead of our clock, and ours may go on when the chain stands still. */
  const nowSecs = (blockTime: number): number => Math.max(Math.floor(now() / 1000), blockTime);

  function report({ asset, symbol }: FeedSource, fault: PriceFault | undefined): void {
    const before = standings.get(asset);
    if (fault === undefined) {
      if (before !== undefined) logger.info({ asset: symbol }, "the price feed is good again");
      standings.delete(asset);
      return;
    }
    const isNew = before?.fault !== fault;
    if (!isNew && now() - before.reportedAt < REMINDER_MS) return;
    const effect = good.has(asset) ? "the last good price serves on" : "there is no price yet";
    logger.error({ asset: symbol, fault }, `the price feed ${FAULTS[fault]}; ${effect}`);
    standings.set(asset, { fault, reportedAt: now() });
  }

  async function refresh(): Promise<void> {
    // Settled each by itself: one feed's fault is not another's.
    await Promise.allSettled(feeds.map(refreshOne));
  }

  return {
    priceOf: (asset) => good.get(asset),
    refresh,
    warnings: () =>
      feeds.flatMap(({ asset, symbol }) => {
        const standing = standings.get(asset);
        if (standing === undefined) return [];
        const effect = good.has(asset) ? "the last good price serves on" : "there is no price yet";
        return [`the price feed of ${symbol} ${FAULTS[standing.fault]}; ${effect}`];
      }),
    start(onRefresh) {
      if (timer !== undefined) return;
      timer = setInterval(() => {
        // A slow node must not have two rounds of questions under way.
        running ??= refresh()
          .then(onRefresh)
          .catch((error: unknown) => logger.error({ err: error }, "fees were not renewed"))
          .finally(() => (running = undefined));
      }, pollIntervalMs);
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await running;
    },
  };
}

export function priceSources(
  { prices, assets }: Pick<Config, "prices" | "assets">,
  chain: Pick<Chain, "call" | "header">,
): PriceSource[] {
  return prices.map((setting) => {
    const symbol = assets.find(({ address }) => address === setting.asset)?.symbol ?? setting.asset;
    return "fixed" in setting
      ? { ...setting, symbol }
      : { ...setting, symbol, feed: createFeed(chain, setting.feed) };
  });
}

function faultOf(
  round: Round,
  { heartbeatSecs, least, most }: FeedSource,
  seconds: number,
): PriceFault | undefined {
  if (round.answer <= 0n) return "NOT_POSITIVE";
  if (!isBetween(round, least, most)) return "OUT_OF_BOUNDS";
  // A round of the future would never become stale.
  if (round.updatedAt === 0 || round.updatedAt > seconds + AHEAD_SECS) return "NO_ROUND";
  return seconds - round.updatedAt > heartbeatSecs ? "STALE" : undefined;
}
