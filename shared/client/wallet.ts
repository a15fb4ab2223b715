/**
 * A wallet: keys, notes, and what people do with them. It believes its own keys, its pins and
 * the chain's arithmetic; the service is asked for data and for carrying, and is checked or refused.
 */
import type { Ticket, TicketState } from "../api/transactions.ts";
import { asAddress } from "../protocol/brands.ts";
import { decodeShieldedAddress } from "../notes/address.ts";
import { SpendingKey } from "../notes/keys.ts";
import type { NoteOpening } from "./adopting.ts";
import type { DepositSigner } from "./authorization.ts";
import { balanceOf, balancesOf, type Balance } from "./balances.ts";
import type { Client } from "./client.ts";
import { Core } from "./core.ts";
import {
  Depositing,
  type DepositOptions,
  type PlainDeposit,
  type PlainDepositOptions,
} from "./depositing.ts";
import { ClientError } from "./errors.ts";
import type { WaitOptions } from "./feed.ts";
import { Ledger } from "./ledger.ts";
import { Operation } from "./operation.ts";
import type { Payment, PaymentOptions, SpendOptions } from "./payment.ts";
import { assetsOf, homeOf, requireAddress, type Pins } from "./pins.ts";
import type { Prover } from "./prover.ts";
import { quoteSwap, type QuoteRequest, type SwapOffer } from "./quote.ts";
import type { RootVerifier } from "./root-verifier.ts";
import type { TransactionSender } from "./sender.ts";
import { Spending, type Swap, type SwapOrder } from "./spending.ts";
import type { OwnedNote } from "./state.ts";
import type { WalletStorage } from "./storage.ts";

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

export interface Wallet {
  /** This wallet's shielded address: give it to whoever should pay. */
  readonly address: string;
  /** Reads the event stream up to now. */
  sync(options?: WaitOptions): Promise<void>;
  /**
   * Forgets what was read and reads the stream from its beginning. For a user who suspects that a service hid
   * notes: what is known already is not looked at again by `sync`, even when another service tells the truth.
   */
  rescan(options?: WaitOptions): Promise<void>;
  /** Keeps reading until the returned function is called; `onChange` after every event that changed a balance. */
  watch(onChange?: () => void, onError?: (error: unknown) => void): () => void;
  /** As of the last `sync`. One entry for each asset ever held. */
  balances(): Balance[];
  balance(asset?: string): Balance;
  /** Own notes, spent ones too: the wallet's history. */
  notes(): readonly OwnedNote[];
  /** Of a token with EIP-3009: the depositor signs, the service carries. */
  deposit(amount: bigint, signer: DepositSigner, options?: DepositOptions): Promise<Payment>;
  /** Of any other token: the depositor's account approves the pool for this amount, then sends the deposit and pays its gas. */
  depositPlain(
    amount: bigint,
    sender: TransactionSender,
    options?: PlainDepositOptions,
  ): Promise<PlainDeposit>;
  pay(address: string, amount: bigint, options?: PaymentOptions): Promise<Payment>;
  withdraw(to: string, amount: bigint, options?: PaymentOptions): Promise<Payment>;
  /**
   * Asks the service for a route and a floor, and checks all that can be checked here. What comes back is an order
   * for `swap`. How good its price is, is the service's word: `atLeast` is the caller's own.
   */
  quote(request: QuoteRequest, options?: WaitOptions): Promise<SwapOffer>;
  /** Gives one token and takes another at a price not below `floor`; the pool makes the bought note. */
  swap(order: SwapOrder, options?: SpendOptions): Promise<Swap>;
  /** Merges the largest notes into one, nine at most (two where the service has no `spend9`), for a transfer's fee. */
  consolidate(options?: PaymentOptions): Promise<Payment>;
  /**
   * Makes a note spendable that is this wallet's and whose ciphertext it could not read, from its opening: a fee
   * note as the service's operator hands it out. To be repeated after `rescan`, which knows the stream only; a note
   * that was spent before is then shown as unspent until the service refuses it.
   */
  adopt(opening: NoteOpening, options?: WaitOptions): Promise<OwnedNote>;
  waitForTicket(ticketId: string, until?: TicketState, options?: WaitOptions): Promise<Ticket>;
  /** Saves; the wallet is not used afterwards. */
  close(): Promise<void>;
}

