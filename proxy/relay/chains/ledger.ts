/**
 * What one chain has said of our addresses, in memory: blocks by hash, events by key. An orphaned block takes its events
 * with it, so that at any time the ledger is what the chain's present branch says and nothing else.
 */
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import { keysOf, type BridgeEvent, type Key } from "./events.ts";

export interface Block {
  readonly number: number;
  readonly hash: string;
  /** Unix seconds. */
  readonly timestamp: number;
}

export interface Entry {
  readonly block: Block;
  readonly tx: string;
  readonly logIndex: number;
  /** Place among the events of one log. */
  readonly part: number;
  readonly event: BridgeEvent;
}

interface Kept {
  readonly block: Block;
  /** Keys that have entries in it. */
  readonly keys: Set<Key>;
}

/** Without events only the newest blocks are kept: a fork goes further back than that next to never. */
const KEPT_BLOCKS = 256;

export interface LedgerOptions {
  /** A block is final when so many blocks, itself counted, stand on it. */
  readonly confirmations: number;
  readonly isKept: (key: Key, event: BridgeEvent) => boolean;
  /** Keys of which something changed: an event came, went, or became final. */
  readonly onChange: (keys: ReadonlySet<Key>) => void;
}

export class Ledger {
  readonly #options: LedgerOptions;
  /** Rising by number. The last one is the tip. */
  readonly #blocks: Kept[] = [];
  readonly #byKey = new Map<Key, Entry[]>();
  /** What addresses hold of the chain's coin, which no event tells. */
  readonly #coins = new Map<Key, bigint>();
  #appends = 0;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  tip(): Block | undefined {
    return this.#blocks.at(-1)?.block;
  }

  /** The next blocks, with what they say. The caller has checked that they follow. */
  append(next: readonly Block[], entries: readonly Entry[]): void {
    const before = this.tip()?.number;
    const changed = new Set<Key>();
    for (const block of next) this.#keptAt(block);
    for (const entry of entries) this.#file(entry, changed);
    // What was not final yet is one block deeper now, or is final.
    const from = before === undefined ? 0 : this.#placeOf(this.#finalUpTo(before) + 1);
    for (const { keys } of this.#blocks.slice(from)) for (const key of keys) changed.add(key);
    this.#prune();
    this.#tell(changed);
  }

  /** What blocks at or below the tip say, of addresses that are new here or read again. Whether any of it was new. */
  insert(entries: readonly Entry[]): boolean {
    const changed = new Set<Key>();
    for (const entry of entries) this.#file(entry, changed);
    this.#tell(changed);
    return changed.size > 0;
  }

  /** Kept blocks, rising: to find where the chain left us. */
  blocks(): readonly Block[] {
    return this.#blocks.map(({ block }) => block);
  }

  /** When it is kept; the newest always are. */
  blockAt(number: number): Block | undefined {
    const block = this.#blocks[this.#placeOf(number)]?.block;
    return block?.number === number ? block : undefined;
  }

  /**
   * Goes back from a tip that the chain has left to the newest block of ours that it still has: whatever is above that, it
   * has not. `to` is its number; -1 where it has none of ours, and all are forgotten.
   */
  async leaveTip(
    isCanonical: (block: Block) => Promise<boolean>,
  ): Promise<{ readonly from: number | undefined; readonly to: number }> {
    const blocks = this.blocks();
    let [low, high] = [0, blocks.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (await isCanonical(blocks[middle]!)) low = middle + 1;
      else high = middle;
    }
    const to = blocks[low - 1]?.number ?? -1;
    this.rollbackTo(to);
    return { from: blocks.at(-1)?.number, to };
  }

  /** Forgets every block above; all of them below the first kept one. */
  rollbackTo(number: number): void {
    const changed = new Set<Key>();
    for (const { keys } of this.#blocks.splice(this.#placeOf(number + 1)))
      for (const key of keys) changed.add(key);
    for (const key of changed) {
      const left = (this.#byKey.get(key) ?? NONE).filter(({ block }) => block.number <= number);
      if (left.length === 0) this.#byKey.delete(key);
      else this.#byKey.set(key, left);
    }
    this.#tell(changed);
  }

  /** Of an address that is watched no more. */
  drop(key: Key): void {
    for (const { block } of this.#byKey.get(key) ?? [])
      this.#blocks[this.#placeOf(block.number)]?.keys.delete(key);
    this.#byKey.delete(key);
    this.#coins.delete(key);
  }

  holdsCoins(key: Key, amount: bigint): void {
    if (amount === this.coinsOf(key)) return;
    this.#coins.set(key, amount);
    this.#tell(new Set([key]));
  }

  coinsOf(key: Key): bigint {
    return this.#coins.get(key) ?? 0n;
  }

  /** In the chain's order. */
  entriesOf(key: Key): readonly Entry[] {
    return this.#byKey.get(key) ?? NONE;
  }

  /** Those that have entries. */
  keys(): IterableIterator<Key> {
    return this.#byKey.keys();
  }

  /** Of the newest block that is final; undefined before the first block. */
  finalHeight(): number | undefined {
    const newest = this.tip();
    return newest && Math.max(0, this.#finalUpTo(newest.number));
  }

  isFinal({ number }: Block): boolean {
    return number <= this.#finalUpTo(this.tip()?.number ?? 0);
  }

  confirmationsOf({ number }: Block): number {
    return (this.tip()?.number ?? number) - number + 1;
  }

  #finalUpTo(tipNumber: number): number {
    return tipNumber - this.#options.confirmations + 1;
  }

  /** Place of the first kept block at or above a height. */
  #placeOf(number: number): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#blocks[middle]!.block.number < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #keptAt(block: Block): Kept {
    const place = this.#placeOf(block.number);
    const there = this.#blocks[place];
    if (there?.block.number === block.number) {
      if (there.block.hash !== block.hash) throw new ChainUnreachable("the node mixes two branches");
      return there;
    }
    const kept = { block, keys: new Set<Key>() };
    this.#blocks.splice(place, 0, kept);
    return kept;
  }

  #file(entry: Entry, changed: Set<Key>): void {
    for (const key of keysOf(entry.event)) {
      if (!this.#options.isKept(key, entry.event)) continue;
      const kept = this.#keptAt(entry.block);
      const entries = this.#byKey.get(key);
      if (entries === undefined) this.#byKey.set(key, [entry]);
      else if (!insert(entries, entry)) continue;
      kept.keys.add(key);
      changed.add(key);
    }
  }

  #prune(): void {
    this.#appends += 1;
    if (this.#appends % KEPT_BLOCKS !== 0) return;
    const end = this.#placeOf((this.tip()?.number ?? 0) - KEPT_BLOCKS);
    const old = this.#blocks.splice(0, end).filter(({ keys }) => keys.size > 0);
    this.#blocks.unshift(...old);
  }

  #tell(changed: ReadonlySet<Key>): void {
    if (changed.size > 0) this.#options.onChange(changed);
  }
}

const NONE: readonly Entry[] = [];

/** False when it is there already. Mostly the new one is the last. */
function insert(entries: Entry[], entry: Entry): boolean {
  let place = entries.length;
  while (place > 0) {
    const order = compare(entries[place - 1]!, entry);
    if (order === 0) return false;
    if (order < 0) break;
    place -= 1;
  }
  entries.splice(place, 0, entry);
  return true;
}

export function compare(one: Entry, other: Entry): number {
  return one.block.number - other.block.number || one.logIndex - other.logIndex || one.part - other.part;
}
