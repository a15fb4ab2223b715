/**
 * A wallet: keys, notes, and what people do with them. It believes its own keys, its pins and
 * the chain's arithmetic; the service is asked for data and for carrying, and is checked or refused.
 */
import * as z from "../../api/zod.ts";
import type { Ticket, TicketState } from "../../api/transactions.ts";
import { SEED_BYTES, SpendingKey } from "../../notes/keys.ts";
import type { Home } from "../../protocol/statements.ts";
import { activityOf, type ActivityItem } from "../state/activity.ts";
import { confirmable } from "../state/suspended.ts";
import type { NoteOpening } from "../state/adopting.ts";
import type { DepositSigner } from "../statements/authorization.ts";
import { balanceOf, balancesOf, type Balance } from "../state/balances.ts";
import type { Bridges } from "../bridges/bridges.ts";
import { lazyBridges } from "../bridges/lazy.ts";
import type { PoolChain } from "../chain/pool-chain.ts";
import type { Client } from "../service/client.ts";
import type { ChainAccess } from "./chain-access.ts";
import { LiveContacts, type Contacts } from "./contacts.ts";
import { createJsonRpc } from "../chain/json-rpc.ts";
import { Nodes } from "../chain/nodes.ts";
import type { ComingAgain } from "../paying/coming-again.ts";
import { Core, requireAmount, type ServingEnclave } from "../paying/core.ts";
import {
  Depositing,
  type DepositOptions,
  type PlainDeposit,
  type PlainDepositOptions,
} from "../paying/depositing.ts";
import { typedSender, typedSigner } from "../statements/depositor.ts";
import type { DiscloseOptions } from "../disclosure/disclosure.ts";
import { ClientError } from "../base/errors.ts";
import type { WaitOptions } from "../service/feed.ts";
import { prepareArithmetic } from "../base/first-use.ts";
import { Ledger } from "../paying/ledger.ts";
import { Operation } from "../paying/operation.ts";
import {
  aFunction,
  anObject,
  checkOptions,
  depositOptions,
  discloseOptions,
  paymentOptions,
  pinsOptions,
  plainDepositOptions,
  spendOptions,
  syncOptions,
  ticketState,
  waitOptions,
  walletOptions,
  type Lists,
} from "../base/options.ts";
import type { Payment, PaymentOptions, Progress, SpendOptions } from "../paying/payment.ts";
import {
  addressesOf,
  assetsOf,
  homeOf,
  requireAddress,
  requirePayee,
  requireShielded,
  type Pins,
} from "../base/pins.ts";
import type { Prover } from "../prover/prover.ts";
import { quoteSwap, type QuoteRequest, type SwapOffer } from "./quote.ts";
import { poolRootVerifier, type RootVerifier } from "../service/root-verifier.ts";
import type { TransactionSender } from "../statements/sender.ts";
import { Spending, type Swap, type SwapOrder } from "../paying/spending.ts";
import type { Origin, OwnedNote } from "../state/state.ts";
import type { WalletStorage } from "../state/storage.ts";
import type { WithoutService } from "./without-service.ts";
import { workerFile } from "../prover/worker-file.ts";

export interface WalletOptions {
  /** 32 random bytes, or a BIP-39 phrase. */
  readonly key: { readonly seed: Uint8Array } | { readonly phrase: string; readonly passphrase?: string };
  /** May be absent where `chain` is given: the wallet then reads the chain, and pays `withoutService`. */
  readonly client?: Client;
  /** `poolChain(…)`: nodes from which the pool itself is read, for `withoutService`. */
  readonly chain?: ChainAccess;
  readonly storage: WalletStorage;
  /**
   * Opens the wallet also where its storage's copy of the pool's history is damaged, which is HISTORY_DAMAGED otherwise. The
   * next `sync` reads all of it again; until then there are no balances. Payments under way, the record of payments,
   * contacts and bridge addresses are kept apart and are whole. It does nothing where nothing is damaged.
   */
  readonly rebuild?: boolean;
  readonly prover: Prover;
  /** Where the application serves `cloister-client/worker`, as `createProver` has it: a long history is scanned there. */
  readonly worker?: string | URL;
  readonly pins: Pins;
  /**
   * Chain nodes that are not the service's: one's address, or several, which must then agree. They are asked whether the
   * pool has the roots that income rests on, and whether the pool itself has registered the service's enclaves, of the
   * images that they prove to be. Default: the nodes of `chain`. Without any, the service's word is taken for both.
   */
  readonly rpc?: string | readonly string[];
  /**
   * Asks another source of the application's own whether the pool has a root. Default: the nodes of `rpc`. With
   * neither, all income is `unverified`. A payment may be made either way: a false root only makes a proof that the
   * pool refuses.
   */
  readonly verifyRoot?: RootVerifier;
  /** How long a payment may wait for change that is still on its way. Default 2 minutes. */
  readonly changeTimeoutMs?: number;
  /** Unix seconds; for tests. */
  readonly now?: () => number;
}

