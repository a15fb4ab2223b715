/**
 * The chain's log as bytes for streams. The newest events stand in a bounded ring, encoded once for all
 * readers; only a reader that is behind it makes us ask the store, and readers that are equally far behind
 * share what that gave. Positions, not counts, say where a reader is, so a reorganisation cannot confuse two
 * events of one place.
 */
import type { EventKind } from "../../../shared/api/data.ts";
import type { ChainDataStore, LoggedEvent, Position } from "../../base/store/chain-data.ts";
import { frameOfLogged } from "./frames.ts";
import { comparePositions, endOfBlock, START } from "./position.ts";

/** A part of the log, after some position. */
export interface Piece {
  readonly bytes: Buffer;
  /** Where a reader stands that has had it. */
  readonly last: Position;
}

/** An event has 200 to 700 bytes: 4 MiB at most for the ring, some 6 MiB for the pages. */
const LOG_LIMITS = {
  ringEvents: 8_192,
  ringBytes: 4 << 20,
  /** Events read from the store at once for a reader that is behind. */
  pageEvents: 128,
  pages: 64,
};
export type LogLimits = Readonly<typeof LOG_LIMITS>;

/** What one reader gets in a turn; it is also what a stalled one costs. */
const PIECE_BYTES = 32_768;
/** New events taken into the ring at once: more would hold up everything else, and a page does it in turns. */
const MOST_NEW = 512;
const NONE = Buffer.alloc(0);
const KINDS = ["leaf", "nullifier", "root", "voided", "revoked", "executed", "rejected"] as const;

interface Entry {
  readonly position: Position;
  readonly kind: EventKind;
  readonly bytes: Buffer;
}

interface Page {
  readonly entries: readonly Entry[];
  readonly whole: Piece;
  /** No event can still be added to it. */
  readonly isFull: boolean;
}

export class StreamLog {
  readonly #data: Pick<ChainDataStore, "eventsAfter" | "lastEventUpTo">;
  readonly #limits: LogLimits;
  /** Oldest first; the part before `#head` is dropped. */
  #ring: Entry[] = [];
  #head = 0;
  #ringBytes = 0;
  /** Every shown event after this one is in the ring. */
  #floor: Position;
  /** Of the newest event that was looked at, shown or not. */
  #last: Position;
  /** By position; least recently used first. */
  readonly #pages = new Map<string, Page>();
  /** What the last reader got: after one event, all others want the same. */
  #recent: { readonly after: Position; readonly piece: Piece } | undefined;

  constructor(data: Pick<ChainDataStore, "eventsAfter" | "lastEventUpTo">, limits: LogLimits = LOG_LIMITS) {
    this.#data = data;
    this.#limits = limits;
    this.#floor = this.#last = this.#newest();
  }

  /** Takes in what the store has got since. True when there was something. */
  advance(): boolean {
    const added = this.#data.eventsAfter(this.#last, MOST_NEW);
    const newest = added.at(-1);
    if (newest === undefined) return false;
    this.#recent = undefined;
    if (added.length === MOST_NEW) {
      // The indexer is running through history: the ring begins again behind it, readers go by pages.
      this.#empty(this.#newest());
      return true;
    }
    for (const entry of entriesOf(added)) {
      this.#ring.push(entry);
      this.#ringBytes += entry.bytes.length;
    }
    this.#last = newest.position;
    this.#dropOldest();
    return true;
  }