/** Opens a wallet from storage, or a new one. A storage that holds something else throws; it is never overwritten. */
export async function createWallet(options: WalletOptions): Promise<Wallet> {
  const { key, client, storage, prover, pins, verifyRoot } = options;
  const keys =
    "seed" in key ? SpendingKey.fromSeed(key.seed) : SpendingKey.fromPhrase(key.phrase, key.passphrase);
  const home = homeOf(pins);
  const assets = assetsOf(pins);
  const now = options.now ?? ((): number => Math.floor(Date.now() / 1000));
  const ledger = await Ledger.open({ client, storage, pins, home, keys, verifyRoot, now });
  const core = new Core({ client, prover, pins, home, keys, assets, ledger, now });
  return new LiveWallet(core, options.changeTimeoutMs ?? 120_000);
}

class LiveWallet implements Wallet {
  readonly address: string;
  readonly #core: Core;
  readonly #depositing: Depositing;
  readonly #spending: Spending;

  constructor(core: Core, changeTimeoutMs: number) {
    const { keys, pins } = core.parts;
    this.#core = core;
    this.#depositing = new Depositing(core);
    this.#spending = new Spending(core, changeTimeoutMs);
    this.address = keys.viewing.addressText(pins.addressPrefix);
  }

  get #ledger(): Ledger {
    return this.#core.parts.ledger;
  }

  sync(options: WaitOptions = {}): Promise<void> {
    return Operation.run(options, (call) => this.#ledger.sync(call));
  }

  /** In turn: a payment must not find the notes that it picked gone. */
  rescan(options: WaitOptions = {}): Promise<void> {
    return Operation.run(options, (call) => this.#core.inTurn(call.signal, () => this.#ledger.rescan(call)));
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
    return balancesOf(this.#ledger.state, this.#core.parts.now());
  }

  balance(asset?: string): Balance {
    const { assets, now } = this.#core.parts;
    const wanted = asset === undefined ? assets[0] : requireAddress(asset, "asset");
    return balanceOf(this.#ledger.state, wanted, now());
  }

  notes(): readonly OwnedNote[] {
    return [...this.#ledger.state.notes.values()];
  }

  deposit(amount: bigint, signer: DepositSigner, options: DepositOptions = {}): Promise<Payment> {
    return this.#depositing.authorized(amount, signer, options);
  }

  depositPlain(
    amount: bigint,
    sender: TransactionSender,
    options: PlainDepositOptions = {},
  ): Promise<PlainDeposit> {
    return this.#depositing.plain(amount, sender, options);
  }

  async pay(address: string, amount: bigint, options: PaymentOptions = {}): Promise<Payment> {
    const to = decodeShieldedAddress(address, this.#core.parts.pins.addressPrefix);
    if (to === undefined) throw new ClientError("ADDRESS_INVALID");
    return this.#spending.pay("transfer", (value) => ({ type: "transfer", to, value }), amount, options);
  }

  async withdraw(to: string, amount: bigint, options: PaymentOptions = {}): Promise<Payment> {
    const recipient = asAddress(to);
    if (recipient === undefined || BigInt(recipient) === 0n)
      throw new ClientError("ADDRESS_INVALID", "no public address");
    return this.#spending.pay(
      "withdraw",
      (value) => ({ type: "withdraw", recipient, value }),
      amount,
      options,
    );
  }

  quote(request: QuoteRequest, options: WaitOptions = {}): Promise<SwapOffer> {
    return Operation.run(options, (call) => quoteSwap(this.#core, request, call));
  }

  swap(order: SwapOrder, options: SpendOptions = {}): Promise<Swap> {
    return this.#spending.swap(order, options);
  }

  consolidate(options: PaymentOptions = {}): Promise<Payment> {
    return this.#spending.consolidate(options);
  }

  adopt(opening: NoteOpening, options: WaitOptions = {}): Promise<OwnedNote> {
    return Operation.run(options, (call) =>
      this.#core.inTurn(call.signal, async () => {
        await this.#ledger.sync(call);
        return this.#ledger.adopt(opening);
      }),
    );
  }

  waitForTicket(
    ticketId: string,
    until: TicketState = "confirmed",
    options: WaitOptions = {},
  ): Promise<Ticket> {
    return Operation.run(options, (call) => this.#core.ticket(ticketId, until, call));
  }

  async close(): Promise<void> {
    await this.#core.idle();
    await this.#ledger.save();
  }
}
