/**
 * One event stream for all who wait for something: open while anybody waits, closed when nobody does.
 * Applies every event to the wallet once, in order, and remembers the newest form of watched tickets.
 */
import type { BridgeStatus } from "../../api/bridge-status.ts";
import type { StreamEvent } from "../../api/data.ts";
import type { Ticket } from "../../api/transactions.ts";
import { orAborted } from "../base/aborting.ts";
import { ClientError } from "../base/errors.ts";
import type { EventsOptions } from "./events.ts";
import type { WalletState } from "../state/state.ts";
import { Turns } from "../base/turns.ts";

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds; then TIMED_OUT. Without it a wait ends only with the stream: see ./events.ts for when that gives up. */
  readonly timeoutMs?: number | undefined;
}

interface Waiter {
  done(): boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** Where events come from: a service's stream, or a chain's nodes. */
export interface EventSource {
  events(options?: EventsOptions): AsyncIterable<StreamEvent>;
}

export interface EventSink {
  /** What can be done before without touching the wallet's state, which may go back meanwhile. */
  prepare(event: StreamEvent): Promise<void>;
  /** Returns when the event is part of the wallet's state. */
  apply(event: StreamEvent): Promise<void>;
  /** Before a stream from its beginning. It may read the past in another way and set the state's `lastEventId`. */
  begin?(signal: AbortSignal): Promise<void>;
}

export class Feed {
  readonly #source: EventSource;
  readonly #state: Pick<WalletState, "lastEventId">;
  readonly #sink: EventSink;
  readonly #waiters = new Set<Waiter>();
  /** The newest form of each ticket that somebody watches, by its id; undefined until the stream tells of it. */
  readonly tickets = new Map<string, Ticket | undefined>();
  /** The same of bridge requests. */
  readonly bridges = new Map<string, BridgeStatus | undefined>();
  #pumping = false;
  #connection: AbortController | undefined;
  #ready = false;
  #synced = false;
  #closed: Error | undefined;

  constructor(source: EventSource, state: Pick<WalletState, "lastEventId">, sink: EventSink) {
    this.#source = source;
    this.#state = state;
    this.#sink = sink;
  }

  /** The stream is open and has sent everything that there was. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Resolves when `done()` is true after an event, or already is on an open stream that is up to date. */
  async until(done: () => boolean, { signal, timeoutMs }: WaitOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#ready && done()) return;
    let waiter: Waiter | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      const answered = new Promise<void>((resolve, reject) => {
        waiter = { done, resolve, reject };
        this.#waiters.add(waiter);
        if (timeoutMs !== undefined)
          timer = setTimeout(() => reject(new ClientError("TIMED_OUT")), timeoutMs);
        void this.#pump();
      });
      await orAborted(answered, signal);
    } finally {
      clearTimeout(timer);
      if (waiter !== undefined) this.#waiters.delete(waiter);
      this.#closeWhenAlone();
    }
  }

  /** Keeps the stream open until the returned function is called; `failed` is given the reason if it ends earlier. */
  hold(failed: (error: unknown) => void = () => undefined): () => void {
    const leaving = new AbortController();
    const reason = new ClientError("TIMED_OUT", "released");
    this.until(() => false, { signal: leaving.signal }).catch((error: unknown) => {
      if (error !== reason && error !== this.#closed) failed(error);
    });
    return () => leaving.abort(reason);
  }

  /** Ends every wait with `error`, those to come too, and the stream. Who holds it is not told. */
  close(error: Error): void {
    this.#closed = error;
    for (const waiter of [...this.#waiters]) waiter.reject(error);
    this.#waiters.clear();
    this.restart();
  }

  /** Waits until the stream is open; from then on every change of a watched ticket is seen. */
  opened(options: WaitOptions): Promise<void> {
    return this.until(() => this.#ready, options);
  }

  /** After the wallet's state went back: reads again from there. */
  restart(): void {
    // At once, so that nobody takes the closing stream's state for the state of now.
    this.#ready = false;
    this.#synced = false;
    this.#connection?.abort();
  }

  #closeWhenAlone(): void {
    if (this.#waiters.size === 0) this.restart();
  }

  async #pump(): Promise<void> {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      // Somebody may begin to wait while the last connection closes.
      while (this.#waiters.size > 0) await this.#connect();
    } finally {
      this.#pumping = false;
    }
  }

  async #connect(): Promise<void> {
    const connection = new AbortController();
    this.#connection = connection;
    // A function, because it changes while we wait.
    const left = (): boolean => connection.signal.aborted;
    try {
      if (this.#state.lastEventId === undefined) await this.#sink.begin?.(connection.signal);
      if (left()) return;
      const from = this.#state.lastEventId;
      const turns = new Turns();
      for await (const event of this.#source.events({ from, signal: connection.signal })) {
        // What an aborted connection still had in its buffer belongs to a state that is gone.
        if (left()) return;
        await this.#sink.prepare(event);
        if (left()) return;
        await this.#sink.apply(event);
        if (left()) return;
        // Too little was remembered for that reorganisation: what comes next here is not the beginning.
        if (event.kind === "reorg" && event.data.from_id !== null && this.#state.lastEventId === undefined)
          return;
        this.#take(event);
        this.#wake();
        if (this.#waiters.size === 0) return;
        // What the network brings at once is a hundred events, and each is a multiplication on a curve.
        await turns.pause();
        if (left()) return;
      }
    } catch (error) {
      if (left()) return;
      for (const waiter of [...this.#waiters]) waiter.reject(error);
      // They leave in a later turn; until then nobody else may find them and connect again.
      this.#waiters.clear();
    } finally {
      this.#connection = undefined;
      this.#ready = false;
      this.#synced = false;
    }
  }

  #take(event: StreamEvent): void {
    if (event.kind === "ready") {
      this.#ready = true;
      this.#synced = false;
    } else if (event.kind === "synced") {
      this.#synced = true;
    } else if (event.kind === "ticket" && this.tickets.has(event.data.ticket_id)) {
      this.tickets.set(event.data.ticket_id, event.data);
    } else if (event.kind === "bridge" && this.bridges.has(event.data.bridge_id)) {
      this.bridges.set(event.data.bridge_id, event.data);
    }
  }

  #wake(): void {
    for (const waiter of [...this.#waiters]) {
      if (!waiter.done()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
