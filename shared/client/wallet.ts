/**
 * A wallet: keys, notes, and the three things people do with them. It believes its own keys, its pins and
 * the chain's arithmetic; the service is asked for data and for carrying, and is checked or refused.
 */
import type { Ticket, TicketState } from "../api/transactions.ts";
import { asAddress, asField, type Address, type Bytes32 } from "../protocol/brands.ts";
import type { FeeOperation } from "../protocol/fees.ts";
import type { Home } from "../protocol/statements.ts";
import { decodeShieldedAddress } from "../notes/address.ts";
import { SpendingKey } from "../notes/keys.ts";
import { depositAuthorization, signAuthorization, type DepositSigner } from "./authorization.ts";
import { balanceOf, balancesOf, type Balance } from "./balances.ts";
import type { Client } from "./client.ts";
import { ApiProblem, ClientError } from "./errors.ts";
import type { WaitOptions } from "./feed.ts";
import { feesFor, type Fees } from "./fees.ts";
import { assetsOf, checkInfo, homeOf, requireAddress, tokenDomainOf, type Pins } from "./pins.ts";
import type { Delivery } from "./http.ts";
import type { Prover } from "./prover.ts";
import type { RootVerifier } from "./root-verifier.ts";
import { verifiedRoot } from "./scanner.ts";
import { selectForConsolidation, sumOf } from "./selection.ts";
import { Ledger } from "./ledger.ts";
import type { OwnedNote } from "./state.ts";
import { isRefusal, TicketFailed, unknownOutcome, waitForTicket } from "./tickets.ts";
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
  /**
   * Asks a source of the application's own whether the pool has a root: `poolRootVerifier` for a chain node.
   * Without it all income is `unverified`. A payment may be made either way: a false root only makes a proof
   * that the pool refuses.
   */
  readonly verifyRoot?: RootVerifier;
  /** How long a payment may wait for change that is still on its way. Default 2 minutes. */
  readonly changeTimeoutMs?: number;
  /** Unix seconds; for tests. */
  readonly now?: () => number;
}

export type Step = "sync" | "prepare" | "sign" | "prove" | "submit" | "confirm" | "deliver";

/** Called after each step with how long it took. */
export type Progress = (step: Step, ms: number) => void;

export interface PaymentOptions extends WaitOptions {
  /** The token, one of the pinned. Default: the first of them. */
  readonly asset?: string;
  /** After this many seconds the payment can no longer happen. Default 900, at most 86,400. */
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
  const assets = assetsOf(options.pins);
  const { client, storage, pins, verifyRoot } = options;
  const now = (): number => nowOf(options);
  const ledger = await Ledger.open({ client, storage, pins, home, keys, verifyRoot, now });
  return new LiveWallet(options, keys, home, assets, ledger);
}

/**
 * As long as whoever holds a proof can use it, so short: long enough for a busy chain, and not so long that a
 * refused payment binds its notes for an hour or a deposit made again is made twice.
 */
const DEFAULT_DEADLINE_SECS = 900;

class LiveWallet implements Wallet {
  readonly address: string;
  readonly #options: WalletOptions;
  readonly #keys: SpendingKey;
  readonly #home: Home;
  readonly #assets: readonly [Address, ...Address[]];
  readonly #ledger: Ledger;
  #working: Promise<unknown> = Promise.resolve();
  #isInfoChecked = false;

  constructor(
    options: WalletOptions,
    keys: SpendingKey,
    home: Home,
    assets: readonly [Address, ...Address[]],
    ledger: Ledger,
  ) {
    this.#options = options;
    this.#keys = keys;
    this.#home = home;
    this.#assets = assets;
    this.#ledger = ledger;
    this.address = keys.viewing.addressText(options.pins.addressPrefix);
  }

  sync(options: WaitOptions = {}): Promise<void> {
    return this.#ledger.sync(options);
  }

  watch(
    onChange: () => void = () => undefined,
    onError: (error: unknown) => void = () => undefined,
  ): () => void {
    const stopListening = this.#ledger.listen(onChange);
    const release = this.#ledger.feed.hold(onError);
    return () => {
      stopListening();
      release();
    };
  }

