/**
 * Event streams: each reader is a cursor over the log, written to as fast as its connection takes it, so a
 * burst drops nobody and a slow reader costs one piece of memory. What is new is encoded once and sent in
 * turns; what was reorganised out moves the cursors. Readers have no timers, no buffers and no
 * subscriptions of their own: there may be ten thousand of them.
 */
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { BridgeStatus } from "../../../shared/api/bridge-status.ts";
import type { EventKind } from "../../../shared/api/data.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Owner } from "../../base/http/state.ts";
import type { Indexer } from "../merkle/indexer.ts";
import type { ChainDataStore, Position } from "../../base/store/chain-data.ts";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { TicketRecord } from "../../base/store/tickets.ts";
import { maySee, type Tickets } from "../payments/tickets.ts";
import { COMMENT, CREDENTIAL_REVOKED, frameOf, PREAMBLE, SESSION_EXPIRED } from "./frames.ts";
import { StreamLog, type LogLimits } from "./log.ts";
import { START, type EventId } from "./position.ts";
import { backTo, isAhead, startOf } from "./resume.ts";
import { RoundRobin } from "./round-robin.ts";
import { TimerWheel } from "./timer-wheel.ts";

export interface Subscription {
  readonly owner: Owner;
  /** Exclusive; undefined replays the whole history. */
  readonly from: EventId | undefined;
  /** Undefined: all. */
  readonly kinds: ReadonlySet<EventKind> | undefined;
  /** False once the credential is revoked or has expired. */
  readonly stillGood: () => Promise<boolean>;
  /** Milliseconds since 1970 at which the session ends. */
  readonly endsAt: number | undefined;
}

/** A reader's connection. */
export interface Sink {
  /** False when it has enough for now; `Reading.drained` is to be called when it wants more. */
  write(bytes: Buffer): boolean;
  /** Nothing more comes. */
  end(): void;
  /** Gives the connection up with what is in it. */
  cut(): void;
}

/** What the connection tells the hub. */
export interface Reading {
  drained(): void;
  /** The connection is gone. Nothing is written to the sink any more. */
  left(): void;
}

/** Where bridges run: what a caller hears of its own requests. */
export interface BridgeFeed {
  onChange(listener: (record: BridgeRecord) => void): () => void;
  openOf(owner: Owner): Promise<readonly BridgeRecord[]>;
  statusOf(record: BridgeRecord): Promise<BridgeStatus>;
}

export interface HubOptions {
  readonly chainId: number;
  readonly pool: Address;
  readonly commentEveryMs?: number;
  /** How often a stream asks whether its credential is still good. */
  readonly checkEveryMs?: number;
  /** A reader that takes nothing for this long is cut; it resumes by itself. */
  readonly stalledAfterMs?: number;
  /** How long an id of a block that we do not have yet is waited for. */
  readonly aheadMs?: number;
  /** Undefined where bridges are off. */
  readonly bridges?: BridgeFeed | undefined;
  readonly tickMs?: number;
  readonly log?: LogLimits;
  readonly now: () => number;
  /** Told why a reader was cut that did nothing wrong. */
  readonly onFault?: (error: unknown) => void;
}

/** How long a reader may take to read what was under way when the service stops. */
const LAST_WORDS_MS = 500;
/** Tickets and bridge requests whose news wait for one reader. Beyond it the reader is cut; it comes back and is sent the open ones. */
const MOST_NEWS = 1_000;
const NONE = Buffer.alloc(0);

/** What is told to its owner alone. */
type OwnKind = "ticket" | "bridge";
type Own = Pick<TicketRecord, "id" | "owner">;

interface Reader {
  readonly subscription: Subscription;
  readonly sink: Sink;
  /** `opening` says its first words, `behind` waits until its id can be judged. */
  phase: "opening" | "behind" | "reading" | "ended";
  cursor: Position;
  /** Lowest block that still stands since the reader's last turn; set by a reorganisation. */
  ancestor: number | undefined;
  /** Newest form of the caller's own tickets and bridge requests that were not sent yet. */
  news: Map<string, Buffer> | undefined;
  isSynced: boolean;
  isAsking: boolean;
  /** Since when the connection takes nothing. */
  blockedSince: number | undefined;
  checkAt: number;
  commentAt: number;
  readonly giveUpAt: number;
}

