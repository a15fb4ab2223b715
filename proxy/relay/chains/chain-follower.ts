/**
 * Follows one EVM chain into its ledger. The node is believed only as far as its answers fit together: a block must name
 * its parent, a log its block. A fork is noticed by hashes; what stood on the branch that ended is taken back.
 */
import type { Logger } from "../../base/logging.ts";
import { mayHaveSaid } from "../../base/chain/bloom.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Chain, Header, LogRange, RawLog } from "../../base/chain/provider.ts";
import { sideBySide } from "../../base/chain/side-by-side.ts";
import { MOST_HELD, seenByContracts } from "../../base/chain/seen-by-contracts.ts";
import { COIN, keysOf, type Key } from "./events.ts";
import { Holdings } from "./holdings.ts";
import type { WatchedContracts } from "./logs-seen.ts";
import type { Entry, Ledger } from "./ledger.ts";
import { everythingSaid, listed, saidOf, type LogQuestion } from "./log-questions.ts";
import { BLOCKS_AT_ONCE, Follow, type Fold } from "../../base/chain/follow.ts";
import { createPassing } from "../../base/chain/passing.ts";
import { createReader } from "./reader.ts";
import type { Watched, WatchedRequest, Where, Newcomers } from "./watched.ts";

export interface FollowedChain {
  /** As the settings call it. */
  readonly name: string;
  readonly where: Where;
  readonly contracts: WatchedContracts;
  readonly chain: Chain;
  readonly pollIntervalMs: number;
}

/** Blocks of which a node may have left something out that shows nowhere else: they are read again, ever less often. */
interface Stretch {
  /** Undefined: all that are watched when it is read. */
  readonly addresses?: ReadonlySet<Key>;
  readonly from: number;
  readonly to: number;
  /** The tip when it was read last; of what became one, the oldest. */
  readonly readAt: number;
  /** So many blocks later it is read again; then after twice as many. */
  readonly pause: number;
}

/** What a block was asked for; without logs while nobody is watched. */
interface Said {
  readonly header: Header;
  readonly isWatching: boolean;
  readonly logs: readonly RawLog[];
}

interface Read {
  readonly entries: readonly Entry[];
  /** The last block of the range. */
  readonly last: Header;
}

/** So near to the tip blocks are asked for by hash: a node that lags behind refuses that, and would leave out of a range what it has not. */
const NEAR_BLOCKS = 8;
/** A chain's clock and ours may differ by so much. */
const CLOCKS_SECS = 600;
/** What a node may have left out is looked for so often: with every block it would be half as many questions more while nothing happens. */
const AGAIN_EVERY_BLOCKS = 2;
/** A replica that lags leaves the same out for a while, not so many times: on blocks of a quarter second this is a minute or two. */
const LONGEST_PAUSE = 256;
/** In one look. */
const STRETCHES_AT_ONCE = 4;

export class ChainFollower {
  readonly name: string;
  readonly #chain: FollowedChain;
  readonly #watched: Watched;
  readonly ledger: Ledger;
  readonly #log: Logger;
  readonly #newcomers: Newcomers;
  readonly #ofBlocks: readonly LogQuestion[];
  readonly #mayHaveSpoken: readonly ReturnType<typeof mayHaveSaid>[];
  readonly #holdings: Holdings;
  #stretches: Stretch[] = [];
  #lookedAgainAt = -Infinity;
  /** What contracts see as the block's number; undefined inside: the node does not tell. */
  #seen: { readonly number: number | undefined } | undefined;
  readonly #following: Follow<Said>;
  #isRightChain = false;
  readonly passing: ReturnType<typeof createPassing>;

