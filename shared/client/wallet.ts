/**
 * A wallet: keys, notes, and the three things people do with them. It believes its own keys, its pins and
 * the chain's arithmetic; the service is asked for data and for carrying, and is checked or refused.
 */
import type { StreamEvent } from "../api/data.ts";
import type { Ticket, TicketState } from "../api/transactions.ts";
import { asAddress, asField, type Address, type Bytes32 } from "../protocol/brands.ts";
import type { FeeOperation } from "../protocol/fees.ts";
import type { Home } from "../protocol/statements.ts";
import { decodeShieldedAddress } from "../notes/address.ts";
import { SpendingKey } from "../notes/keys.ts";
import { depositAuthorization, signAuthorization, type DepositSigner } from "./authorization.ts";
import { balancesOf, CLOCK_MARGIN_SECS, stateOfNote, type Balance } from "./balances.ts";
import type { Client } from "./client.ts";
import { ApiProblem, ClientError } from "./errors.ts";
import { Feed, type WaitOptions } from "./feed.ts";
import { feesFor, type Fees } from "./fees.ts";
import { checkInfo, checkPins, homeOf, requireAddress, tokenDomainOf, type Pins } from "./pins.ts";
import type { Prover } from "./prover.ts";
import { applyEvent, verifiedRoot } from "./scanner.ts";
import { selectForConsolidation, selectNotes, sumOf } from "./selection.ts";
import { openState, sealState } from "./state-codec.ts";
import { WalletState, type OwnedNote } from "./state.ts";
import { prepareDeposit, prepareSpend, type Prepared, type SpendPlan } from "./statements.ts";
import type { WalletStorage } from "./storage.ts";
import { depositBody, spendBody, wireProof, type WireProof } from "./bodies.ts";

export interface WalletOptions {
  /** 32 random bytes, or a BIP-39 phrase. */
  readonly key: { readonly seed: Uint8Array } | { readonly phrase: string; readonly passphrase?: string };
  readonly client: Client;
  readonly storage: WalletStorage;
  readonly prover: Prover;
  readonly pins: Pins;
  /** How long a payment may wait for change that is still on its way. Default 2 minutes. */
  readonly changeTimeoutMs?: number;
  /** Unix seconds; for tests. */
  readonly now?: () => number;
}

export type Step = "sync" | "prepare" | "sign" | "prove" | "submit" | "confirm" | "deliver";

/** Called after each step with how long it took. */
export type Progress = (step: Step, ms: number) => void;

export interface PaymentOptions extends WaitOptions {
  /** The token. Default: the only asset of the instance. */
  readonly asset?: string;
  /** After this many seconds the payment can no longer happen. Default 3600, at most 86,400. */
  readonly deadlineSecs?: number;
  /** `queued` returns as soon as the service has taken it. Default `confirmed`: on chain and seen by this wallet. */
  readonly until?: "queued" | "confirmed" | "finalized";
  readonly progress?: Progress;
}

export interface Payment {
  readonly ticket: Ticket;
  readonly statement: Bytes32;
  /** All fees of this payment together. */
  readonly fees: bigint;
}

/** The transaction ended `failed` or `expired`; its notes are free again. */
export class TicketFailed extends ClientError {
  readonly ticket: Ticket;
  constructor(ticket: Ticket) {
    super("TICKET_FAILED", ticket.error === null ? ticket.state : `${ticket.state}: ${ticket.error.code}`);
    this.ticket = ticket;
  }
}

export interface Wallet {
  /** This wallet's shielded address: give it to whoever should pay. */
  readonly address: string;
  /** Reads the event stream up to now. */
  sync(options?: WaitOptions): Promise<void>;
  /** Keeps reading until the returned function is called; `onChange` after every event that changed a balance. */
  watch(onChange?: () => void, onError?: (error: unknown) => void): () => void;
  /** As of the last `sync`. One entry for each asset ever held. */
  balances(): Balance[];
  balance(asset?: string): Balance;
  /** Own notes, spent ones too: the wallet's history. */
  notes(): readonly OwnedNote[];
  deposit(amount: bigint, signer: DepositSigner, options?: PaymentOptions): Promise<Payment>;
  pay(address: string, amount: bigint, options?: PaymentOptions): Promise<Payment>;
  withdraw(to: string, amount: bigint, options?: PaymentOptions): Promise<Payment>;
  /** Merges the two largest notes into one, for a transfer's fee. */
  consolidate(options?: PaymentOptions): Promise<Payment>;
  waitForTicket(ticketId: string, until?: TicketState, options?: WaitOptions): Promise<Ticket>;
  /** Saves; the wallet is not used afterwards. */
  close(): Promise<void>;
}