export class Hub {
  readonly #indexer: Pick<Indexer, "onChange" | "state">;
  readonly #data: ChainDataStore;
  readonly #tickets: Pick<Tickets, "onChange" | "openOf" | "view">;
  readonly #options: HubOptions;
  readonly #commentEveryMs: number;
  readonly #checkEveryMs: number;
  readonly #stalledAfterMs: number;
  readonly #aheadMs: number;
  readonly #readers = new Set<Reader>();
  readonly #byDeveloper = new Map<string, Set<Reader>>();
  readonly #log: StreamLog;
  readonly #turns: RoundRobin<Reader>;
  readonly #wheel: TimerWheel<Reader>;
  #isClosed = false;
  #isCaughtUp = false;
  #chainWords: { readonly ready: Buffer; readonly synced: Buffer } | undefined;
  #joined: { readonly first: Buffer; readonly second: Buffer; readonly both: Buffer } | undefined;
  /** News are delivered one after the other, so that an older state never comes after a newer one. */
  #delivering: Promise<void> = Promise.resolve();

  constructor(
    indexer: Pick<Indexer, "onChange" | "state">,
    data: ChainDataStore,
    tickets: Pick<Tickets, "onChange" | "openOf" | "view">,
    options: HubOptions,
  ) {
    this.#indexer = indexer;
    this.#data = data;
    this.#tickets = tickets;
    this.#options = options;
    this.#commentEveryMs = options.commentEveryMs ?? 15_000;
    this.#checkEveryMs = options.checkEveryMs ?? 3_000;
    this.#stalledAfterMs = options.stalledAfterMs ?? 60_000;
    this.#aheadMs = options.aheadMs ?? 10_000;
    const tickMs = options.tickMs ?? 250;
    this.#log = new StreamLog(data, options.log);
    this.#turns = new RoundRobin<Reader>((reader) => this.#turn(reader));
    const visits = new RoundRobin<Reader>((reader) => {
      if (this.#readers.has(reader)) this.#attend(reader);
      return false;
    });
    this.#wheel = new TimerWheel<Reader>(tickMs, options.now, (reader) => visits.add(reader));
    indexer.onChange((change) => {
      this.#chainWords = undefined;
      if (change.type === "reorg") {
        this.#log.rollBack(change.ancestor);
        for (const reader of this.#readers) {
          if (reader.phase !== "reading" || reader.cursor.block <= change.ancestor) continue;
          reader.ancestor = Math.min(reader.ancestor ?? change.ancestor, change.ancestor);
          this.#turns.add(reader);
        }
        return;
      }
      const isNew = this.#log.advance();
      const isNowCaughtUp = !this.#isCaughtUp && this.#caughtUp();
      for (const reader of this.#readers)
        if (isNew || isNowCaughtUp || reader.phase === "behind") this.#turns.add(reader);
    });
    tickets.onChange((ticket) => {
      if (this.#isClosed || !this.#byDeveloper.has(ticket.owner.developerId)) return;
      this.#enqueue("ticket", ticket, () => this.#ticketFrame(ticket));
    });
    const { bridges } = options;
    bridges?.onChange((record) => {
      if (this.#isClosed || !this.#byDeveloper.has(record.owner.developerId)) return;
      this.#enqueue("bridge", record, () => bridgeFrame(bridges, record));
    });
  }

  /** The stream ends after `session_expired`, after `credential_revoked` and when the hub closes. */
  read(subscription: Subscription, sink: Sink): Reading {
    const time = this.#options.now();
    const reader: Reader = {
      subscription,
      sink,
      phase: "opening",
      cursor: START,
      ancestor: undefined,
      news: undefined,
      isSynced: false,
      isAsking: false,
      blockedSince: undefined,
      checkAt: time + this.#checkEveryMs,
      commentAt: time + this.#commentEveryMs,
      giveUpAt: time + this.#aheadMs,
    };
    if (this.#isClosed) sink.end();
    else {
      this.#readers.add(reader);
      const { developerId } = subscription.owner;
      const own = this.#byDeveloper.get(developerId) ?? new Set();
      this.#byDeveloper.set(developerId, own.add(reader));
      this.#plan(reader);
      this.#open(reader).catch((error: unknown) => {
        this.#options.onFault?.(error);
        this.#cut(reader);
      });
    }
    return {
      drained: () => {
        if (reader.phase === "ended") return;
        reader.blockedSince = undefined;
        this.#turns.add(reader);
      },
      left: () => {
        reader.phase = "ended";
        this.#forget(reader);
      },
    };
  }

  /** Ends every stream; one that does not read what is under way is cut. */
  close(): void {
    this.#isClosed = true;
    for (const reader of this.#readers) if (reader.phase !== "ended") this.#end(reader);
    this.#wheel.stop();
    setTimeout(() => [...this.#readers].forEach((reader) => this.#cut(reader)), LAST_WORDS_MS).unref();
  }

  #enqueue(kind: OwnKind, about: Own, frame: () => Buffer | Promise<Buffer>): void {
    this.#delivering = this.#delivering
      .then(async () => this.#deliver(kind, about, await frame()))
      .catch((error: unknown) => this.#options.onFault?.(error));
  }

  #deliver(kind: OwnKind, about: Own, bytes: Buffer): void {
    for (const reader of this.#byDeveloper.get(about.owner.developerId) ?? []) {
      if (!maySee(reader.subscription.owner, about) || !wants(reader, kind)) continue;
      reader.news ??= new Map();
      // At the end, so that a reader gets changes in their order.
      reader.news.delete(about.id);
      reader.news.set(about.id, bytes);
      if (reader.news.size > MOST_NEWS) this.#cut(reader);
      else this.#turns.add(reader);
    }
  }

  async #open(reader: Reader): Promise<void> {
    const { owner, from } = reader.subscription;
    this.#write(reader, wants(reader, "ready") ? Buffer.concat([PREAMBLE, this.#words().ready]) : PREAMBLE);
    const frames: Buffer[] = [];
    if (wants(reader, "ticket")) {
      for (const ticket of await this.#tickets.openOf(owner)) {
        // What changed since comes as news, and that is newer.
        if (reader.news?.has(ticket.id) !== true) frames.push(await this.#ticketFrame(ticket));
      }
    }
    if (this.#options.bridges !== undefined && wants(reader, "bridge")) {
      for (const record of await this.#options.bridges.openOf(owner))
        if (reader.news?.has(record.id) !== true)
          frames.push(await bridgeFrame(this.#options.bridges, record));
    }
    if (reader.phase === "ended") return;
    if (frames.length > 0) this.#write(reader, Buffer.concat(frames));
    reader.phase = from === undefined ? "reading" : "behind";
    this.#turns.add(reader);
  }

  /** One turn of a reader: at most one piece of the log. True when there may be more. */
  #turn(reader: Reader): boolean {
    if (reader.phase === "opening" || reader.phase === "ended" || reader.blockedSince !== undefined)
      return false;
    if (reader.phase === "behind" && !this.#beginAt(reader)) return false;
    if (reader.ancestor !== undefined) {
      const back = backTo(this.#data, reader.ancestor);
      reader.ancestor = undefined;
      reader.cursor = back.cursor;
      reader.isSynced = false;
      if (!this.#write(reader, back.reorg)) return false;
    }
    if (reader.news !== undefined) {
      const news = [...reader.news.values()];
      reader.news = undefined;
      if (!this.#write(reader, Buffer.concat(news))) return false;
    }
    const piece = this.#log.after(reader.cursor, reader.subscription.kinds);
    if (piece !== undefined) {
      reader.cursor = piece.last;
      reader.isSynced = false;
    }
    const bytes = piece?.bytes ?? NONE;
    const isAtEnd = this.#log.isEnd(reader.cursor);
    if (isAtEnd && !reader.isSynced && this.#caughtUp()) {
      reader.isSynced = true;
      this.#write(reader, wants(reader, "synced") ? this.#join(bytes, this.#words().synced) : bytes);
      return false;
    }
    return this.#write(reader, bytes) && !isAtEnd;
  }

  /** False while the reader has to wait: an id that we do not know yet may be one that we have not indexed yet. */
  #beginAt(reader: Reader): boolean {
    const { from } = reader.subscription;
    if (from === undefined || !this.#caughtUp()) return false;
    if (isAhead(this.#data, from) && this.#options.now() < reader.giveUpAt) return false;
    const start = startOf(this.#data, from);
    reader.cursor = start.cursor;
    reader.phase = "reading";
    return start.reorg === undefined || this.#write(reader, start.reorg);
  }

  /** What is due at some time: the end of a session, the credential's check, a comment, the end of patience. */
  #attend(reader: Reader): void {
    const { endsAt, stillGood } = reader.subscription;
    const time = this.#options.now();
    if (reader.blockedSince !== undefined && time - reader.blockedSince >= this.#stalledAfterMs) {
      this.#cut(reader);
      return;
    }
    if (endsAt !== undefined && time >= endsAt) this.#refuse(reader, SESSION_EXPIRED);
    if (reader.phase === "ended") {
      this.#plan(reader);
      return;
    }
    if (time >= reader.checkAt && !reader.isAsking) {
      reader.isAsking = true;
      reader.checkAt = time + this.#checkEveryMs;
      stillGood().then(
        (isGood) => {
          reader.isAsking = false;
          if (!isGood)
            this.#refuse(
              reader,
              this.#options.now() < (endsAt ?? Infinity) ? CREDENTIAL_REVOKED : SESSION_EXPIRED,
            );
        },
        (error: unknown) => {
          // Nobody can say whether it may go on. The client comes back and gets it from the front door.
          this.#options.onFault?.(error);
          this.#cut(reader);
        },
      );
    }
    if (time >= reader.commentAt) {
      reader.commentAt = time + this.#commentEveryMs;
      if (reader.blockedSince === undefined) this.#write(reader, COMMENT);
    }
    if (reader.phase === "behind") this.#turns.add(reader);
    this.#plan(reader);
  }

  #plan(reader: Reader): void {
    const { endsAt = Infinity } = reader.subscription;
    const stalledAt =
      reader.blockedSince === undefined ? Infinity : reader.blockedSince + this.#stalledAfterMs;
    const next =
      reader.phase === "ended" ? stalledAt : Math.min(reader.checkAt, reader.commentAt, endsAt, stalledAt);
    const giveUpAt = reader.phase === "behind" ? Math.max(reader.giveUpAt, this.#options.now()) : Infinity;
    this.#wheel.at(Math.min(next, giveUpAt), reader);
  }

  /** True when the connection takes more. */
  #write(reader: Reader, bytes: Buffer): boolean {
    if (reader.phase === "ended") return false;
    if (bytes.length === 0 || reader.sink.write(bytes)) return true;
    reader.blockedSince = this.#options.now();
    return false;
  }

  #refuse(reader: Reader, lastWords: Buffer): void {
    if (reader.phase === "ended") return;
    this.#write(reader, lastWords);
    this.#end(reader);
  }

  /** The reader stays known until its connection is gone, so that one that never reads the end is cut. */
  #end(reader: Reader): void {
    reader.phase = "ended";
    reader.blockedSince ??= this.#options.now();
    reader.news = undefined;
    this.#turns.delete(reader);
    reader.sink.end();
  }

  #cut(reader: Reader): void {
    reader.phase = "ended";
    this.#forget(reader);
    reader.sink.cut();
  }

  #forget(reader: Reader): void {
    this.#readers.delete(reader);
    this.#turns.delete(reader);
    reader.news = undefined;
    const { developerId } = reader.subscription.owner;
    const others = this.#byDeveloper.get(developerId);
    others?.delete(reader);
    if (others?.size === 0) this.#byDeveloper.delete(developerId);
    if (this.#readers.size === 0) this.#wheel.stop();
  }

  #caughtUp(): boolean {
    return (this.#isCaughtUp ||= this.#indexer.state().syncedAt !== undefined);
  }

  /** What is said about the chain as it is now, once for all. */
  #words(): { readonly ready: Buffer; readonly synced: Buffer } {
    if (this.#chainWords !== undefined) return this.#chainWords;
    const [block_number, leaf_count] = [this.#data.tip()?.number ?? 0, this.#data.leafCount()];
    const pool = checksumAddress(this.#options.pool);
    const ready = { chain_id: this.#options.chainId, pool, block_number, leaf_count };
    return (this.#chainWords = {
      ready: frameOf({ kind: "ready", id: undefined, data: ready }),
      synced: frameOf({ kind: "synced", id: undefined, data: { block_number, leaf_count } }),
    });
  }

  /** Both in one write, and after one event the same bytes for every reader. */
  #join(first: Buffer, second: Buffer): Buffer {
    if (first.length === 0) return second;
    if (this.#joined?.first !== first || this.#joined.second !== second) {
      this.#joined = { first, second, both: Buffer.concat([first, second]) };
    }
    return this.#joined.both;
  }

  async #ticketFrame(ticket: TicketRecord): Promise<Buffer> {
    return frameOf({ kind: "ticket", id: undefined, data: await this.#tickets.view(ticket) });
  }
}

async function bridgeFrame(bridges: BridgeFeed, record: BridgeRecord): Promise<Buffer> {
  return frameOf({ kind: "bridge", id: undefined, data: await bridges.statusOf(record) });
}

function wants({ subscription }: Pick<Reader, "subscription">, kind: EventKind): boolean {
  return subscription.kinds?.has(kind) !== false;
}