  /** Forgets every event above a block. */
  rollBack(ancestor: number): void {
    this.#pages.clear();
    this.#recent = undefined;
    const end = endOfBlock(ancestor);
    if (comparePositions(end, this.#last) >= 0) return;
    if (comparePositions(end, this.#floor) < 0) {
      this.#empty(end);
      return;
    }
    while (this.#ring.length > this.#head && this.#ring.at(-1)!.position.block > ancestor) {
      this.#ringBytes -= this.#ring.pop()!.bytes.length;
    }
    this.#last = end;
  }

  /** Whether nothing is known that comes after a position. */
  isEnd(position: Position): boolean {
    return position === this.#last || comparePositions(position, this.#last) >= 0;
  }

  /** The next piece after a position for one who wants these kinds, all without; undefined at the end. */
  after(position: Position, kinds: ReadonlySet<EventKind> | undefined): Piece | undefined {
    if (position === this.#last) return undefined;
    if (kinds === undefined && this.#recent?.after === position) return this.#recent.piece;
    const piece =
      comparePositions(position, this.#floor) >= 0
        ? this.#fromRing(position, kinds)
        : this.#fromStore(position, kinds);
    if (kinds === undefined && piece !== undefined) this.#recent = { after: position, piece };
    return piece;
  }

  #fromRing(position: Position, kinds: ReadonlySet<EventKind> | undefined): Piece | undefined {
    if (comparePositions(position, this.#last) >= 0) return undefined;
    const from = this.#firstAfter(position);
    const frames: Buffer[] = [];
    let size = 0;
    for (let i = from; i < this.#ring.length; i++) {
      const { kind, bytes, position: at } = this.#ring[i]!;
      if (kinds?.has(kind) !== false) {
        frames.push(bytes);
        size += bytes.length;
      }
      if (size >= PIECE_BYTES && i + 1 < this.#ring.length)
        return { bytes: Buffer.concat(frames, size), last: at };
    }
    const [only] = frames;
    const bytes = frames.length === 1 && only !== undefined ? only : Buffer.concat(frames, size);
    return { bytes, last: this.#last };
  }

  #fromStore(position: Position, kinds: ReadonlySet<EventKind> | undefined): Piece {
    const { block, logIndex, part } = position;
    const key = `${String(block)}.${String(logIndex)}.${String(part)}`;
    const page = this.#pages.get(key) ?? this.#readPage(position);
    // What stood between was reorganised out: the reader is at the end. Not told so, it would be given turns forever.
    if (page === undefined) return { bytes: NONE, last: this.#last };
    this.#pages.delete(key);
    // A page that is not full has room for events that are still to come.
    if (page.isFull) {
      this.#pages.set(key, page);
      const [oldest] = this.#pages.keys();
      if (this.#pages.size > this.#limits.pages && oldest !== undefined) this.#pages.delete(oldest);
    }
    if (kinds === undefined) return page.whole;
    const wanted = page.entries.filter(({ kind }) => kinds.has(kind)).map(({ bytes }) => bytes);
    return { bytes: Buffer.concat(wanted), last: page.whole.last };
  }

  #readPage(position: Position): Page | undefined {
    const logged = this.#data.eventsAfter(position, this.#limits.pageEvents);
    const last = logged.at(-1)?.position;
    if (last === undefined) return undefined;
    const entries = entriesOf(logged);
    const bytes = Buffer.concat(entries.map((entry) => entry.bytes));
    return { entries, whole: { bytes, last }, isFull: logged.length === this.#limits.pageEvents };
  }

  /** Index of the first event of the ring that comes after a position. */
  #firstAfter(position: Position): number {
    let low = this.#head;
    let high = this.#ring.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePositions(this.#ring[middle]!.position, position) > 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #dropOldest(): void {
    const { ringEvents, ringBytes } = this.#limits;
    while (this.#ring.length - this.#head > ringEvents || this.#ringBytes > ringBytes) {
      const oldest = this.#ring[this.#head]!;
      this.#ringBytes -= oldest.bytes.length;
      this.#floor = oldest.position;
      this.#head += 1;
    }
    // Copying only when half is dead keeps each event cheap on average.
    if (this.#head * 2 > this.#ring.length) {
      this.#ring = this.#ring.slice(this.#head);
      this.#head = 0;
    }
  }

  #newest(): Position {
    return this.#data.lastEventUpTo(Number.MAX_SAFE_INTEGER, KINDS)?.position ?? START;
  }

  #empty(at: Position): void {
    this.#ring = [];
    this.#head = 0;
    this.#ringBytes = 0;
    this.#floor = this.#last = at;
  }
}

function entriesOf(logged: readonly LoggedEvent[]): Entry[] {
  return logged.flatMap((one): Entry[] => {
    const frame = frameOfLogged(one);
    return frame === undefined ? [] : [{ position: one.position, ...frame }];
  });
}