/** Opens a wallet from storage, or a new one. A storage that holds something else throws; it is never overwritten. */
export async function createWallet(options: WalletOptions): Promise<Wallet> {
  const { key } = options;
  const keys =
    "seed" in key ? SpendingKey.fromSeed(key.seed) : SpendingKey.fromPhrase(key.phrase, key.passphrase);
  const home = homeOf(options.pins);
  const bytes = await options.storage.load();
  const state = bytes === undefined ? new WalletState() : openState(bytes, home, keys.storageKey());
  return new LiveWallet(options, keys, home, state);
}

const DEFAULT_DEADLINE_SECS = 3600;
const TICKET_POLL_MS = 15_000;
const RANK: Readonly<Record<TicketState, number>> = {
  queued: 0,
  submitted: 1,
  confirmed: 2,
  finalized: 3,
  failed: -1,
  expired: -1,
};

class LiveWallet implements Wallet {
  readonly address: string;
  readonly #options: WalletOptions;
  readonly #keys: SpendingKey;
  readonly #home: Home;
  readonly #feed: Feed;
  readonly #state: WalletState;
  readonly #listeners = new Set<() => void>();
  #saving: Promise<void> = Promise.resolve();
  #dirty = false;
  #working: Promise<unknown> = Promise.resolve();
  #defaultAsset: Address | undefined;
  #rescanned = false;

