/**
 * A wallet's state kept in step with the stream and the storage: the one place that changes it. Whoever
 * needs to wait for the chain waits here.
 */
import type { StreamEvent } from "../../api/data.ts";
import type { Address, Bytes32, Field } from "../../protocol/brands.ts";
import type { Home } from "../../protocol/statements.ts";
import type { SpendingKey } from "../../notes/keys.ts";
import { subtreeOf } from "../../notes/merkle.ts";
import { orAborted } from "../base/aborting.ts";
import { adoptNote, leafOfOpening } from "../state/adopting.ts";
import { balanceOf, stateOfNote } from "../state/balances.ts";
import { recordKey, type BridgeRecord } from "../state/bridge-record.ts";
import type { PoolChain } from "../chain/pool-chain.ts";
import type { Client } from "../service/client.ts";
import { awaits, expected } from "../state/coming.ts";
import type { StoredContact } from "../state/contact-record.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import type { EventsOptions } from "../service/events.ts";
import {
  executedAfterRefusal,
  exposedPayments,
  forgetDead,
  holdsNotes,
  isExecuted,
  type Exposure,
} from "../state/exposure.ts";
import { Feed, type WaitOptions } from "../service/feed.ts";
import type { WorkerFile } from "../prover/groth16/threads.ts";
import type { CallOptions } from "../service/http.ts";
import { mergeState } from "../state/merging.ts";
import { addPayment, type PaymentRecord } from "../state/payment-record.ts";
import { checkPins, type Pins } from "../base/pins.ts";
import { confirms, type RootVerifier } from "../service/root-verifier.ts";
import { applyEvent, prepareEvent, verifiedRoot } from "../history/scanner.ts";
import { selectNotes } from "../state/selection.ts";
import type { StateStore } from "../state/state-store.ts";
import { WalletState, type Origin, type OwnedNote, type Reservation } from "../state/state.ts";
import type { Prepared } from "../statements/statements.ts";
import type { WalletStorage } from "../state/storage.ts";
import { unfoldSubtree } from "../service/unfolding.ts";

export interface LedgerOptions {
  readonly client: Client;
  /** Absent where the wallet knows no node to read from. */
  readonly chain: PoolChain | undefined;
  readonly storage: WalletStorage;
  readonly pins: Pins;
  readonly home: Home;
  readonly keys: SpendingKey;
  readonly verifyRoot: RootVerifier | undefined;
  /** Where a long history is scanned. */
  readonly worker: WorkerFile;
  /** Opens without the stored history where that is damaged. */
  readonly rebuild: boolean;
  /** Unix seconds. */
  readonly now: () => number;
}

/** So often another tab may save between our reading and our saving, until something must be wrong with the storage. */
const SAVE_TRIES = 20;

/** Of a call that reads the history. */
export interface ReadOptions extends WaitOptions {
  /** While a long history is read: the part of it that is done, from 0 to 1. */
  readonly reading?: (fraction: number) => void;
}

export class Ledger {
  readonly feed: Feed;
  readonly state: WalletState;
  readonly #options: LedgerOptions;
  readonly #listeners = new Set<() => void>();
  readonly #store: StateStore;
  /** What this tab promised, settled or gave back and the storage does not know yet. */
  readonly #changes = new Map<Bytes32, Reservation>();
  #saving: Promise<void> = Promise.resolve();
  #dirty = false;
  #rescanning = false;
  /** After chunks, or a stream behind them, that did not fit. */
  #onlyStream = false;
  readonly #readers = new Set<(fraction: number) => void>();
  #asked: Promise<void> = Promise.resolve();
  /** Of a question that has not begun. */
  #nextAsked: Promise<void> | undefined;
  #origin: Origin = "service";

  private constructor(options: LedgerOptions, state: WalletState, store: StateStore) {
    this.#options = options;
    this.state = state;
    this.#store = store;
    this.feed = new Feed({ events: (call) => this.#events(call) }, state, {
      prepare: (event) => prepareEvent(options.keys.viewing, event),
      apply: (event) => this.#apply(event),
      begin: (signal) => this.#readChunks(signal),
    });
  }

