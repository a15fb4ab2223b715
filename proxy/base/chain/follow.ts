/**
 * How a chain is followed: far behind its newest block in ranges, near it block by block with their parents checked. The node
 * is believed only as far as its answers fit together. A branch that ended is noticed by hashes, since not every node
 * announces it.
 */
import { ChainUnreachable } from "./json-rpc.ts";
import { Pace, QUICK_MS } from "./pace.ts";
import type { Chain, Header, RawLog } from "./provider.ts";
import { sideBySide } from "./side-by-side.ts";

/** This near to the newest block, blocks are taken one by one; below it in ranges. */
const CAREFUL_BLOCKS = 64;
/** Of those, so many are asked for at a time; headers of a range twice as many. */
export const BLOCKS_AT_ONCE = 8;
const HEADERS_AT_ONCE = 16;
const RANGE_BLOCKS = 2_000;
const QUICK_POLL_MS = 10;

/** What is made of a chain. `Said`: all that is asked about one block. */
export interface Fold<Said extends { readonly header: Header }> {
  tip(): { readonly number: number; readonly hash: string } | undefined;
  /** Without a tip it begins here. */
  start(newest: Header): number;
  /** Goes back to the newest block of its own that the chain still has. */
  leaveOrphans(): Promise<void>;
  ask(header: Header): Promise<Said>;
  take(said: Said): Promise<void> | void;
  takeRange(from: number, to: number): Promise<void>;
}

/** The newest block, and on a quick chain those between it and one that was known. */
interface Look {
  readonly newest: Header;
  readonly between: readonly Header[];
}

export interface FollowOptions {
  readonly isStopped: () => boolean;
  readonly pollIntervalMs: number;
  /** On a quick chain it looks at once again and asks ahead, which are some 25 questions a second where a block takes 250 ms. */
  readonly keepsUp: boolean;
  /** Milliseconds, of any clock that only goes on. */
  readonly now?: () => number;
}

export class Follow<Said extends { readonly header: Header }> {
  readonly #chain: Pick<Chain, "header">;
  readonly #fold: Fold<Said>;
  readonly #isStopped: () => boolean;
  readonly #pollIntervalMs: number;
  readonly #keepsUp: boolean;
  readonly #now: () => number;
  readonly #pace: Pace;
  #between: Look["between"] = [];
  /** On a quick chain: asked for beside what the last blocks say. */
  #ahead: { readonly beganAt: number; readonly look: Promise<Look> } | undefined;
  /** Blocks of a range: nodes bound what they answer at once, each in its own way and words. */
  rangeBlocks = RANGE_BLOCKS;

  constructor(chain: Pick<Chain, "header">, fold: Fold<Said>, options: FollowOptions) {
    const { isStopped, pollIntervalMs, keepsUp, now = () => performance.now() } = options;
    this.#chain = chain;
    this.#fold = fold;
    this.#isStopped = isStopped;
    this.#pollIntervalMs = pollIntervalMs;
    this.#keepsUp = keepsUp;
    this.#now = now;
    this.#pace = new Pace(now);
  }

  /** Milliseconds until the next pass: on a quick chain next to none. */
  waitMs(): number {
    return this.#isQuickNow() ? Math.min(QUICK_POLL_MS, this.#pollIntervalMs) : this.#pollIntervalMs;
  }

