/**
 * A wallet's state kept in step with the stream and the storage: the one place that changes it. Whoever
 * needs to wait for the chain waits here.
 */
import type { StreamEvent } from "../api/data.ts";
import type { Address, Bytes32, Field } from "../protocol/brands.ts";
import type { Home } from "../protocol/statements.ts";
import type { SpendingKey } from "../notes/keys.ts";
import { adoptNote } from "./adopting.ts";
import { balanceOf, stateOfNote } from "./balances.ts";
import type { Client } from "./client.ts";
import { ClientError } from "./errors.ts";
import { executedAfterRefusal, exposedPayments, forgetDead, holdsNotes, type Exposure } from "./exposure.ts";
import { Feed, type WaitOptions } from "./feed.ts";
import { checkPins, type Pins } from "./pins.ts";
import type { RootVerifier } from "./root-verifier.ts";
import { applyEvent, verifiedRoot } from "./scanner.ts";
import { selectNotes } from "./selection.ts";
import { openState, sealState } from "./state-codec.ts";
import { WalletState, type OwnedNote, type Reservation } from "./state.ts";
import type { Prepared } from "./statements.ts";
import type { WalletStorage } from "./storage.ts";

export interface LedgerOptions {
  readonly client: Client;
  readonly storage: WalletStorage;
  readonly pins: Pins;
  readonly home: Home;
  readonly keys: SpendingKey;
  readonly verifyRoot: RootVerifier | undefined;
  /** Unix seconds. */
  readonly now: () => number;
}

export class Ledger {
  readonly feed: Feed;
  readonly state: WalletState;
  readonly #options: LedgerOptions;
  readonly #listeners = new Set<() => void>();
  #saving: Promise<void> = Promise.resolve();
  #dirty = false;
  #rescanning = false;

  private constructor(options: LedgerOptions, state: WalletState) {
    this.#options = options;
    this.state = state;
    this.feed = new Feed(options.client, {
      lastEventId: () => this.state.lastEventId,
      apply: (event) => this.#apply(event),
    });
  }

  /** Throws STORAGE_CORRUPT or STORAGE_FOREIGN; a storage that holds something else is never overwritten. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const bytes = await options.storage.load();
    const { home, keys } = options;
    const state = bytes === undefined ? new WalletState() : openState(bytes, home, keys.storageKey());
    return new Ledger(options, state);
  }

  /** Reads the stream up to now and checks that the leaves give the pool's root. */
  async sync(options: WaitOptions = {}): Promise<void> {
    try {
      await this.#catchUp(options);
    } catch (error) {
      // A stream that no longer fits what we hold: hold nothing and read it once from its beginning.
      const contradiction = error instanceof ClientError && error.code === "STREAM_INCONSISTENT";
      if (!contradiction || this.#rescanning) throw error;
      await this.rescan(options);
      return;
    }
    await this.save();
  }

  /** Forgets all that a stream ever said and reads one from its beginning. Payments under way stay reserved. */
  async rescan(options: WaitOptions = {}): Promise<void> {
    this.#rescanning = true;
    try {
      this.state.clear();
      this.feed.restart();
      await this.#catchUp(options);
    } finally {
      this.#rescanning = false;
    }
    await this.save();
  }

  async #catchUp(options: WaitOptions): Promise<void> {
    await this.feed.until(() => this.feed.synced, options);
    verifiedRoot(this.state);
    await this.#confirm();
  }