  /** From here on history is read there. */
  readFrom(origin: Origin): void {
    if (this.#origin === origin) return;
    this.#origin = origin;
    this.feed.restart();
  }

  #events(call: EventsOptions = {}): AsyncIterable<StreamEvent> {
    const { client, chain } = this.#options;
    if (this.#origin === "service" || chain === undefined) return client.events(call);
    const { from, signal } = call;
    return chain.events({ from, signal, known: () => this.state.tree });
  }

  /**
   * Throws STORAGE_FAILED, STORAGE_CORRUPT, STORAGE_FOREIGN or HISTORY_DAMAGED; a storage that holds something else is never
   * overwritten.
   */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const { storage, home, keys } = options;
    // With ciphers and layouts: not before there is a wallet to open.
    const { StateStore } = await import("../history/with-wallet.ts");
    const store = new StateStore(storage, { home, key: keys.storageKey() });
    const found = await store.load();
    if (found?.isDamaged === true && !options.rebuild) throw new ClientError("HISTORY_DAMAGED");
    return new Ledger(options, found?.state ?? new WalletState(), store);
  }

  /**
   * Before a stream from its beginning: what the service has of the history in chunks. Throws HISTORY_INCONSISTENT; nothing of it
   * is taken over then.
   */
  async #readChunks(signal: AbortSignal): Promise<void> {
    const { client, keys, worker } = this.#options;
    // An application's own client may have been written before there were chunks.
    if (this.#origin !== "service" || this.#onlyStream || !("history" in client)) return;
    const progress = (fraction: number): void => this.#readers.forEach((tell) => tell(fraction));
    // Of a wallet that has begun already it is never loaded.
    const { readHistory } = await import("../history/with-wallet.ts");
    const newState = (): WalletState => new WalletState();
    const read = await readHistory({ client, keys: keys.viewing, worker, signal, progress, newState });
    // Another tab may have read it meanwhile.
    if (read === undefined || signal.aborted || this.state.lastEventId !== undefined) return;
    this.state.takeChainOf(read);
    this.#dirty = true;
    this.#tell();
  }

  /** Reads the history up to now and checks that the leaves give the pool's root. */
  async sync(options: ReadOptions = {}): Promise<void> {
    // What a service told is not believed where the chain is asked: it is read anew.
    if (this.#origin === "chain" && this.state.origin !== "chain") this.state.clear();
    try {
      await this.#catchUp(options);
    } catch (error) {
      // A history that no longer fits what we hold, or itself: hold nothing and read the stream once from its beginning.
      if (!isInconsistent(error) || this.#rescanning) throw error;
      await this.#readAnew(options, true);
    }
    await this.save();
  }

  /** Forgets all that a service ever said and reads it from its beginning. Payments under way stay reserved. */
  async rescan(options: ReadOptions = {}): Promise<void> {
    try {
      await this.#readAnew(options, false);
    } catch (error) {
      if (!isInconsistent(error)) throw error;
      await this.#readAnew(options, true);
    }
    await this.save();
  }

  async #readAnew(options: ReadOptions, onlyStream: boolean): Promise<void> {
    this.#rescanning = true;
    this.#onlyStream = onlyStream;
    try {
      this.state.clear();
      this.feed.restart();
      await this.#catchUp(options);
    } finally {
      this.#rescanning = false;
      this.#onlyStream = false;
    }
  }

  async #catchUp({ reading, ...options }: ReadOptions): Promise<void> {
    if (reading !== undefined) this.#readers.add(reading);
    try {
      await this.feed.until(() => this.feed.synced, options);
    } finally {
      if (reading !== undefined) this.#readers.delete(reading);
    }
    if (this.#origin === "chain") this.state.markEmptied(this.#options.chain?.emptied());
    verifiedRoot(this.state);
    this.state.fold();
    void this.#confirm();
  }

  /** Waits until the application's own source has answered for the newest root, which it may do with a no. */
  async confirmed({ signal }: WaitOptions): Promise<void> {
    await orAborted(this.#confirm(), signal);
    if (this.#dirty) await this.save();
  }

  /**
   * One question at a time to the application's own source. Who comes during one waits for the next, which is about the
   * root of then, and for no more: a service that names roots without end must not hold a call. Nothing but `confirmed`
   * waits at all, since a slow node must not hold a payment or the stream.
   */
  #confirm(): Promise<void> {
    this.#nextAsked ??= this.#asked = this.#asked.then(() => {
      this.#nextAsked = undefined;
      return this.#ask();
    });
    return this.#nextAsked;
  }