  /**
   * The newest block. What the chain has left by then is left here, too; blocks that an older answer had are taken meanwhile.
   *
   * @param since an answer to what was asked before is too old; by the clock of `now`
   */
  async newest(since = Infinity): Promise<Header> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const isOld = ahead === undefined || ahead.beganAt < this.#now() - QUICK_MS;
    if (!isOld && ahead.beganAt >= since) return this.#found(await ahead.look);
    const look = this.#look(this.#fold.tip()?.number ?? 0);
    // Too old for whoever waits, and new to us: it is taken while the next one is asked for.
    if (!isOld) {
      look.catch(() => undefined);
      await this.#take(await this.#found(await ahead.look));
    }
    return this.#found(await look);
  }

  async #found({ newest, between }: Look): Promise<Header> {
    this.#between = between;
    const tip = this.#fold.tip();
    if (tip === undefined) return newest;
    this.#pace.found(newest.number - tip.number);
    // Most passes find the block that they have or one after it, and need ask no more about ours.
    const follows = [...between.filter(({ number }) => number === tip.number + 1), newest].some(
      ({ hash, parentHash }) => hash === tip.hash || parentHash === tip.hash,
    );
    if (!follows && !(await this.has(tip))) await this.#fold.leaveOrphans();
    return newest;
  }

  /** Where each answer that is waited for is a block, blocks are asked for before it is known that they are there. */
  async #look(known: number): Promise<Look> {
    const numbers = this.#isQuickNow() ? [known + 1, known + 2] : [];
    const [newest, ...between] = await Promise.all([
      this.#chain.header("latest"),
      ...numbers.map((number) => this.#chain.header(number).catch(() => undefined)),
    ]);
    if (newest === undefined) throw new ChainUnreachable("the node has no newest block");
    return { newest, between: between.filter((header) => header !== undefined) };
  }

  #isQuickNow(): boolean {
    return this.#keepsUp && this.#pace.isQuick();
  }

  /** Whether the chain still has this block. */
  async has(block: { readonly number: number; readonly hash: string }): Promise<boolean> {
    return (await this.#chain.header(block.number))?.hash === block.hash;
  }

  /** False when a block did not follow the tip, or it was stopped: the next pass goes back first. */
  async to(newest: Header): Promise<boolean> {
    if (this.#isQuickNow() && newest.number > (this.#fold.tip()?.number ?? 0)) {
      const look = this.#look(newest.number);
      look.catch(() => undefined);
      this.#ahead = { beganAt: this.#now(), look };
    }
    return this.#take(newest);
  }

  async #take(newest: Header): Promise<boolean> {
    for (;;) {
      const tip = this.#fold.tip();
      const next = tip === undefined ? this.#fold.start(newest) : tip.number + 1;
      if (next > newest.number) return true;
      const careful = newest.number - CAREFUL_BLOCKS;
      if (next < careful) await this.ranges(next, careful, (from, to) => this.#fold.takeRange(from, to));
      else if (!(await this.#takeBlocks(next, newest))) return false;
      if (this.#isStopped()) return false;
    }
  }

  async #takeBlocks(next: number, newest: Header): Promise<boolean> {
    const asked = sideBySide(newest.number - next + 1, BLOCKS_AT_ONCE, async (place) => {
      const number = next + place;
      const known = [newest, ...this.#between].find((header) => header.number === number);
      const header = known ?? (await this.#chain.header(number));
      return header && (await this.#fold.ask(header));
    });
    for await (const said of asked) {
      if (said === undefined || this.#isStopped()) return false;
      const tip = this.#fold.tip();
      if (tip?.number === said.header.number - 1 && said.header.parentHash !== tip.hash) return false;
      await this.#fold.take(said);
    }
    return true;
  }

  /** A range that is refused is halved. */
  async ranges(from: number, to: number, take: (from: number, to: number) => Promise<void>): Promise<void> {
    for (let next = from; next <= to && !this.#isStopped();) {
      const last = Math.min(next + this.rangeBlocks - 1, to);
      try {
        await take(next, last);
        this.rangeBlocks = Math.min(this.rangeBlocks * 2, RANGE_BLOCKS);
        next = last + 1;
      } catch (error) {
        if (this.rangeBlocks === 1) throw error;
        this.rangeBlocks >>= 1;
        if (error instanceof ChainUnreachable) throw error;
      }
    }
  }

  async header(number: number): Promise<Header> {
    const header = await this.#chain.header(number);
    if (header === undefined) throw new ChainUnreachable("the node lost a block");
    return header;
  }

  /**
   * The logs of a range, with the headers of the last block and of those that `blocksOf` names, rising. Throws
   * ChainUnreachable where the chain moved while it was read in several answers.
   */
  async readRange(
    from: number,
    to: number,
    ask: (last: Header) => Promise<readonly RawLog[]>,
    blocksOf: (logs: readonly RawLog[]) => readonly number[],
  ): Promise<{ readonly logs: readonly RawLog[]; readonly headers: readonly Header[] }> {
    const last = await this.header(to);
    const logs = await ask(last);
    if (logs.some(({ blockNumber }) => blockNumber < from || blockNumber > to))
      throw new ChainUnreachable("a log is of a block that was not asked for");
    const numbers = [...new Set(blocksOf(logs))].filter((number) => number !== to).sort((a, b) => a - b);
    const headers: Header[] = [];
    const asked = sideBySide(numbers.length, HEADERS_AT_ONCE, (place) => this.header(numbers[place]!));
    for await (const header of asked) headers.push(header);
    if (!(await this.has(last))) throw new ChainUnreachable("the chain moved while it was read");
    return { logs, headers: [...headers, last] };
  }
}
