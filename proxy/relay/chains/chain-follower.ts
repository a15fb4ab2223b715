/**
 * Follows one EVM chain into its ledger. The node is believed only as far as its answers fit together: a block must name
 * its parent, a log its block. A fork is noticed by hashes; what stood on the branch that ended is taken back.
 */
import type { Logger } from "../../base/logging.ts";
import { mayHaveSaid } from "../../base/chain/bloom.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Chain, Header, LogRange, RawLog } from "../../base/chain/provider.ts";
import { MOST_HELD, seenByContracts } from "../../base/chain/seen-by-contracts.ts";
import { keysOf } from "./events.ts";
import { Holdings } from "./holdings.ts";
import type { WatchedContracts } from "./logs-seen.ts";
import type { Block, Entry, Ledger } from "./ledger.ts";
import { everythingSaid, saidOf, type LogQuestion } from "./log-questions.ts";
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

/** Blocks that were read in a range: what a node left out of that shows in no header that was looked at. */
interface Stretch {
  readonly addresses: readonly string[];
  readonly from: number;
  readonly to: number;
  /** It was asked for so often. */
  readonly times: number;
}

/** So near to the tip blocks are asked for by hash: a node that lags behind refuses that, and would leave out of a range what it has not. */
const NEAR_BLOCKS = 8;
/** Further behind than this, blocks are taken in ranges. */
const CAREFUL_BLOCKS = 64;
const RANGE_BLOCKS = 2_000;
/** A chain's clock and ours may differ by so much. */
const CLOCKS_SECS = 600;
const HEADERS_AT_ONCE = 16;
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
  readonly #stretches: Stretch[] = [];
  #lookedAgainAt = -Infinity;
  /** What contracts see as the block's number; undefined inside: the node does not tell. */
  #seen: { readonly number: number | undefined } | undefined;
  #rangeBlocks = RANGE_BLOCKS;
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
    const head = await this.#chain.chain.header("latest");
    if (head === undefined) throw new ChainUnreachable("the node has no newest block");
    if (this.ledger.tip() === undefined) await this.#take(head);
    const known = this.ledger.tip()?.hash;
    if (head.hash !== known && head.parentHash !== known) {
      await this.#leaveOrphans();
      if (this.ledger.tip() === undefined) await this.#take(head);
    }
    await this.#lookAgain();
    await this.#newcomers.welcome((fresh) => this.#lookBack(fresh));
    for (;;) {
      const tip = this.ledger.tip()!;
      if (tip.number >= head.number || this.passing.isStopped()) return;
      const careful = head.number - CAREFUL_BLOCKS;
      if (tip.number + 1 < careful) {
        const addresses = [...this.#watched.addresses(this.#chain.where)];
        await this.#inRanges(addresses, tip.number + 1, careful, (entries, last) =>
          this.ledger.append([last], entries),
        );
      } else if (!(await this.#takeNext(tip.hash, tip.number + 1, head))) return;
    }
  }

  async #leaveOrphans(): Promise<void> {
    // Mostly the tip is the newest block of ours that the chain still has.
    const tip = this.ledger.tip();
    if (tip === undefined || (await this.#isCanonical(tip))) return;
    const left = await this.ledger.leaveTip((block) => this.#isCanonical(block));
    this.#log.warn(left, "the chain was reorganised");
    if (left.to < 0) this.#newcomers.all();
  }

  async #isCanonical(block: { readonly number: number; readonly hash: string }): Promise<boolean> {
    return (await this.#chain.chain.header(block.number))?.hash === block.hash;
  }

  /** False when the block does not follow the tip: the next pass goes back first. */
  async #takeNext(tipHash: string, number: number, head: Header): Promise<boolean> {
    const header = number === head.number ? head : await this.#chain.chain.header(number);
    if (header?.parentHash !== tipHash) return false;
    await this.#take(header);
    return true;
  }

  async #take(header: Header): Promise<void> {
    const isWatching = this.#watched.size > 0;
    const logs = isWatching ? await this.#ask(this.#ofBlocks, { blockHash: header.hash }) : [];
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
    const left: Doubtful[] = [];
    for (const { block, times } of this.#doubtful) {
      if (this.ledger.blockAt(block.number)?.hash !== block.hash) continue;
      if (await this.#readAgain(block))
        this.#log.warn({ block: block.number }, "the node had left out what was said in a block");
      else if (times + 1 < MOST_TIMES_ASKED) left.push({ block, times: times + 1 });
    }
    this.#doubtful = left;
    for (const one of this.#stretches.splice(0, STRETCHES_AT_ONCE)) {
      const { addresses, from, times } = one;
      const to = Math.min(one.to, tip.number);
      if (from > to) continue;
      // Before it is asked for: a range that its node refuses is not asked for without end.
      if (times + 1 < STRETCH_TIMES) this.#stretches.push({ ...one, times: times + 1 });
      await this.#readRange(addresses, from, to, (entries, last) => {
        // Of another branch by now: the next pass leaves ours, and reads what takes its place.
        if ((this.ledger.blockAt(to)?.hash ?? last.hash) === last.hash) this.ledger.insert(entries);
      });
    }
    const { tokens } = this.#chain.contracts;
    const seen = await this.#holdings.ask(Math.floor(MOST_HELD / tokens.length), (keys) => {
      const accounts = keys.flatMap((account) => tokens.map((token) => ({ account, token })));
      return seenByContracts(this.#chain.chain, accounts, tip.hash as Header["hash"]);
    });
    this.#seen = { number: seen?.number ?? this.#seen?.number };
    if (seen !== undefined) this.#holdings.compare(seen.held, tip.number);
  }

  /** False when nothing was said in it. */
  async #readAgain(block: Block): Promise<boolean> {
    const logs = await this.#ask(this.#ofBlocks, { blockHash: block.hash as Header["hash"] });
    this.ledger.insert(this.#entriesOf(logs, new Map([[block.number, block]])));
    return logs.length > 0;
  }

  /** Of addresses that are new here: what blocks say of them which were taken without knowing them. */
  async #lookBack(fresh: readonly WatchedRequest[]): Promise<void> {
    const addresses = fresh.flatMap(({ keys }) => keys.filter((one) => one.where === this.#chain.where));
    const keys = [...new Set(addresses.map(({ key }) => key))];
    const tip = this.ledger.tip()!.number;
    const since = await this.#firstBlockOf(fresh, tip);
    const near = Math.max(since, tip - NEAR_BLOCKS + 1);
    await this.#inRanges(keys, since, near - 1, (entries) => this.ledger.insert(entries));
    for (let number = near; number <= tip; number++) {
      const block = this.ledger.blockAt(number) ?? (await this.#chain.chain.header(number));
      if (block === undefined) throw new ChainUnreachable("the node lost a block");
      await this.#readAgain(block);
    }
    this.#stretches.push({ addresses: keys, from: near, to: tip, times: 1 });
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
      const header = await this.#chain.chain.header(middle);
      if (header === undefined) throw new ChainUnreachable("the node lost a block");
      if (header.timestamp <= timestamp) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Nodes bound what they answer at once, each in its own way and words: a range that fails is halved. */
  async #inRanges(
    addresses: readonly string[],
    from: number,
    to: number,
    use: (entries: readonly Entry[], last: Header) => void,
  ): Promise<void> {
    for (let next = from; next <= to && !this.passing.isStopped();) {
      const last = Math.min(next + this.#rangeBlocks - 1, to);
      try {
        await this.#readRange(addresses, next, last, use);
        this.#stretches.push({ addresses, from: next, to: last, times: 1 });
        this.#rangeBlocks = Math.min(this.#rangeBlocks * 2, RANGE_BLOCKS);
        next = last + 1;
      } catch (error) {
        if (this.#rangeBlocks === 1) throw error;
        this.#rangeBlocks >>= 1;
        if (error instanceof ChainUnreachable) throw error;
      }
    }
  }

  async #readRange(
    addresses: readonly string[],
    fromBlock: number,
    toBlock: number,
    use: (entries: readonly Entry[], last: Header) => void,
  ): Promise<void> {
    const last = await this.#chain.chain.header(toBlock);
    if (last === undefined) throw new ChainUnreachable("the node lost a block");
    const logs = await this.#ask(saidOf(this.#chain.contracts, addresses), { fromBlock, toBlock });
    const headers = new Map([[toBlock, last]]);
    const numbers = new Set(this.#entriesOf(logs, undefined).map(({ block }) => block.number));
    numbers.delete(toBlock);
    const missing = [...numbers];
    while (missing.length > 0) {
      for (const header of await Promise.all(
        missing.splice(0, HEADERS_AT_ONCE).map((number) => this.#chain.chain.header(number)),
      )) {
        if (header === undefined) throw new ChainUnreachable("the node lost a block");
        headers.set(header.number, header);
      }
    }
    // Nothing may have moved while the range was read in several answers.
    if (!(await this.#isCanonical(last))) throw new ChainUnreachable("the chain moved while it was read");
    use(this.#entriesOf(logs, headers), last);
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