  constructor(options: WalletOptions, keys: SpendingKey, home: Home, state: WalletState) {
    this.#options = options;
    this.#keys = keys;
    this.#home = home;
    this.#state = state;
    this.address = keys.viewing.addressText(options.pins.addressPrefix);
    this.#feed = new Feed(options.client, {
      lastEventId: () => this.#state.lastEventId,
      apply: (event) => this.#apply(event),
    });
  }

  async sync(options: WaitOptions = {}): Promise<void> {
    try {
      await this.#feed.until(() => this.#feed.synced, options);
      verifiedRoot(this.#state);
      this.#rescanned = false;
    } catch (error) {
      // A stream that no longer fits what we hold: hold nothing and read it once from its beginning.
      const contradiction = error instanceof ClientError && error.code === "STREAM_INCONSISTENT";
      if (!contradiction || this.#rescanned) throw error;
      this.#rescanned = true;
      this.#state.clear();
      this.#feed.restart();
      await this.sync(options);
    }
    await this.#save();
  }

  watch(
    onChange: () => void = () => undefined,
    onError: (error: unknown) => void = () => undefined,
  ): () => void {
    this.#listeners.add(onChange);
    const release = this.#feed.hold(onError);
    return () => {
      this.#listeners.delete(onChange);
      release();
    };
  }

  balances(): Balance[] {
    return balancesOf(this.#state, this.#nowSecs());
  }

  balance(asset?: string): Balance {
    const all = this.balances();
    const wanted =
      asset === undefined ? (this.#defaultAsset ?? all[0]?.asset) : requireAddress(asset, "asset");
    const found = all.find((balance) => balance.asset === wanted);
    return found ?? { asset: wanted, total: 0n, spendable: 0n, pending: 0n, inFlight: 0n };
  }

  notes(): readonly OwnedNote[] {
    return [...this.#state.notes.values()];
  }

  async deposit(amount: bigint, signer: DepositSigner, options: PaymentOptions = {}): Promise<Payment> {
    const step = stepper(options);
    requireAmount(amount);
    const { prepared, asset, fees } = await step("prepare", async () => {
      const asset = await this.#asset(options);
      const fees = await this.#fees("deposit", asset, amount, options);
      if (fees.total >= amount) throw new ClientError("AMOUNT_INVALID", "the fees take all of it");
      const depositor = requireAddress(await signer.getAddress(), "depositor");
      const deadline = this.#deadline(options);
      // EIP-3009 bounds are exclusive; beyond the statement's own deadline the authorization is worth nothing.
      const bounds = { validAfter: 0, validBefore: deadline + 1 };
      const plan = {
        home: this.#home,
        keys: this.#keys,
        asset,
        fees,
        amount,
        depositor,
        deadline,
        ...bounds,
      };
      return { prepared: prepareDeposit(plan), asset, fees };
    });
    const { statement } = prepared;
    const token = tokenDomainOf(this.#options.pins, asset);
    const authorization = await step("sign", () =>
      signAuthorization(signer, depositAuthorization(statement, asset, token)),
    );
    const proof = await step("prove", () => this.#prove(prepared));
    const body = depositBody(prepared, proof, authorization);
    const ticket = await step("submit", () => this.#options.client.sequenceDeposit(body, options));
    return this.#settle({ ticket, statement: statement.hash, fees: fees.total }, prepared, options, step);
  }

  async pay(address: string, amount: bigint, options: PaymentOptions = {}): Promise<Payment> {
    const to = decodeShieldedAddress(address, this.#options.pins.addressPrefix);
    if (to === undefined) throw new ClientError("ADDRESS_INVALID");
    requireAmount(amount);
    return this.#spend("transfer", () => ({ type: "transfer", to, value: amount }), amount, options);
  }

  async withdraw(to: string, amount: bigint, options: PaymentOptions = {}): Promise<Payment> {
    const recipient = asAddress(to);
    if (recipient === undefined || BigInt(recipient) === 0n)
      throw new ClientError("ADDRESS_INVALID", "no public address");
    requireAmount(amount);
    return this.#spend("withdraw", () => ({ type: "withdraw", recipient, value: amount }), amount, options);
  }

  async consolidate(options: PaymentOptions = {}): Promise<Payment> {
    const own = this.#keys.viewing.address;
    return this.#spend("transfer", (value) => ({ type: "transfer", to: own, value }), undefined, options);
  }

  async waitForTicket(
    ticketId: string,
    until: TicketState = "confirmed",
    options: WaitOptions = {},
  ): Promise<Ticket> {
    const end = options.timeoutMs === undefined ? Infinity : Date.now() + options.timeoutMs;
    let failure: { error: unknown } | undefined;
    const release = this.#feed.hold((error) => (failure = { error }));
    this.#feed.watchTicket(ticketId);
    try {
      await this.#feed.opened(options);
      // After `ready` the stream sends every change; a ticket that ended before it is seen by asking once.
      let ticket = this.#feed.ticket(ticketId) ?? (await this.#options.client.ticket(ticketId, options));
      while (!reached(ticket, until)) {
        if (RANK[ticket.state] < 0) throw new TicketFailed(ticket);
        if (failure !== undefined) throw failure.error;
        const left = end - Date.now();
        if (left <= 0) throw new ClientError("TIMED_OUT");
        ticket = await this.#changed(ticket, {
          signal: options.signal,
          timeoutMs: Math.min(TICKET_POLL_MS, left),
        });
      }
      return ticket;
    } finally {
      this.#feed.forgetTicket(ticketId);
      release();
    }
  }

  async close(): Promise<void> {
    await this.#working.catch(() => undefined);
    await this.#save();
  }

  // ---------------------------------------------------------------- spending

  /** `amount` undefined merges two notes: the recipient's value is what they hold less the fees. */
  async #spend(
    operation: FeeOperation,
    payment: (value: bigint) => SpendPlan["payment"],
    amount: bigint | undefined,
    options: PaymentOptions,
  ): Promise<Payment> {
    const step = stepper(options);
    const { made, prepared } = await this.#inTurn(async () => {
      await step("sync", () => this.sync(options));
      for (let attempt = 1; ; attempt++) {
        const { prepared, fees } = await step("prepare", () =>
          this.#reserve(operation, payment, amount, options),
        );
        const { hash } = prepared.statement;
        let proof: WireProof;
        try {
          proof = await step("prove", () => this.#prove(prepared));
          options.signal?.throwIfAborted();
        } catch (error) {
          await this.#release(hash);
          throw error;
        }
        try {
          const body = spendBody(prepared, proof);
          const ticket = await step("submit", () => this.#options.client.sequenceSpend(body, options));
          return { made: { ticket, statement: hash, fees: fees.total }, prepared };
        } catch (error) {
          if (!isRefusal(error)) throw unknownOutcome(error);
          await this.#release(hash);
          // A reorganisation took the root away between proof and check: prove again on a newer one.
          const stale = error instanceof ApiProblem && error.code === "ROOT_UNKNOWN" && attempt < 3;
          if (!stale) throw error;
          await this.sync(options);
        }
      }
    });
    return this.#settle(made, prepared, options, step);
  }

  async #reserve(
    operation: FeeOperation,
    payment: (value: bigint) => SpendPlan["payment"],
    amount: bigint | undefined,
    options: PaymentOptions,
  ): Promise<{ prepared: Prepared; fees: Fees }> {
    const asset = await this.#asset(options);
    const merged = amount === undefined ? selectForConsolidation(this.#spendable(asset)) : undefined;
    // When merging, the fees of all that is merged are at least those of what is left after them.
    const charged = amount ?? sumOf(merged ?? []);
    const fees = await this.#fees(operation, asset, charged, options);
    const notes = merged ?? (await this.#choose(asset, charged + fees.total, options));
    const value = merged === undefined ? charged : charged - fees.total;
    if (value <= 0n) throw new ClientError("AMOUNT_INVALID", "the fees take all of it");
    const mark = verifiedRoot(this.#state);
    if (mark === undefined) throw new ClientError("INSUFFICIENT_FUNDS", "no note is in the tree yet");
    const deadline = this.#deadline(options);
    const prepared = prepareSpend({
      home: this.#home,
      keys: this.#keys,
      asset,
      fees,
      deadline,
      root: mark.root,
      inputs: notes.map((note) => ({ note, path: this.#state.tree.path(note.leafIndex, mark.leafCount) })),
      payment: payment(value),
    });
    this.#state.reservations.set(prepared.statement.hash, {
      statement: prepared.statement.hash,
      leafIndexes: notes.map((note) => note.leafIndex),
      deadline,
      change: prepared.own,
      asset,
    });
    // On disk before the service can have it: a restart must not pick the same notes for another payment.
    await this.#save();
    return { prepared, fees };
  }

  /** Waits for change that is on its way when that would be enough. */
  async #choose(asset: Address, needed: bigint, options: PaymentOptions): Promise<OwnedNote[]> {
    const attempt = (): OwnedNote[] | ClientError => {
      try {
        return selectNotes(this.#spendable(asset), needed);
      } catch (error) {
        if (error instanceof ClientError) return error;
        throw error;
      }
    };
    const first = attempt();
    if (Array.isArray(first)) return first;
    if (this.#expected(asset) < needed) throw first;
    let found: OwnedNote[] | undefined;
    const timeoutMs = this.#options.changeTimeoutMs ?? 120_000;
    try {
      await this.#feed.until(
        () => {
          const next = attempt();
          if (Array.isArray(next)) found = next;
          // Nothing more is on its way: waiting on would be in vain.
          return found !== undefined || !this.#awaits(asset);
        },
        { signal: options.signal, timeoutMs },
      );
    } catch (error) {
      if (error instanceof ClientError && error.code === "TIMED_OUT") throw first;
      throw error;
    }
    const last = found ?? attempt();
    if (Array.isArray(last)) return last;
    throw last;
  }

  async #prove({ statement, witness }: Prepared): Promise<WireProof> {
    return wireProof(await this.#options.prover.prove(statement, witness));
  }

  /** Waits as far as the caller wants, at `confirmed` until this wallet's own copy has it too. */
  async #settle(
    made: Payment,
    prepared: Prepared,
    options: PaymentOptions,
    step: ReturnType<typeof stepper>,
  ): Promise<Payment> {
    const until = options.until ?? "confirmed";
    if (until === "queued") return made;
    const release = this.#feed.hold();
    try {
      const ticket = await step("confirm", () => this.waitForTicket(made.ticket.ticket_id, until, options));
      await step("deliver", () =>
        this.#feed.until(() => this.#delivered(ticket, prepared), { timeoutMs: 120_000, ...options }),
      );
      await this.#save();
      return { ...made, ticket };
    } catch (error) {
      if (error instanceof TicketFailed) await this.#release(made.statement);
      throw error;
    } finally {
      release();
    }
  }

  /** The stream has brought every leaf of it and the end of every note it spent. */
  #delivered(ticket: Ticket, { statement }: Prepared): boolean {
    const { commitments, nullifiers } = statement.facts;
    const { tree } = this.#state;
    const leaves = commitments.every((commitment, at) => {
      const place = ticket.leaf_index[at];
      return place === undefined ? tree.includes(commitment) : tree.leaf(place) === commitment;
    });
    const spent = nullifiers.every((nullifier) => {
      const note = this.#state.noteOf(nullifier);
      return note === undefined || note.spent !== undefined;
    });
    return leaves && spent;
  }

  async #changed(ticket: Ticket, options: WaitOptions): Promise<Ticket> {
    const { ticket_id: id } = ticket;
    const differs = (): boolean => {
      const seen = this.#feed.ticket(id);
      return seen !== undefined && (seen.state !== ticket.state || seen.updated_at !== ticket.updated_at);
    };
    try {
      await this.#feed.until(differs, options);
      return this.#feed.ticket(id) ?? ticket;
    } catch (error) {
      if (!(error instanceof ClientError) || error.code !== "TIMED_OUT") throw error;
      // The stream may have gone quiet without closing; ask.
      return this.#options.client.ticket(id, options);
    }
  }

  // ---------------------------------------------------------------- state

  async #apply(event: StreamEvent): Promise<void> {
    if (event.kind === "ready") checkPins(this.#options.pins, event.data);
    const finding = applyEvent(this.#state, this.#keys.viewing, event);
    if (event.kind === "session_expired" || finding.type === "nothing") return;
    this.#dirty = true;
    if (this.#feed.synced) await this.#save();
    for (const listener of this.#listeners) listener();
  }

  /** One save at a time; what changes meanwhile is in the next one. */
  #save(): Promise<void> {
    this.#dirty = true;
    const next = this.#saving.then(async () => {
      if (!this.#dirty) return;
      this.#dirty = false;
      await this.#options.storage.save(sealState(this.#state, this.#home, this.#keys.storageKey()));
    });
    this.#saving = next.catch(() => {
      this.#dirty = true;
    });
    return next;
  }

  async #release(statement: Bytes32): Promise<void> {
    this.#state.reservations.delete(statement);
    await this.#save();
  }

  #spendable(asset: Address): OwnedNote[] {
    const now = this.#nowSecs();
    return this.notes().filter(
      (note) => note.asset === asset && stateOfNote(this.#state, note, now) === "spendable",
    );
  }

  /** What could be spendable once everything under way has arrived. */
  #expected(asset: Address): bigint {
    const { spendable, pending } = this.balance(asset);
    const now = this.#nowSecs();
    const change = [...this.#state.reservations.values()]
      .filter((reservation) => reservation.asset === asset && now <= reservation.deadline + CLOCK_MARGIN_SECS)
      .filter(({ leafIndexes }) =>
        leafIndexes.some((index) => this.#state.notes.get(index)?.spent === undefined),
      )
      .reduce((sum, reservation) => sum + reservation.change, 0n);
    return spendable + pending + change;
  }

  #awaits(asset: Address): boolean {
    const { pending, inFlight } = this.balance(asset);
    return pending > 0n || inFlight > 0n;
  }

  // ---------------------------------------------------------------- asking

  async #asset(options: PaymentOptions): Promise<Address> {
    if (this.#defaultAsset === undefined) {
      const info = await this.#options.client.info(options);
      checkInfo(this.#options.pins, info);
      this.#options.prover.checkInfo(info);
      this.#defaultAsset = asAddress(info.assets[0]?.address);
    }
    const asset = options.asset === undefined ? this.#defaultAsset : requireAddress(options.asset, "asset");
    if (asset === undefined) throw new ClientError("UNEXPECTED_ANSWER", "the instance has no asset");
    return asset;
  }

  async #fees(
    operation: FeeOperation,
    asset: Address,
    amount: bigint,
    options: PaymentOptions,
  ): Promise<Fees> {
    const { fees } = await this.#options.client.whoami(options);
    return feesFor(fees, { asset, operation, amount }, this.#options.pins);
  }

  #deadline({ deadlineSecs = DEFAULT_DEADLINE_SECS }: PaymentOptions): number {
    return this.#nowSecs() + deadlineSecs;
  }

  #nowSecs(): number {
    return this.#options.now?.() ?? Math.floor(Date.now() / 1000);
  }

  /** One payment at a time picks notes and proves; a failed one does not stop the next. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#working.then(work, work);
    this.#working = turn.catch(() => undefined);
    return turn;
  }
}

function reached(ticket: Ticket, until: TicketState): boolean {
  return RANK[until] < 0 ? ticket.state === until : RANK[ticket.state] >= RANK[until];
}

/** The service certainly has not taken the payment. After no answer, a busy one or a 5xx it may have, by an earlier try. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ApiProblem) {
    return error.status < 500 && error.status !== 429 && error.code !== "IDEMPOTENCY_IN_PROGRESS";
  }
  return error instanceof ClientError && error.code !== "NETWORK" && error.code !== "UNEXPECTED_ANSWER";
}

function unknownOutcome(cause: unknown): unknown {
  const code = cause instanceof ApiProblem || cause instanceof ClientError ? cause.code : undefined;
  return code === undefined ? cause : new ClientError("OUTCOME_UNKNOWN", code, { cause });
}

function requireAmount(amount: bigint): void {
  if (amount <= 0n || asField(amount) === undefined || amount >= 1n << 128n)
    throw new ClientError("AMOUNT_INVALID");
}

function stepper({ progress }: PaymentOptions): <T>(step: Step, work: () => Promise<T>) => Promise<T> {
  return async (step, work) => {
    const began = performance.now();
    const result = await work();
    progress?.(step, Math.round(performance.now() - began));
    return result;
  };
}