export interface SyncOptions extends WaitOptions {
  readonly progress?: Progress;
}

export interface Wallet {
  /** This wallet's shielded address: give it to whoever should pay. */
  readonly address: string;
  /** Reads what happened up to now. The first time, of a long history, `progress` is told how much of it is read. */
  sync(options?: SyncOptions): Promise<void>;
  /**
   * Forgets what was read and reads the stream from its beginning. For a user who suspects that a service hid
   * notes: what is known already is not looked at again by `sync`, even when another service tells the truth.
   */
  rescan(options?: SyncOptions): Promise<void>;
  /**
   * Keeps reading until the returned function is called; `onChange` after every event that changed a balance. Where the
   * stream gives up, after two minutes without the service, `onError` says so and nobody watches any more.
   */
  watch(onChange?: () => void, onError?: (error: unknown) => void): () => void;
  /** As of the last `sync`. One entry for each asset ever held. */
  balances(): Balance[];
  balance(asset?: string): Balance;
  /** Own notes, spent ones too: the wallet's history. */
  notes(): readonly OwnedNote[];
  /** What happened, newest first; as of the last `sync`, and without a network. See `ActivityItem`. */
  activity(): ActivityItem[];
  /** The address book. */
  readonly contacts: Contacts;
  /**
   * A text that shows one private payment to one reader: that it was made, to whom, how much, in what and when. Of a payment
   * of this wallet's as its payer, of income as its payee. Nothing is sent; the reader takes it to `verifyDisclosure`. Throws
   * OPTIONS_INVALID, ADDRESS_INVALID, and DISCLOSURE_IMPOSSIBLE with the reason.
   */
  disclose(options: DiscloseOptions): Promise<string>;
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
  /**
   * The same wallet, paying without its service: it reads the chain's nodes, proves over roots that are old enough,
   * and `sender` sends to the pool and pays the gas. Throws OPTIONS_INVALID where `createWallet` was given no `chain`.
   */
  withoutService(sender: TransactionSender): Promise<WithoutService>;
  /** Merges the largest notes into one, nine at most (two where the service has no `spend9`), for a transfer's fee. */
  consolidate(options?: PaymentOptions): Promise<Payment>;
  /**
   * Makes a note spendable that is this wallet's and whose ciphertext it could not read, from its opening: a fee
   * note as the service's operator hands it out. To be repeated after `rescan` and `rebuild`, which know the stream only; a note
   * that was spent before is then shown as unspent until the service refuses it.
   */
  adopt(opening: NoteOpening, options?: WaitOptions): Promise<OwnedNote>;
  waitForTicket(ticketId: string, until?: TicketState, options?: WaitOptions): Promise<Ticket>;
  /**
   * The enclaves that sign for the service, each of which has just proved what it runs, over a nonce that nobody has seen
   * before; with `rpc`, what the pool says of each: which image, since when, and how that was admitted. Throws
   * ENCLAVE_UNVERIFIED, PIN_MISMATCH, CLOCK_WRONG.
   */
  enclaves(options?: WaitOptions): Promise<ServingEnclave[]>;
  /** Money in from other places, and out to them. Needs `pins.bridges`; without them each call throws FEATURE_OFF. */
  readonly bridges: Bridges;
  /**
   * Ends every wait and watch, lets a payment that is being made come to its answer, and saves. Afterwards every method
   * but this one is refused with WALLET_CLOSED. A payment that was sent may still happen.
   */
  close(): Promise<void>;
}

