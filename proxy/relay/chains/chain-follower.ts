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
import { keysOf, type Key } from "./events.ts";
import { Holdings } from "./holdings.ts";
import type { WatchedContracts } from "./logs-seen.ts";
import type { Block, Entry, Ledger } from "./ledger.ts";
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

/** A block that was shown empty so often, though by its header one of the contracts may have spoken. */
interface Doubtful {
  readonly block: Header;
  readonly times: number;
}

/** Blocks that were read for some addresses in a range: what a node left out of that shows in no header that was looked at. */
interface Stretch {
  readonly addresses: ReadonlySet<Key>;
  readonly from: number;
  readonly to: number;
  /** It was asked for so often. */
  readonly times: number;
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
/** By chance a header may also name a contract that said nothing. */
const MOST_TIMES_ASKED = 5;
/** Of a stretch, and so many of them in one look. */
const STRETCH_TIMES = 4;
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
  #doubtful: Doubtful[] = [];
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
    this.#following = new Follow(chain.chain, this.#fold(), () => this.passing.isStopped());
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
    await this.#lookAgain();
    await this.#newcomers.welcome((fresh) => this.#lookBack(fresh));
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
        const addresses = new Set(this.#watched.addresses(this.#chain.where));
        const { entries, last } = await this.#readRange(addresses, from, to);
        this.ledger.append([last], entries);
        this.#remember({ addresses, from, to, times: 1 });
      },
    };
  }

  async #saidIn(header: Header): Promise<Said> {
    const isWatching = this.#watched.size > 0;
    const logs = isWatching ? await this.#ask(this.#ofBlocks, { blockHash: header.hash }) : [];
    return { header, isWatching, logs };
  }

  #take({ header, isWatching, logs }: Said): void {
    this.ledger.append([header], this.#entriesOf(logs, new Map([[header.number, header]])));
    if (isWatching && logs.length === 0 && this.#mayHaveSpoken.some((may) => may(header)))
      this.#doubtful.push({ block: header, times: 1 });
  }

  /** For what a node has left out: blocks that may have said something, ranges, and what addresses hold as of the tip. */
  async #lookAgain(): Promise<void> {
    const tip = this.ledger.tip()!;
    const isEarly =
      tip.number >= this.#lookedAgainAt && tip.number < this.#lookedAgainAt + AGAIN_EVERY_BLOCKS;
    if (isEarly || this.#watched.size === 0) return;
    this.#lookedAgainAt = tip.number;
    await this.#askDoubtful();
    await this.#askStretches(tip.number);
    const { tokens } = this.#chain.contracts;
    const seen = await this.#holdings.ask(Math.floor(MOST_HELD / tokens.length), (keys) => {
      const accounts = keys.flatMap((account) => tokens.map((token) => ({ account, token })));
      return seenByContracts(this.#chain.chain, accounts, tip.hash as Header["hash"]);
    });
    this.#seen = { number: seen?.number ?? this.#seen?.number };
    if (seen !== undefined) this.#holdings.compare(seen.held, tip.number);
  }

  async #askDoubtful(): Promise<void> {
    const doubtful = this.#doubtful.filter(
      ({ block }) => this.ledger.blockAt(block.number)?.hash === block.hash,
    );
    const counts = await this.#readAgain(doubtful.map(({ block }) => block));
    const found = doubtful.flatMap(({ block }, i) => (counts[i]! > 0 ? [block.number] : []));
    if (found.length > 0)
      this.#log.warn({ blocks: found }, "the node had left out what was said in these blocks");
    this.#doubtful = doubtful.flatMap(({ block, times }, i) =>
      counts[i] === 0 && times + 1 < MOST_TIMES_ASKED ? [{ block, times: times + 1 }] : [],
    );
  }

  /** How many logs each has. */
  async #readAgain(blocks: readonly Block[]): Promise<number[]> {
    const asked = sideBySide(blocks.length, BLOCKS_AT_ONCE, (place) =>
      this.#ask(this.#ofBlocks, { blockHash: blocks[place]!.hash as Header["hash"] }),
    );
    const counts: number[] = [];
    for await (const logs of asked) {
      const block = blocks[counts.length]!;
      this.ledger.insert(this.#entriesOf(logs, new Map([[block.number, block]])));
      counts.push(logs.length);
    }
    return counts;
  }

  async #askStretches(tip: number): Promise<void> {
    const pieces: Stretch[] = [];
    for (const one of this.#stretches.splice(0, STRETCHES_AT_ONCE)) {
      const to = Math.min(one.to, one.from + this.#following.rangeBlocks - 1);
      pieces.push({ ...one, to });
      // Before it is asked for: a range that its node refuses is not asked for without end.
      if (one.times + 1 < STRETCH_TIMES) this.#remember({ ...one, to, times: one.times + 1 });
      if (to < one.to) this.#remember({ ...one, from: to + 1 });
    }
    // What is above the tip was reorganised out, and is read when blocks of another branch take its place.
    const known = pieces.filter(({ from }) => from <= tip);
    const asked = sideBySide(known.length, known.length, (place) => {
      const { addresses, from, to } = known[place]!;
      return this.#readRange(addresses, from, Math.min(to, tip));
    });
    for await (const { entries, last } of asked) {
      // Of another branch by now: the next pass leaves ours, and reads what takes its place.
      if ((this.ledger.blockAt(last.number)?.hash ?? last.hash) === last.hash) this.ledger.insert(entries);
    }
  }

  /**
   * Those that overlap or touch become one: with new addresses in every block, as a developer can make them, the list must
   * not grow.
   */
  #remember(added: Stretch): void {
    const isNear = (one: Stretch): boolean =>
      one.times === added.times && one.from <= added.to + 1 && added.from <= one.to + 1;
    const near = [added, ...this.#stretches.filter(isNear)];
    this.#stretches = this.#stretches.filter((one) => !isNear(one));
    this.#stretches.push({
      addresses: listed(near.map(({ addresses }) => addresses)),
      from: Math.min(...near.map(({ from }) => from)),
      to: Math.max(...near.map(({ to }) => to)),
      times: added.times,
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
      this.#remember({ addresses: keys, from, to, times: 1 });
    });
    const blocks: Block[] = [];
    const asked = sideBySide(
      tip - near + 1,
      BLOCKS_AT_ONCE,
      async (place) => this.ledger.blockAt(near + place) ?? (await this.#following.header(near + place)),
    );
    for await (const block of asked) blocks.push(block);
    await this.#readAgain(blocks);
    this.#remember({ addresses: keys, from: near, to: tip, times: 1 });
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