  constructor(chain: FollowedChain, watched: Watched, ledger: Ledger, logger: Logger) {
    this.name = chain.name;
    this.#chain = chain;
    this.#watched = watched;
    this.ledger = ledger;
    this.#log = logger.child({ chain: chain.name });
    this.#newcomers = watched.newcomers();
    this.#ofBlocks = everythingSaid(chain.contracts);
    this.#mayHaveSpoken = this.#ofBlocks.flatMap(({ address }) => address.map(mayHaveSaid));
    this.#holdings = new Holdings({
      ...{ watched, ledger, where: chain.where, newcomers: this.#newcomers, logger: this.#log },
    });
    this.#following = new Follow(chain.chain, this.#fold(), {
      isStopped: () => this.passing.isStopped(),
      pollIntervalMs: chain.pollIntervalMs,
      // Nobody waits for a deposit by the block.
      keepsUp: false,
    });
    this.passing = createPassing(
      () => this.#pass(),
      chain.pollIntervalMs,
      (error) => {
        this.#isRightChain = false;
        if (error instanceof ChainUnreachable)
          this.#log.warn({ reason: error.message }, "watching waits for the chain");
        else this.#log.error({ err: error }, "watching failed");
      },
    );
  }

  /** Something of this request is not looked up yet. */
  isWaiting(bridgeId: string): boolean {
    return this.#newcomers.isWaiting(bridgeId);
  }

  /**
   * Number of the newest block as contracts of the chain see it; the node's own where it does not tell. Undefined before it
   * was asked.
   */
  contractBlock(): number | undefined {
    return this.#seen && (this.#seen.number ?? this.ledger.tip()?.number);
  }

  async #pass(): Promise<void> {
    if (!this.#isRightChain && !(await this.#chain.chain.isConfiguredChain()))
      throw new ChainUnreachable("another chain");
    this.#isRightChain = true;
    const newest = await this.#following.newest();
    if (this.ledger.tip() === undefined) this.#take(await this.#saidIn(newest));
    const looksAgain = this.#isTimeToLookAgain();
    if (looksAgain) await this.#compareHoldings();
    await this.#newcomers.welcome((fresh) => this.#lookBack(fresh));
    if (looksAgain) await this.#readStretches();
    await this.#following.to(newest);
  }

  #fold(): Fold<Said> {
    return {
      tip: () => this.ledger.tip(),
      start: ({ number }) => number,
      leaveOrphans: async () => {
        const left = await this.ledger.leaveTip((block) => this.#following.has(block));
        this.#log.warn(left, "the chain was reorganised");
        if (left.to < 0) this.#newcomers.all();
      },
      ask: (header) => this.#saidIn(header),
      take: (said) => this.#take(said),
      takeRange: async (from, to) => {
        const { entries, last } = await this.#readRange(this.#addresses(), from, to);
        this.ledger.append([last], entries);
        this.#remember({ from, to });
      },
    };
  }

  #addresses(): ReadonlySet<Key> {
    return this.#watched.addresses(this.#chain.where);
  }

  async #saidIn(header: Header): Promise<Said> {
    const isWatching = this.#watched.size > 0;
    const logs = isWatching ? await this.#ask(this.#ofBlocks, { blockHash: header.hash }) : [];
    return { header, isWatching, logs };
  }

  #take({ header, isWatching, logs }: Said): void {
    this.ledger.append([header], this.#entriesOf(logs, new Map([[header.number, header]])));
    if (isWatching && logs.length === 0 && this.#mayHaveSpoken.some((may) => may(header)))
      this.#remember({ from: header.number, to: header.number });
  }

  #isTimeToLookAgain(): boolean {
    const { number } = this.ledger.tip()!;
    const isEarly = number >= this.#lookedAgainAt && number < this.#lookedAgainAt + AGAIN_EVERY_BLOCKS;
    if (isEarly || this.#watched.size === 0) return false;
    this.#lookedAgainAt = number;
    return true;
  }

  async #compareHoldings(): Promise<void> {
    const tip = this.ledger.tip()!;
    const tokens = [...this.#chain.contracts.tokens, COIN];
    const seen = await this.#holdings.ask(Math.floor(MOST_HELD / tokens.length), (keys) => {
      const accounts = keys.flatMap((account) => tokens.map((token) => ({ account, token })));
      return seenByContracts(this.#chain.chain, accounts, tip.hash as Header["hash"]);
    });
    this.#seen = { number: seen?.number ?? this.#seen?.number };
    const isCoin = ({ token }: { readonly token: string }): boolean => token === COIN;
    // One that was closed meanwhile is forgotten already.
    for (const { account, amount } of seen?.held.filter(isCoin) ?? [])
      if (this.#addresses().has(account)) this.ledger.holdsCoins(account, amount);
    const held = seen?.held.filter((one) => !isCoin(one)) ?? [];
    if (seen !== undefined) this.#holdings.compare(held, tip.number);
  }

  async #readStretches(): Promise<void> {
    const tip = this.ledger.tip()!.number;
    const due = this.#stretches
      .filter(({ readAt, pause }) => tip >= readAt + pause || tip < readAt)
      .slice(0, STRETCHES_AT_ONCE);
    this.#stretches = this.#stretches.filter((one) => !due.includes(one));
    const pieces = due.map((one) => {
      const to = Math.min(one.to, one.from + this.#following.rangeBlocks - 1);
      const pause = one.pause * 2;
      // Before it is read: a range that its node refuses is not asked for without end.
      if (pause <= LONGEST_PAUSE) this.#remember({ ...one, to }, pause);
      if (to < one.to) this.#stretches.push({ ...one, from: to + 1 });
      return { ...one, to };
    });
    // What is above the tip was reorganised out, and is read when blocks of another branch take its place.
    const known = pieces.filter(({ from }) => from <= tip);
    const read = sideBySide(known.length, known.length, (place) => {
      const { addresses = this.#addresses(), from, to } = known[place]!;
      return this.#readRange(addresses, from, Math.min(to, tip));
    });
    for await (const { entries, last } of read) {
      // Of another branch by now: the next pass leaves ours, and reads what takes its place.
      if ((this.ledger.blockAt(last.number)?.hash ?? last.hash) !== last.hash) continue;
      if (this.ledger.insert(entries))
        this.#log.warn({ upTo: last.number }, "the node had left out what was said in some blocks");
    }
  }

  /**
   * Those that are near each other become one: with new addresses in every block, as a developer can make them, the list
   * must not grow.
   */
  #remember(read: Pick<Stretch, "addresses" | "from" | "to">, pause = AGAIN_EVERY_BLOCKS): void {
    const isNear = (one: Stretch): boolean =>
      one.pause === pause && one.from <= read.to + pause && read.from <= one.to + pause;
    const near = this.#stretches.filter(isNear);
    const sets = [read, ...near].map(({ addresses }) => addresses);
    const named = sets.filter((addresses) => addresses !== undefined);
    this.#stretches = this.#stretches.filter((one) => !isNear(one));
    this.#stretches.push({
      ...(named.length === sets.length && { addresses: listed(named) }),
      from: Math.min(read.from, ...near.map(({ from }) => from)),
      to: Math.max(read.to, ...near.map(({ to }) => to)),
      readAt: Math.min(this.ledger.tip()!.number, ...near.map(({ readAt }) => readAt)),
      pause,
    });
  }

  /** Of addresses that are new here: what blocks say of them which were taken without knowing them. */
  async #lookBack(fresh: readonly WatchedRequest[]): Promise<void> {
    const addresses = fresh.flatMap(({ keys }) => keys.filter((one) => one.where === this.#chain.where));
    const keys = new Set(addresses.map(({ key }) => key));
    const tip = this.ledger.tip()!.number;
    const since = await this.#firstBlockOf(fresh, tip);
    const near = Math.max(since, tip - NEAR_BLOCKS + 1);
    await this.#following.ranges(since, near - 1, async (from, to) => {
      this.ledger.insert((await this.#readRange(keys, from, to)).entries);
      this.#remember({ addresses: keys, from, to });
    });
    const asked = sideBySide(tip - near + 1, BLOCKS_AT_ONCE, async (place) => {
      const block = this.ledger.blockAt(near + place) ?? (await this.#following.header(near + place));
      return { block, logs: await this.#ask(this.#ofBlocks, { blockHash: block.hash as Header["hash"] }) };
    });
    for await (const { block, logs } of asked)
      this.ledger.insert(this.#entriesOf(logs, new Map([[block.number, block]])));
    this.#remember({ addresses: keys, from: near, to: tip });
  }

  async #firstBlockOf(fresh: readonly WatchedRequest[], tip: number): Promise<number> {
    let first = Infinity;
    let madeAt = Infinity;
    for (const request of fresh) {
      const since = request.since[this.name];
      if (since === undefined) madeAt = Math.min(madeAt, request.madeAt);
      else first = Math.min(first, since);
    }
    return madeAt === Infinity ? first : Math.min(first, await this.#blockBefore(madeAt - CLOCKS_SECS, tip));
  }

  /** The newest block that is not younger. */
  async #blockBefore(timestamp: number, tip: number): Promise<number> {
    let [low, high] = [0, tip];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const header = await this.#following.header(middle);
      if (header.timestamp <= timestamp) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  async #readRange(addresses: ReadonlySet<Key>, fromBlock: number, toBlock: number): Promise<Read> {
    const questions = saidOf(this.#chain.contracts, addresses);
    const { logs, headers } = await this.#following.readRange(
      fromBlock,
      toBlock,
      () => this.#ask(questions, { fromBlock, toBlock }),
      (found) => this.#entriesOf(found, undefined).map(({ block }) => block.number),
    );
    const byNumber = new Map(headers.map((header) => [header.number, header]));
    return { entries: this.#entriesOf(logs, byNumber), last: headers.at(-1)! };
  }

  async #ask(questions: readonly LogQuestion[], range: LogRange): Promise<RawLog[]> {
    const found = new Map<string, RawLog>();
    for (const { address, topics } of questions)
      for (const one of await this.#chain.chain.logs(address, range, topics))
        found.set(`${String(one.blockNumber)} ${String(one.logIndex)}`, one);
    return [...found.values()].sort(
      (one, other) => one.blockNumber - other.blockNumber || one.logIndex - other.logIndex,
    );
  }

  /** Those that concern somebody, of blocks with these headers. Without headers only to learn which are needed. */
  #entriesOf(
    logs: readonly RawLog[],
    headers:
      | ReadonlyMap<number, { readonly number: number; readonly hash: string; readonly timestamp: number }>
      | undefined,
  ): Entry[] {
    const read = createReader(this.#chain.contracts);
    return logs.flatMap((one) => {
      const { blockNumber: number, blockHash: hash, txHash: tx, logIndex } = one;
      const events = read(one).filter((event) =>
        keysOf(event).some((key) => this.#watched.keeps(this.#chain.where, key, event)),
      );
      const block = headers === undefined ? { number, hash, timestamp: 0 } : headers.get(number);
      if (block?.hash !== hash && (events.length > 0 || block !== undefined))
        throw new ChainUnreachable("a log is of another block");
      return block === undefined ? [] : events.map((event, part) => ({ block, tx, logIndex, part, event }));
    });
  }
}