  balances(): Balance[] {
    return balancesOf(this.#ledger.state, nowOf(this.#options));
  }

  balance(asset?: string): Balance {
    const wanted = asset === undefined ? this.#assets[0] : requireAddress(asset, "asset");
    return balanceOf(this.#ledger.state, wanted, nowOf(this.#options));
  }

  notes(): readonly OwnedNote[] {
    return [...this.#ledger.state.notes.values()];
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

  waitForTicket(
    ticketId: string,
    until: TicketState = "confirmed",
    options: WaitOptions = {},
  ): Promise<Ticket> {
    return waitForTicket(this.#options.client, this.#ledger.feed, ticketId, until, options);
  }

  async close(): Promise<void> {
    await this.#working;
    await this.#ledger.save();
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
          await this.#ledger.release(hash);
          throw error;
        }
        const delivery: Delivery = {};
        try {
          const body = spendBody(prepared, proof);
          const ticket = await step("submit", () =>
            this.#options.client.sequenceSpend(body, { ...options, delivery }),
          );
          return { made: { ticket, statement: hash, fees: fees.total }, prepared };
        } catch (error) {
          if (delivery.sent === false) {
            await this.#ledger.release(hash);
            throw error;
          }
          if (!isRefusal(error)) throw unknownOutcome(error);
          await this.#ledger.refused(hash);
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
    await this.#ledger.settleRefused(asset);
    const merged =
      amount === undefined
        ? selectForConsolidation(this.#ledger.spendable(asset), this.#ledger.exposed(asset))
        : undefined;
    // When merging, the fees of all that is merged are at least those of what is left after them.
    const charged = amount ?? sumOf(merged ?? []);
    const fees = await this.#fees(operation, asset, charged, options);
    const notes = merged ?? (await this.#choose(asset, charged + fees.total, options));
    // Again: while we waited for change a refused payment may have been executed, and then bound us no more.
    await this.#ledger.settleRefused(asset);
    const value = merged === undefined ? charged : charged - fees.total;
    if (value <= 0n) throw new ClientError("AMOUNT_INVALID", "the fees take all of it");
    const mark = verifiedRoot(this.#ledger.state);
    if (mark === undefined) throw new ClientError("INSUFFICIENT_FUNDS", "no note is in the tree yet");
    const { tree } = this.#ledger.state;
    const deadline = this.#deadline(options);
    const prepared = prepareSpend({
      home: this.#home,
      keys: this.#keys,
      asset,
      fees,
      deadline,
      root: mark.root,
      inputs: notes.map((note) => ({ note, path: tree.path(note.leafIndex, mark.leafCount) })),
      payment: payment(value),
    });
    const leafIndexes = notes.map((note) => note.leafIndex);
    const { hash: statement, facts } = prepared.statement;
    const { commitments } = facts;
    const change = prepared.own;
    await this.#ledger.reserve({
      ...{ statement, commitments, refused: false },
      ...{ leafIndexes, deadline, change, asset },
    });
    return { prepared, fees };
  }

  async #choose(asset: Address, needed: bigint, options: PaymentOptions): Promise<OwnedNote[]> {
    const timeoutMs = this.#options.changeTimeoutMs ?? 120_000;
    try {
      return await this.#ledger.choose(asset, needed, { signal: options.signal, timeoutMs });
    } catch (error) {
      const late = error instanceof ClientError && error.code === "TIMED_OUT";
      throw late
        ? new ClientError("TIMED_OUT", "money on its way did not come under a root of the pool")
        : error;
    }
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
    const release = this.#ledger.feed.hold();
    try {
      const ticket = await step("confirm", () => this.waitForTicket(made.ticket.ticket_id, until, options));
      await step("deliver", () =>
        this.#ledger.feed.until(() => this.#ledger.holds(prepared.statement), {
          timeoutMs: 120_000,
          ...options,
        }),
      );
      await this.#ledger.save();
      return { ...made, ticket };
    } catch (error) {
      if (error instanceof TicketFailed) await this.#ledger.refused(made.statement);
      throw error;
    } finally {
      release();
    }
  }

  // ---------------------------------------------------------------- asking

  async #asset(options: PaymentOptions): Promise<Address> {
    const asset = options.asset === undefined ? this.#assets[0] : requireAddress(options.asset, "asset");
    if (!this.#assets.includes(asset)) throw new ClientError("PIN_MISMATCH", "not a pinned asset");
    if (!this.#isInfoChecked) {
      const info = await this.#options.client.info(options);
      checkInfo(this.#options.pins, info);
      this.#options.prover.checkInfo(info);
      this.#isInfoChecked = true;
    }
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
    return nowOf(this.#options) + deadlineSecs;
  }

  /** One payment at a time picks notes and proves; a failed one does not stop the next. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#working.then(work, work);
    this.#working = turn.catch(() => undefined);
    return turn;
  }
}

function nowOf({ now }: WalletOptions): number {
  return now?.() ?? Math.floor(Date.now() / 1000);
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