/**
 * Opens a wallet from storage, or a new one. A storage that holds something else throws; it is never overwritten.
 * Throws OPTIONS_INVALID, ADDRESS_INVALID, KEY_INVALID, STORAGE_FAILED, STORAGE_CORRUPT, STORAGE_FOREIGN and HISTORY_DAMAGED.
 */
export async function createWallet(options: WalletOptions): Promise<Wallet> {
  checkOptions(walletOptions satisfies Lists<WalletOptions>, options, "createWallet");
  checkOptions(pinsOptions satisfies Lists<Pins>, options.pins, "createWallet.pins");
  const { key, storage, prover, pins } = options;
  for (const [place, text] of addressesOf(pins)) requireAddress(text, place);
  await prepareArithmetic();
  const keys = await keysOf(key);
  const home = homeOf(pins);
  const assets = assetsOf(pins);
  const now = options.now ?? ((): number => Math.floor(Date.now() / 1000));
  const access = options.chain;
  const chain = access?.open(home, pins.verifyingKeys ?? {}, now);
  if (options.client === undefined && chain === undefined)
    throw new ClientError(
      "OPTIONS_INVALID",
      "createWallet.client: what createClient returns, unless there is a chain",
    );
  const client = options.client ?? absentClient();
  const own = ownNodes(options, home);
  const verifyRoot = options.verifyRoot ?? own?.verifyRoot;
  const rebuild = options.rebuild ?? false;
  const worker = workerFile(options.worker);
  const ledger = await Ledger.open({
    ...{ client, chain, storage, pins, home, keys, worker, verifyRoot, rebuild, now },
  });
  const core = new Core({ client, prover, pins, home, keys, assets, ledger, nodes: own?.nodes, now });
  const usual: Origin = options.client === undefined ? "chain" : "service";
  ledger.readFrom(usual);
  return new LiveWallet(core, { access, chain, usual, changeTimeoutMs: options.changeTimeoutMs ?? 120_000 });
}

/** The nodes of the user's own, where any are given. Throws OPTIONS_INVALID. */
function ownNodes(
  { rpc, chain }: Pick<WalletOptions, "rpc" | "chain">,
  { chainId, pool }: Home,
): { readonly nodes: Nodes; readonly verifyRoot: RootVerifier } | undefined {
  const urls = rpc === undefined ? chain?.rpc : typeof rpc === "string" ? [rpc] : rpc;
  if (urls === undefined) return undefined;
  const asking = chain?.fetch === undefined ? {} : { fetch: chain.fetch };
  const nodes = new Nodes(
    urls.map((url) => createJsonRpc(url, asking)),
    Number(chainId),
  );
  const all = urls.map((url) => poolRootVerifier(url, Number(chainId), pool, asking));
  const verifyRoot: RootVerifier = async (root) =>
    (await Promise.all(all.map((knows) => knows(root)))).every((known) => known);
  return { nodes, verifyRoot };
}

/** Nothing of a wallet without a service asks one by mistake. */
function absentClient(): Client {
  const refuse = (): never => {
    throw new ClientError("OPTIONS_INVALID", "createWallet was given no client: see withoutService");
  };
  return new Proxy({}, { get: () => refuse }) as Client;
}

interface LiveOptions {
  readonly access: ChainAccess | undefined;
  readonly chain: PoolChain | undefined;
  /** Where history is read unless a call says otherwise. */
  readonly usual: Origin;
  readonly changeTimeoutMs: number;
}

/** Nothing of the key is ever said: an error ends up in a log. */
async function keysOf(key: WalletOptions["key"]): Promise<SpendingKey> {
  const { seed, phrase, passphrase } = key as { seed?: unknown; phrase?: unknown; passphrase?: unknown };
  if ((seed === undefined) === (phrase === undefined))
    throw new ClientError("KEY_INVALID", "either { seed } or { phrase }");
  if (seed !== undefined) {
    if (!(seed instanceof Uint8Array) || seed.length !== SEED_BYTES)
      throw new ClientError("KEY_INVALID", `a seed is a Uint8Array of ${SEED_BYTES} bytes`);
    return SpendingKey.fromSeed(seed);
  }
  if (typeof phrase !== "string" || (passphrase !== undefined && typeof passphrase !== "string"))
    throw new ClientError("KEY_INVALID", "phrase and passphrase are texts");
  try {
    return await SpendingKey.fromPhrase(phrase, passphrase);
  } catch {
    throw new ClientError("KEY_INVALID", "not a BIP-39 phrase of 12 to 24 English words; is one mistyped?");
  }
}