  /** Asks the application's own source whether the newest root is the pool's. Without a yes nothing changes. */
  async #confirm(): Promise<void> {
    const { verifyRoot } = this.#options;
    const mark = this.state.latestRoot;
    if (verifyRoot === undefined || mark === undefined || mark.leafCount <= this.state.confirmedLeaves)
      return;
    const isPools = await verifyRoot(mark.root).catch(() => false);
    // What was asked about may have been rolled back while we waited.
    const { tree } = this.state;
    if (isPools && mark.leafCount <= tree.leafCount && tree.root(mark.leafCount) === mark.root)
      this.state.confirmedLeaves = mark.leafCount;
  }

  async #apply(event: StreamEvent): Promise<void> {
    if (event.kind === "ready") checkPins(this.#options.pins, event.data);
    const finding = applyEvent(this.state, this.#options.keys.viewing, event);
    if (finding.type === "nothing") return;
    this.#dirty = true;
    // While catching up the save comes at the end, not after each of a hundred thousand events.
    if (this.feed.synced) {
      if (finding.type === "rooted") await this.#confirm();
      await this.save();
    }
    // In a turn of their own: a listener that throws must not end the stream for everybody.
    for (const listener of this.#listeners) queueMicrotask(listener);
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** One save at a time; what changes meanwhile is in the next one. */
  save(): Promise<void> {
    this.#dirty = true;
    const { storage, home, keys } = this.#options;
    const next = this.#saving.then(async () => {
      if (!this.#dirty) return;
      this.#dirty = false;
      await storage.save(sealState(this.state, home, keys.storageKey()));
    });
    this.#saving = next.catch(() => {
      this.#dirty = true;
    });
    return next;
  }

  /** See ./adopting.ts. Throws NOTE_UNKNOWN. */
  async adopt(opening: unknown): Promise<OwnedNote> {
    const note = adoptNote(this.state, this.#options.keys.viewing, opening);
    await this.save();
    return note;
  }

  /** Returns when it is in the storage: a restart must not pick the same notes for another payment. */
  async reserve(reservation: Reservation): Promise<void> {
    this.state.reservations.set(reservation.statement, reservation);
    await this.save();
  }

  /** Only for what never left the device. */
  async release(statement: Bytes32): Promise<void> {
    this.state.reservations.delete(statement);
    await this.save();
  }

  /** The service said no: the notes are free, but it has the proof. */
  async refused(statement: Bytes32): Promise<void> {
    const reservation = this.state.reservations.get(statement);
    if (reservation !== undefined) this.state.reservations.set(statement, { ...reservation, refused: true });
    await this.save();
  }

  /** Throws EXECUTED_AFTER_REFUSAL, once for each such payment. To be called when the stream is up to date. */
  async settleRefused(asset: Address): Promise<void> {
    const executed = executedAfterRefusal(this.state, asset);
    if (executed !== undefined) {
      this.state.reservations.set(executed.statement, { ...executed, refused: false });
      await this.save();
      throw new ClientError("EXECUTED_AFTER_REFUSAL", `statement ${executed.statement}`);
    }
    forgetDead(this.state, this.#options.now());
  }

  exposed(asset: Address): Exposure[] {
    return exposedPayments(this.state, asset, this.#options.now());
  }

  spendable(asset: Address): OwnedNote[] {
    const now = this.#options.now();
    return [...this.state.notes.values()].filter(
      (note) => note.asset === asset && stateOfNote(this.state, note, now) === "spendable",
    );
  }

  /** At most `limit` notes that cover `needed`; waits for change that is on its way when that would be enough. */
  async choose(asset: Address, needed: bigint, limit: number, options: WaitOptions): Promise<OwnedNote[]> {
    const attempt = (): OwnedNote[] | ClientError => {
      try {
        return selectNotes(this.spendable(asset), needed, limit, this.exposed(asset));
      } catch (error) {
        if (error instanceof ClientError) return error;
        throw error;
      }
    };
    let chosen = attempt();
    if (Array.isArray(chosen)) return chosen;
    if (this.#expected(asset) < needed) throw chosen;
    await this.feed.until(() => {
      chosen = attempt();
      // Nothing more is on its way: waiting on would be in vain.
      return Array.isArray(chosen) || !this.#awaits(asset);
    }, options);
    if (Array.isArray(chosen)) return chosen;
    throw chosen;
  }

  /** What could be spendable once everything under way has arrived. */
  #expected(asset: Address): bigint {
    const now = this.#options.now();
    const { spendable, pending } = balanceOf(this.state, asset, now);
    const change = [...this.state.reservations.values()]
      .filter((reservation) => reservation.asset === asset && holdsNotes(reservation, now))
      .filter(({ leafIndexes }) =>
        leafIndexes.some((index) => this.state.notes.get(index)?.spent === undefined),
      )
      .reduce((sum, reservation) => sum + reservation.change, 0n);
    return spendable + pending + change;
  }

  #awaits(asset: Address): boolean {
    const { pending, inFlight } = balanceOf(this.state, asset, this.#options.now());
    return pending > 0n || inFlight > 0n;
  }

  /** The stream has brought every leaf of a statement and the end of every note it spent. */
  holds({ statement: { facts }, boughtBlinding }: Prepared): boolean {
    const leaves = facts.commitments.every((commitment) => this.state.tree.includes(commitment));
    const spent = facts.nullifiers.every((nullifier) => {
      const note = this.state.noteOf(nullifier);
      return note === undefined || note.spent !== undefined;
    });
    return leaves && spent && (boughtBlinding === undefined || this.bought(boughtBlinding) !== undefined);
  }

  /** The note that a swap's output became. Its commitment could not be known before; its blinding is the wallet's own and used once. */
  bought(blinding: Field): OwnedNote | undefined {
    return [...this.state.notes.values()].find((note) => note.blinding === blinding);
  }
}
