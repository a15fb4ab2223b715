/**
 * Event streams: each reader is a cursor over the stored log, pulled as fast as its connection takes it, so
 * a burst drops nobody and a slow reader costs no memory. What is new is told by waking the readers; what
 * was taken back by a reorganisation moves their cursors.
 */
import { checksumAddress } from "../../shared/api/checksum.ts";
import type { EventKind, StreamEvent } from "../../shared/api/data.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import type { Owner } from "../http/state.ts";
import type { Indexer } from "../merkle/indexer.ts";
import type { ChainDataStore, ChainEvent, LoggedEvent, Position } from "../store/chain-data.ts";
import type { TicketRecord } from "../store/tickets.ts";
import { maySee, type Tickets } from "../submission/tickets.ts";
import { idOf, parseId, hashPrefixOf } from "./position.ts";

export interface Subscription {
  readonly owner: Owner;
  /** Exclusive; undefined replays the whole history. */
  readonly from: string | undefined;
  /** Undefined: all. */
  readonly kinds: ReadonlySet<EventKind> | undefined;
  /** False once the credential is revoked or has expired. */
  readonly stillGood: () => Promise<boolean>;
  /** Milliseconds since 1970 at which the session ends. */
  readonly endsAt: number | undefined;
  /** Aborted when the reader is gone: `return()` alone waits for what a quiet stream says next. */
  readonly left: AbortSignal;
}

/** A comment keeps the connection alive and finds out whether it still is. */
export type StreamItem =
  { readonly type: "event"; readonly event: StreamEvent } | { readonly type: "comment" };

export interface Hub {
  /** Ends after `session_expired`, when the hub closes, or when the reader has left. */
  read(subscription: Subscription): AsyncGenerator<StreamItem[], void, undefined>;
  /** Ends every stream. */
  close(): void;
  /** Told of `close`; a reader that takes nothing never sees the end. The result unsubscribes. */
  onClose(listener: () => void): () => void;
}

export interface HubOptions {
  readonly chainId: number;
  readonly pool: Address;
  /** Default 15 s. */
  readonly commentEveryMs?: number;
  /** How often a quiet stream asks whether its credential is still good. Default 5 s. */
  readonly checkEveryMs?: number;
  readonly now: () => number;
}

const BATCH = 256;
const SHOWN = ["leaf", "nullifier", "root"] as const satisfies readonly ChainEvent["kind"][];