  async #ask(): Promise<void> {
    const { verifyRoot } = this.#options;
    const mark = this.state.latestRoot;
    if (mark === undefined || mark.leafCount <= this.state.confirmedLeaves) return;
    if (verifyRoot === undefined && this.state.origin !== "chain") return;
    // What comes from the chain was held against the pool's own root already.
    const isPools = this.state.origin === "chain" || (await confirms(verifyRoot!, mark.root));
    // What was asked about may have been rolled back while we waited.
    const { tree } = this.state;
    if (!isPools || !tree.knowsRoot(mark.leafCount) || tree.root(mark.leafCount) !== mark.root) return;
    this.state.confirmedLeaves = mark.leafCount;
    this.#dirty = true;
    this.#tell();
  }

  async #apply(event: StreamEvent): Promise<void> {
    if (event.kind === "ready") checkPins(this.#options.pins, event.data);
    const finding = applyEvent(this.state, this.#options.keys.viewing, event);
    this.state.origin = this.#origin;
    if (finding.type === "nothing") return;
    this.#dirty = true;
    // While catching up the save comes at the end, not after each of a hundred thousand events.
    if (this.feed.synced) {
      if (finding.type === "rooted") {
        void this.#confirm();
        this.state.fold();
      }
      await this.save();
    }
    this.#tell();
  }

  /** In a turn of their own: a listener that throws must not end the stream for everybody. */
  #tell(): void {
    for (const listener of this.#listeners) queueMicrotask(listener);
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** One save at a time; what changes meanwhile is in the next one. Throws STORAGE_FAILED. */
  save(): Promise<void> {
    this.#dirty = true;
    return this.#queue(async () => {
      if (this.#dirty) await this.#write();
    });
  }

  #queue<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#saving.then(work);
    this.#saving = next.then(
      () => undefined,
      () => {
        this.#dirty = true;
      },
    );
    return next;
  }

  /** `before` is called for each try, on a state that knows the last save; what it throws ends the saving. */
  async #write(before: () => void = () => undefined): Promise<void> {
    for (let attempt = 1; attempt <= SAVE_TRIES; attempt++) {
      before();
      this.#dirty = false;
      const told = [...this.#changes];
      if (await this.#store.save(this.state)) {
        for (const [statement, change] of told)
          if (this.#changes.get(statement) === change) this.#changes.delete(statement);
        return;
      }
      await this.#merge();
    }
    throw new ClientError("STORAGE_FAILED", "save: it holds another version each time");
  }

  /** Another tab has saved: its promises bind this one too. */
  async #merge(): Promise<void> {
    const found = await this.#store.load();
    // Emptied by somebody: what this tab knows is all there is. A damaged history is empty, and this tab's the better one.
    if (found === undefined) return;
    // What is read again must not be replaced by what it is read again for, nor the chain's by a service's word.
    const isAsGood = this.#origin === "service" || found.state.origin === "chain";
    if (mergeState(this.state, found.state, this.#changes, !this.#rescanning && isAsGood))
      this.feed.restart();
    this.#tell();
  }

  #change(reservation: Reservation): void {
    this.#changes.set(reservation.statement, reservation);
    this.state.reservations.set(reservation.statement, reservation);
  }

  /**
   * A bridge address under a number that no tab has taken, in the storage when this returns: only then may anybody be
   * shown it. Throws STORAGE_FAILED.
   */
  takeBridge<T extends BridgeRecord>(make: (state: WalletState) => T): Promise<T> {
    let record: T | undefined;
    const withdraw = (): void => {
      if (record === undefined) return;
      const key = recordKey(record);
      if (this.state.bridges.get(key) === record) this.state.bridges.delete(key);
    };
    return this.#queue(async () => {
      try {
        await this.#write(() => {
          withdraw();
          record = make(this.state);
          this.state.bridges.set(recordKey(record), record);
        });
        return record!;
      } catch (error) {
        withdraw();
        throw error;
      }
    });
  }

  /** What is known of it by now. */
  async keepBridge(record: BridgeRecord): Promise<void> {
    this.state.bridges.set(recordKey(record), record);
    await this.save();
  }

  /** See ../state/adopting.ts. Where that leaf is folded all leaves are read. Throws NOTE_UNKNOWN and TREE_INCONSISTENT. */
  async adopt(opening: unknown, call: CallOptions = {}): Promise<OwnedNote> {
    const { tree } = this.state;
    const leafIndex = leafOfOpening(opening);
    if (tree.isFolded(leafIndex)) await unfoldSubtree(this.#options.client, tree, subtreeOf(leafIndex), call);
    const note = adoptNote(this.state, this.#options.keys.viewing, opening);
    await this.save();
    return note;
  }

  /** No other payment of this wallet object picks them. Nothing was sent, so the storage does not learn of it. */
  pick(leafIndexes: readonly number[]): void {
    this.state.picked = leafIndexes;
  }

  /**
   * To be awaited before a payment's first byte leaves: returns when the promise is in the storage, where every tab and
   * every later run finds it. Throws NOTES_TAKEN when its notes are promised or spent elsewhere by now, or when it
   * would not exclude a refused payment that another tab made meanwhile; STORAGE_FAILED. Then nothing may be sent.
   */
  reserve(reservation: Reservation, record: PaymentRecord): Promise<void> {
    const { statement } = reservation;
    return this.#queue(async () => {
      await this.#write(() => {
        if (!this.#isStillFree(reservation)) {
          this.#changes.delete(statement);
          this.state.reservations.delete(statement);
          this.state.payments.delete(statement);
          throw new ClientError("NOTES_TAKEN");
        }
        this.#change(reservation);
        addPayment(this.state.payments, record);
      });
      this.state.picked = [];
    });
  }

  #isStillFree({ statement, asset, leafIndexes }: Reservation): boolean {
    const now = this.#options.now();
    const others = [...this.state.reservations.values()].filter((one) => one.statement !== statement);
    const isTaken = (index: number): boolean => {
      const note = this.state.notes.get(index);
      const isPromised = others.some((one) => one.leafIndexes.includes(index) && holdsNotes(one, now));
      return note === undefined || note.spent !== undefined || note.voided !== undefined || isPromised;
    };
    // A deposit spends nothing, so it can neither take a note nor exclude a payment.
    if (leafIndexes.length === 0) return true;
    return (
      !leafIndexes.some(isTaken) &&
      this.exposed(asset).every((exposure) => leafIndexes.some((at) => exposure.leafIndexes.includes(at))) &&
      executedAfterRefusal(this.state, asset) === undefined
    );
  }

  /** Remembered for the person, and for whoever closes the page now. No money hangs on it. */
  async keepPayment(record: PaymentRecord): Promise<void> {
    addPayment(this.state.payments, record);
    await this.save().catch(() => undefined);
  }

  /** Of what never left the device. */
  withdrawPayment(statement: Bytes32): void {
    const record = this.state.payments.get(statement);
    if (record !== undefined) this.state.payments.set(statement, { ...record, withdrawn: true });
  }

  /** Throws STORAGE_FAILED. */
  async keepContact(contact: StoredContact): Promise<void> {
    this.state.contacts.set(contact.address, contact);
    await this.save();
  }

  /** An earlier payment of this wallet has that leaf: two payments would be told as one. */
  readonly isKnownLeaf = (commitment: Field): boolean =>
    [...this.state.reservations.values(), ...this.state.payments.values()].some(({ commitments }) =>
      commitments.includes(commitment),
    );

  /** Only for what never left the device. */
  release(statement: Bytes32): Promise<void> {
    this.state.picked = [];
    this.withdrawPayment(statement);
    return this.#amend(statement, { released: true });
  }

  /** Its caller knows of it. */
  told(statement: Bytes32): Promise<void> {
    const proved = this.state.reservations.get(statement)?.proved;
    return proved === undefined
      ? Promise.resolve()
      : this.#amend(statement, { proved: { ...proved, told: true } });
  }

  /** The service said no: the notes are free, but it has the proof. */
  refused(statement: Bytes32): Promise<void> {
    return this.#amend(statement, { refused: true });
  }

  /** For a caller who has an error to tell: a storage that fails now is told by the next save, which has this too. */
  async #amend(statement: Bytes32, change: Partial<Reservation>): Promise<void> {
    const reservation = this.state.reservations.get(statement);
    if (reservation === undefined) return;
    this.#change({ ...reservation, ...change });
    await this.save().catch(() => undefined);
  }

  /** Throws EXECUTED_AFTER_REFUSAL, once for each such payment. To be called when the stream is up to date. */
  async settleRefused(asset: Address): Promise<void> {
    const executed = executedAfterRefusal(this.state, asset);
    if (executed !== undefined) {
      await this.#amend(executed.statement, { refused: false });
      throw new ClientError("EXECUTED_AFTER_REFUSAL", `statement ${executed.statement}`);
    }
    forgetDead(this.state, this.#options.now());
  }

  exposed(asset: Address): Exposure[] {
    return exposedPayments(this.state, asset, this.#options.now());
  }

  spendable(asset: Address): OwnedNote[] {
    return this.free(asset).filter(({ leafIndex }) => leafIndex < (this.state.latestRoot?.leafCount ?? 0));
  }

  /** Neither spent nor promised, whether or not a root covers them. */
  free(asset: Address): OwnedNote[] {
    const now = this.#options.now();
    const isFree = (note: OwnedNote): boolean =>
      ["spendable", "pending"].includes(stateOfNote(this.state, note, now));
    return [...this.state.notes.values()].filter((note) => note.asset === asset && isFree(note));
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
    if (expected(this.state, asset, this.#options.now()) < needed) throw this.#withReason(chosen, asset);
    await this.feed.until(() => {
      chosen = attempt();
      // Nothing more is on its way: waiting on would be in vain.
      return Array.isArray(chosen) || !awaits(this.state, asset, this.#options.now());
    }, options);
    if (Array.isArray(chosen)) return chosen;
    throw this.#withReason(chosen, asset);
  }

  /** Too little may be what other payments have left, also those of other tabs. */
  #withReason(error: ClientError, asset: Address): ClientError {
    const { inFlight } = balanceOf(this.state, asset, this.#options.now());
    return error.code === "INSUFFICIENT_FUNDS" && inFlight > 0n
      ? new ClientError("INSUFFICIENT_FUNDS", "notes of payments under way, here or elsewhere, not counted")
      : error;
  }

  /** The stream has brought every leaf of a statement and the end of every note it spent. */
  holds(prepared: Prepared): boolean {
    const { facts } = prepared.statement;
    const leaves = facts.commitments.every((commitment) => this.state.tree.includes(commitment));
    const spent = facts.nullifiers.every((nullifier) => {
      const note = this.state.noteOf(nullifier);
      return note === undefined || note.spent !== undefined;
    });
    return leaves && spent && (prepared.boughtBlinding === undefined || this.bought(prepared) !== undefined);
  }

  /** The same of a statement that an earlier run has made. */
  hasAll(reservation: Reservation): boolean {
    const isSpent = (index: number): boolean => this.state.notes.get(index)?.spent !== undefined;
    return isExecuted(this.state, reservation) && reservation.leafIndexes.every(isSpent);
  }

  /**
   * The note that a swap's output became. Its commitment could not be known before, but its blinding, and that it
   * stands behind the swap's own leaves: whoever sees the swap on its way can buy the same owner a note of dust first.
   */
  bought({ statement: { facts }, boughtBlinding }: Prepared): OwnedNote | undefined {
    const { notes, tree } = this.state;
    const isBehind = ({ leafIndex }: OwnedNote): boolean =>
      tree.leaf(leafIndex - 1) === facts.commitments.at(-1);
    return [...notes.values()].find((note) => note.blinding === boughtBlinding && isBehind(note));
  }
}

function isInconsistent(error: unknown): boolean {
  return hasCode(error, "STREAM_INCONSISTENT") || hasCode(error, "HISTORY_INCONSISTENT");
}