class LiveWallet implements Wallet {
  readonly address: string;
  readonly bridges: Bridges;
  readonly contacts: Contacts;
  readonly #core: Core;
  readonly #depositing: Depositing;
  readonly #spending: Spending;
  readonly #options: LiveOptions;
  #closing: Promise<void> | undefined;
  #again: Promise<ComingAgain> | undefined;

  constructor(core: Core, options: LiveOptions) {
    const { keys, pins } = core.parts;
    this.#core = core;
    this.#depositing = new Depositing(core);
    this.#options = options;
    this.#spending = new Spending(core, options.changeTimeoutMs);
    this.address = keys.viewing.addressText(pins.addressPrefix);
    this.contacts = new LiveContacts(() => this.#ledger, pins.addressPrefix);
    this.bridges = lazyBridges({
      core,
      spending: this.#spending,
      check: (schema, given, name) => this.#check(schema, given, name),
    });
  }

  /** What every method works with: a closed wallet's storage may be in another's hands. */
  #open(): Core {
    if (this.#closing !== undefined) throw new ClientError("WALLET_CLOSED");
    return this.#core;
  }
  get #ledger(): Ledger {
    return this.#open().parts.ledger;
  }

  async sync(options: SyncOptions = {}): Promise<void> {
    this.#check(syncOptions satisfies Lists<SyncOptions>, options, "sync");
    await Operation.run(options, async (call) => {
      await call.step("sync", () => this.#ledger.sync(call));
      await this.#ledger.confirmed(call);
    });
    this.#comeAgain();
  }

  /** Behind the caller's back: it costs a proof, moves nothing, and the next look tries again. */
  readonly #comeAgain = (): void => {
    const { ledger } = this.#core.parts;
    const { state } = ledger;
    if (this.#closing !== undefined || this.#options.usual === "chain") return;
    if (confirmable(state, state.latestRoot?.leafCount ?? 0).length === 0) return;
    this.#again ??= import("../paying/coming-again.ts").then(
      ({ ComingAgain }) => new ComingAgain(this.#core),
    );
    void this.#again.then((again) => again.work()).catch(() => (this.#again = undefined));
  };

  /** In turn: a payment must not find the notes that it picked gone. */
  async rescan(options: SyncOptions = {}): Promise<void> {
    this.#check(syncOptions, options, "rescan");
    const { ledger } = this.#core.parts;
    await Operation.run(options, async (call) => {
      await call.step("sync", () => this.#core.inTurn(call.signal, () => ledger.rescan(call)));
      await ledger.confirmed(call);
    });
  }

  watch(
    onChange: () => void = () => undefined,
    onError: (error: unknown) => void = () => undefined,
  ): () => void {
    const ledger = this.#ledger;
    checkOptions(z.tuple([aFunction, aFunction]), [onChange, onError], "watch");
    const stops = [
      ledger.listen(onChange),
      // Not while it catches up: what comes next may have brought it again.
      ledger.listen(() => ledger.feed.synced && this.#comeAgain()),
    ];
    const release = ledger.feed.hold(onError);
    return () => {
      for (const stop of stops) stop();
      release();
    };
  }

  balances(): Balance[] {
    return balancesOf(this.#ledger.state, this.#core.parts.now());
  }

  balance(asset?: string): Balance {
    const { assets, now } = this.#open().parts;
    const wanted = asset === undefined ? assets[0] : requireAddress(asset, "asset");
    return balanceOf(this.#ledger.state, wanted, now());
  }

  notes(): readonly OwnedNote[] {
    return [...this.#ledger.state.notes.values()];
  }

  activity(): ActivityItem[] {
    return activityOf(this.#ledger.state, this.#core.parts.now());
  }

  async disclose(options: DiscloseOptions): Promise<string> {
    this.#open();
    checkOptions(discloseOptions satisfies Lists<DiscloseOptions>, options, "disclose");
    const { disclose } = await import("../disclosure/making.ts");
    const { keys, home, pins, now } = this.#core.parts;
    const { state } = this.#ledger;
    return disclose({ state, keys, home, prefix: pins.addressPrefix, now: now() }, options);
  }

  async deposit(amount: bigint, signer: DepositSigner, options: DepositOptions = {}): Promise<Payment> {
    this.#check(depositOptions satisfies Lists<DepositOptions>, options, "deposit");
    requireAmount(amount);
    return this.#depositing.authorized(amount, typedSigner(signer), options);
  }

  async depositPlain(
    amount: bigint,
    sender: TransactionSender,
    options: PlainDepositOptions = {},
  ): Promise<PlainDeposit> {
    this.#check(plainDepositOptions satisfies Lists<PlainDepositOptions>, options, "depositPlain");
    requireAmount(amount);
    return this.#depositing.plain(amount, typedSender(sender), options);
  }

  async pay(address: string, amount: bigint, options: PaymentOptions = {}): Promise<Payment> {
    this.#check(paymentOptions satisfies Lists<PaymentOptions>, options, "pay");
    const to = requireShielded(address, this.#core.parts.pins.addressPrefix);
    return this.#spending.pay({ type: "transfer", to, value: amount }, options);
  }

  async withdraw(to: string, amount: bigint, options: PaymentOptions = {}): Promise<Payment> {
    this.#check(paymentOptions, options, "withdraw");
    const recipient = requirePayee(to, this.#core.parts.pins);
    return this.#spending.pay({ type: "withdraw", recipient, value: amount }, options);
  }

  async withoutService(sender: TransactionSender): Promise<WithoutService> {
    this.#open();
    const { access, chain } = this.#options;
    if (access === undefined || chain === undefined)
      throw new ClientError("OPTIONS_INVALID", "createWallet.chain: poolChain(…)");
    return access.withoutService(() => this.#open(), chain, sender);
  }

  async quote(request: QuoteRequest, options: WaitOptions = {}): Promise<SwapOffer> {
    this.#check(waitOptions, options, "quote");
    checkOptions(anObject, request, "quote");
    return Operation.run(options, (call) => quoteSwap(this.#core, request, call));
  }

  async swap(order: SwapOrder, options: SpendOptions = {}): Promise<Swap> {
    this.#check(spendOptions satisfies Lists<SpendOptions>, options, "swap");
    checkOptions(anObject, order, "swap");
    if (typeof order.path !== "string") throw new ClientError("PATH_INVALID", "a path is a text in hex");
    return this.#spending.swap(order, options);
  }

  async consolidate(options: PaymentOptions = {}): Promise<Payment> {
    this.#check(paymentOptions, options, "consolidate");
    return this.#spending.consolidate(options);
  }

  async adopt(opening: NoteOpening, options: WaitOptions = {}): Promise<OwnedNote> {
    this.#check(waitOptions, options, "adopt");
    const { ledger } = this.#core.parts;
    return Operation.run(options, (call) =>
      this.#core.inTurn(call.signal, async () => {
        await ledger.sync(call);
        return ledger.adopt(opening, call);
      }),
    );
  }

  async waitForTicket(
    ticketId: string,
    until: TicketState = "confirmed",
    options: WaitOptions = {},
  ): Promise<Ticket> {
    this.#check(waitOptions, options, "waitForTicket");
    checkOptions(z.string("a ticket's id").min(1), ticketId, "waitForTicket.ticketId");
    checkOptions(ticketState, until, "waitForTicket.until");
    return Operation.run(options, (call) => this.#core.ticket(ticketId, until, call));
  }

  async enclaves(options: WaitOptions = {}): Promise<ServingEnclave[]> {
    this.#check(waitOptions, options, "enclaves");
    return Operation.run(options, (call) => this.#core.enclaves(call));
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#end());
  }

  async #end(): Promise<void> {
    const { ledger } = this.#core.parts;
    ledger.feed.close(new ClientError("WALLET_CLOSED"));
    await this.#core.idle();
    await ledger.save();
  }

  #check(schema: z.ZodType, options: unknown, name: string): void {
    this.#open().parts.ledger.readFrom(this.#options.usual);
    checkOptions(schema, options, name);
  }
}