export function createHub(
  indexer: Pick<Indexer, "onChange" | "state">,
  data: ChainDataStore,
  tickets: Tickets,
  options: HubOptions,
): Hub {
  const { commentEveryMs = 15_000, checkEveryMs = 5_000, now } = options;
  const wakers = new Set<() => void>();
  const closers = new Set<() => void>();
  let isClosed = false;

  async function* read(subscription: Subscription): AsyncGenerator<StreamItem[], void, undefined> {
    const { owner, kinds, stillGood, endsAt, left } = subscription;
    const isOver = (): boolean => isClosed || left.aborted;
    const wants = (kind: EventKind): boolean => kinds?.has(kind) !== false;
    const only = (...events: readonly StreamEvent[]): StreamItem[] =>
      events.filter(({ kind }) => wants(kind) || kind === "session_expired" || kind === "reorg").map(asItem);

    let wake: () => void = () => undefined;
    /** Lowest block that still stands since the reader last looked; set by a reorganisation. */
    let ancestor: number | undefined;
    const changed: TicketRecord[] = [];
    const poke = (): void => wake();
    wakers.add(poke);
    left.addEventListener("abort", poke);
    const stopIndex = indexer.onChange((change) => {
      if (change.type === "reorg") ancestor = Math.min(ancestor ?? change.ancestor, change.ancestor);
      wake();
    });
    const stopTickets = tickets.onChange((ticket) => {
      if (!maySee(owner, ticket)) return;
      changed.push(ticket);
      wake();
    });

    try {
      yield only(ready());
      const open = await tickets.openOf(owner);
      if (open.length > 0) yield only(...(await Promise.all(open.map(ticketEvent))));

      // An id that we do not know yet may be one that we have not indexed yet.
      while (subscription.from !== undefined && !isCaughtUp() && !isOver()) await pause(checkEveryMs);
      const start = startOf(subscription.from);
      let cursor = start.cursor;
      if (start.reorg !== undefined) yield only(start.reorg);
      let isSynced = false;
      let commentAt = now() + commentEveryMs;
      let checkAt = now() + checkEveryMs;

      while (!isOver()) {
        if ((endsAt !== undefined && now() >= endsAt) || (now() >= checkAt && !(await stillGood()))) {
          yield only({ kind: "session_expired", id: undefined, data: {} });
          return;
        }
        if (now() >= checkAt) checkAt = now() + checkEveryMs;

        if (ancestor !== undefined) {
          const standing = ancestor;
          ancestor = undefined;
          if (cursor !== undefined && cursor.block > standing) {
            const back = backTo(standing);
            cursor = back.cursor;
            isSynced = false;
            yield only(back.reorg);
          }
        }
        if (changed.length > 0) {
          yield only(...(await Promise.all(changed.splice(0).map(ticketEvent))));
          continue;
        }
        const batch = data.eventsAfter(cursor, BATCH);
        if (batch.length > 0) {
          cursor = batch.at(-1)!.position;
          const shown = batch.flatMap((logged) => streamEvent(logged) ?? []);
          isSynced = false;
          const items = only(...shown);
          if (items.length > 0) yield items;
          continue;
        }
        if (!isSynced && isCaughtUp()) {
          isSynced = true;
          yield only(synced());
          continue;
        }
        if (now() >= commentAt) {
          commentAt = now() + commentEveryMs;
          yield [{ type: "comment" }];
          continue;
        }
        await pause(Math.min(commentAt, checkAt, endsAt ?? Infinity) - now());
      }
    } finally {
      wakers.delete(poke);
      left.removeEventListener("abort", poke);
      stopIndex();
      stopTickets();
    }

    /** Until something changes, or the time is up. What changed before the call is not missed: nothing runs in between. */
    function pause(ms: number): Promise<void> {
      return new Promise((resolve) => {
        // The end may have come while the credential was looked up: nobody would wake us again.
        if (isOver()) {
          resolve();
          return;
        }
        const timer = setTimeout(finish, Math.max(ms, 1));
        function finish(): void {
          clearTimeout(timer);
          wake = () => undefined;
          resolve();
        }
        wake = finish;
      });
    }
  }

  function isCaughtUp(): boolean {
    return indexer.state().syncedAt !== undefined;
  }

  function ready(): StreamEvent {
    const tip = data.tip();
    return {
      kind: "ready",
      id: undefined,
      data: {
        chain_id: options.chainId,
        pool: checksumAddress(options.pool),
        block_number: tip?.number ?? 0,
        leaf_count: data.leafCount(),
      },
    };
  }

  function synced(): StreamEvent {
    return {
      kind: "synced",
      id: undefined,
      data: { block_number: data.tip()?.number ?? 0, leaf_count: data.leafCount() },
    };
  }

  async function ticketEvent(ticket: TicketRecord): Promise<StreamEvent> {
    return { kind: "ticket", id: undefined, data: await tickets.view(ticket) };
  }

  /** Where a reader that names its last event goes on, and what it has to take back before. */
  function startOf(from: string | undefined): { cursor: Position | undefined; reorg?: StreamEvent } {
    if (from === undefined || from === "") return { cursor: undefined };
    const id = parseId(from);
    if (id === undefined) return backTo(-1);
    const { position, hashPrefix } = id;
    const known = data.eventAt(position);
    if (known !== undefined && hashPrefixOf(known.blockHash) === hashPrefix) return { cursor: position };
    // Of a branch that we followed ourselves: back to where it left the chain. Of one we never saw (or not
    // yet: then we are behind, and a replay is right all the same): from the beginning.
    return backTo(data.forkPoint(position.block, hashPrefix) ?? -1);
  }

  /** The last shown event that stands at or below a block, as cursor and as the event that says so. */
  function backTo(block: number): { cursor: Position | undefined; reorg: StreamEvent } {
    const last = block < 0 ? undefined : data.lastEventUpTo(block, SHOWN);
    const fromId = last === undefined ? null : idOf(last);
    return {
      cursor: last?.position,
      // The id goes back too, so that a browser which reconnects now names an event that stands.
      reorg: { kind: "reorg", id: fromId ?? "", data: { from_id: fromId } },
    };
  }

  return {
    read,
    close() {
      isClosed = true;
      for (const wake of wakers) wake();
      for (const tell of closers) tell();
    },
    onClose(listener) {
      closers.add(listener);
      return () => closers.delete(listener);
    },
  };
}

function asItem(event: StreamEvent): StreamItem {
  return { type: "event", event };
}

/** Undefined for what no stream shows. */
function streamEvent(logged: LoggedEvent): StreamEvent | undefined {
  const { event, position, txHash } = logged;
  const id = idOf(logged);
  switch (event.kind) {
    case "leaf":
      return {
        kind: "leaf",
        id,
        data: {
          index: event.index,
          commitment: toHex(word(event.commitment)),
          ciphertext: toHex(event.ciphertext),
          source: event.source,
          ...(event.opening === undefined
            ? {}
            : {
                npk: toHex(word(event.opening.npk)),
                asset: checksumAddress(event.opening.asset),
                value: String(event.opening.value),
              }),
          tx_hash: txHash,
          block_number: position.block,
        },
      };
    case "nullifier":
      return {
        kind: "nullifier",
        id,
        data: { nullifier: toHex(word(event.nullifier)), tx_hash: txHash, block_number: position.block },
      };
    case "root":
      return {
        kind: "root",
        id,
        data: { root: toHex(word(event.root)), leaf_count: event.leafCount, block_number: position.block },
      };
    case "executed":
    case "rejected":
      return undefined;
  }
}
