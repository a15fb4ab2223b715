/**
 * What assets cost in dollars: fixed by the configuration or read from feeds. A feed that says nothing good
 * changes nothing: the last good price serves on, durably, with an alarm. Money never freezes because a price
 * is old.
 */
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Chain } from "../chain/provider.ts";
import type { Asset } from "../instance-config.ts";
import type { PriceSetting } from "../fee-settings.ts";
import type { Logger } from "../logging.ts";
import type { PriceStore } from "../store/prices.ts";
import { fixedPrice, isBetween, type Price } from "../../../shared/protocol/host/dollars.ts";
import { latestRound, type Round } from "./feed.ts";

const FAULTS = {
  UNANSWERED: "cannot be asked",
  NO_ROUND: "gives no price",
  STALE: "is stale",
  NOT_POSITIVE: "gives a price that is not positive",
  OUT_OF_BOUNDS: "gives a price out of bounds",
} as const;
type PriceFault = keyof typeof FAULTS;

export interface PricesParts {
  readonly prices: readonly PriceSetting[];
  readonly assets: readonly Asset[];
  readonly chain: Pick<Chain, "call" | "header">;
  readonly store: PriceStore;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const POLL_MS = 20_000;
/** An alarm is repeated this often while it lasts, so that whoever looks at a day's log sees it. */
const REMINDER_MS = 600_000;
/** A feed's clock is the chain's, and a block may be ahead of us. */
const AHEAD_SECS = 900;

type FeedSetting = Extract<PriceSetting, { feed: Address }>;
interface Standing {
  readonly fault: PriceFault;
  readonly reportedAt: number;
}

export class Prices {
  readonly #parts: PricesParts;
  readonly #good = new Map<Address, Price>();
  readonly #standings = new Map<Address, Standing>();
  readonly #feeds: readonly FeedSetting[];
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(parts: PricesParts) {
    this.#parts = parts;
    this.#feeds = parts.prices.filter((setting) => "feed" in setting);
    for (const setting of parts.prices)
      if ("fixed" in setting) this.#good.set(setting.asset, fixedPrice(setting.fixed));
  }

  /** The last good one; undefined when there never was one. */
  priceOf(asset: Address) {
    return this.#good.get(asset);
  }

  /** Asks every feed once; resolves when what was good is on disk. Never rejects. */
  async refresh(): Promise<void> {
    // Settled each by itself: one feed's fault is not another's.
    await Promise.allSettled(this.#feeds.map((setting) => this.#refreshOne(setting)));
  }

  /** One sentence for each feed that says nothing good now. For everybody's eyes. */
  warnings(): readonly string[] {
    return this.#feeds.flatMap(({ asset }) => {
      const fault = this.#standings.get(asset)?.fault;
      return fault === undefined
        ? []
        : [`the price feed of ${this.#symbolOf(asset)} ${this.#effectOf(fault, asset)}`];
    });
  }

  /** Asks on and on; `onRefresh` runs after each round of questions. */
  start(onRefresh: () => Promise<void>): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => {
      // A slow node must not have two rounds of questions under way.
      this.#running ??= this.refresh()
        .then(onRefresh)
        .catch((error: unknown) => this.#parts.logger.error({ err: error }, "fees were not renewed"))
        .finally(() => (this.#running = undefined));
    }, POLL_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#running;
  }

  #symbolOf(asset: Address): string {
    return this.#parts.assets.find(({ address }) => address === asset)?.symbol ?? asset;
  }

  async #refreshOne(setting: FeedSetting): Promise<void> {
    const { asset, feed } = setting;
    let fault: PriceFault | undefined;
    try {
      if (!this.#good.has(asset)) await this.#resume(setting);
      const latest = await latestRound(this.#parts.chain, feed);
      fault = latest === undefined ? "NO_ROUND" : faultOf(latest.round, setting, this.#nowSecs(latest.now));
      if (latest !== undefined && fault === undefined) {
        await this.#parts.store.keepPrice(asset, latest.round);
        this.#good.set(asset, latest.round);
      }
    } catch (error) {
      // The node, or our own disk. Neither is a reason to do without the price that there is.
      this.#parts.logger.debug({ err: error }, "a price feed was not read");
      fault = "UNANSWERED";
    }
    this.#report(asset, fault);
  }

  /** After a restart: the price of before, unless the bounds no longer allow it. */
  async #resume({ asset, least, most }: FeedSetting): Promise<void> {
    const kept = await this.#parts.store.price(asset);
    if (kept !== undefined && isBetween(kept, least, most)) this.#good.set(asset, kept);
  }

  /** The chain may be ahead of our clock, and ours may go on when the chain stands still. */
  #nowSecs(blockTime: number): number {
    return Math.max(Math.floor(this.#parts.now() / 1000), blockTime);
  }

  #report(asset: Address, fault: PriceFault | undefined): void {
    const before = this.#standings.get(asset);
    const symbol = this.#symbolOf(asset);
    if (fault === undefined) {
      if (before !== undefined) this.#parts.logger.info({ asset: symbol }, "the price feed is good again");
      this.#standings.delete(asset);
      return;
    }
    const isNew = before?.fault !== fault;
    if (!isNew && this.#parts.now() - before.reportedAt < REMINDER_MS) return;
    this.#parts.logger.error({ asset: symbol, fault }, `the price feed ${this.#effectOf(fault, asset)}`);
    this.#standings.set(asset, { fault, reportedAt: this.#parts.now() });
  }

  #effectOf(fault: PriceFault, asset: Address): string {
    return `${FAULTS[fault]}; ${this.#good.has(asset) ? "the last good price serves on" : "there is no price yet"}`;
  }
}

function faultOf(
  round: Round,
  { heartbeatSecs, least, most }: FeedSetting,
  seconds: number,
): PriceFault | undefined {
  if (round.answer <= 0n) return "NOT_POSITIVE";
  if (!isBetween(round, least, most)) return "OUT_OF_BOUNDS";
  // A round of the future would never become stale.
  if (round.updatedAt === 0 || round.updatedAt > seconds + AHEAD_SECS) return "NO_ROUND";
  return seconds - round.updatedAt > heartbeatSecs ? "STALE" : undefined;
}
