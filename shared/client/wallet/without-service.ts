/**
 * A wallet without its service: it reads the pool from chain nodes, and an account of the caller's sends what it proves
 * and pays the gas. Needs money that is old enough: see `outlook`.
 */
import type { Address } from "../../protocol/brands.ts";
import { balanceOf } from "../state/balances.ts";
import { NodeRefused } from "../chain/json-rpc.ts";
import { payClaimCall, refusalOf, type PoolChain } from "../chain/pool-chain.ts";
import { parseSnarkjsProof } from "../../protocol/host/proofs.ts";
import { provedAnew } from "../paying/coming-again.ts";
import { requireAmount, type Core } from "../paying/core.ts";
import type { PaymentRecord } from "../state/payment-record.ts";
import { confirmable, isSuspended, type Suspended } from "../state/suspended.ts";
import { provedCall } from "../statements/execute-call.ts";
import type { KnownRoot } from "../chain/roots.ts";
import { typedSender } from "../statements/depositor.ts";
import { ClientError } from "../base/errors.ts";
import type { WaitOptions } from "../service/feed.ts";
import { Operation } from "../paying/operation.ts";
import { checkOptions, provedOptions, waitOptions, type Lists } from "../base/options.ts";
import { requirePayee, requireShielded } from "../base/pins.ts";
import {
  ProvedPayments,
  provableNotes,
  receiptOf,
  type ProvedOptions,
  type ProvedPayment,
} from "./proved-payments.ts";
import { sumOf } from "../state/selection.ts";
import type { TransactionSender } from "../statements/sender.ts";
import type { OwnedNote } from "../state/state.ts";

/** What of one token can be paid by a proof, and when. Together with `inFlight` all that the wallet has of it. */
export interface Outlook {
  readonly asset: Address;
  readonly provable: bigint;
  /** How many notes that is; one payment spends nine. */
  readonly provableNotes: number;
  /** By the moment from which it is provable, Unix seconds. */
  readonly later: readonly { readonly amount: bigint; readonly from: number }[];
  /** No root covers it: somebody has to `advance`. */
  readonly uncovered: bigint;
  /** Of payments under way. */
  readonly inFlight: bigint;
}

export interface Advanced {
  readonly transactionHash: string;
  /** So many leaves are in the tree now. */
  readonly leafCount: number;
}

/** The pool's signers are at work, or were so lately. */
export class AdvanceEarly extends ClientError {
  /** Unix seconds; later if they come back meanwhile. */
  readonly allowedFrom: number;
  constructor(allowedFrom: number) {
    super(
      "ADVANCE_EARLY",
      `from ${new Date(allowedFrom * 1000).toISOString()} on, if its signers stay silent`,
    );
    this.allowedFrom = allowedFrom;
  }
}

export interface ClaimsPaid {
  readonly transactionHashes: readonly string[];
  /** What the pool still owes to that account. */
  readonly owed: bigint;
  /** What was proved on a root that was revoked since: the pool pays nothing of it. */
  readonly suspended: bigint;
  /** Unix seconds when there is room for as much again; undefined where nothing is owed. Some of it is there before. */
  readonly nextFrom: number | undefined;
}

export interface DepositsReturned {
  readonly transactionHashes: readonly string[];
  /** What goes back later, and from when, Unix seconds; undefined where this wallet cannot ask for it, see its depositor. */
  readonly later: readonly {
    readonly asset: Address;
    readonly amount: bigint;
    readonly depositor: Address;
    readonly from: number | undefined;
  }[];
}

export interface BroughtBack {
  readonly transactionHashes: readonly string[];
  /** Suspended payments that no root is old enough for, or whose notes came with what is suspended itself. */
  readonly left: number;
}

/** In which what is full drains: shared/protocol/SPEC.md, 8.4. */
const DRAIN_SECS = 43_200;

export class WithoutService {
  readonly #open: () => Core;
  readonly #chain: PoolChain;
  readonly #sender: TransactionSender;

  /** `open` throws once the wallet is closed. */
  constructor(open: () => Core, chain: PoolChain, sender: TransactionSender) {
    this.#open = open;
    this.#chain = chain;
    this.#sender = typedSender(sender);
  }

  /** The chain's clock as this wallet has read it, Unix seconds. */
  get time(): number {
    return this.#chain.time;
  }

  sync(options: WaitOptions = {}): Promise<void> {
    return this.#run(options, "sync", (core, call) => core.parts.ledger.sync(call), waitOptions);
  }

  /** As of now: reads first. One entry for each token that the wallet has. */
  outlook(options: WaitOptions = {}): Promise<Outlook[]> {
    return this.#run(
      options,
      "outlook",
      async (core, call) => {
        await core.parts.ledger.sync(call);
        return this.#outlook(core, call);
      },
      waitOptions,
    );
  }

  async pay(address: string, value: bigint, options: ProvedOptions = {}): Promise<ProvedPayment> {
    requireAmount(value);
    const to = requireShielded(address, this.#open().parts.pins.addressPrefix);
    return this.#paying(options, "pay", (payments, call) =>
      payments.pay({ type: "transfer", to, value }, options, call),
    );
  }

  async withdraw(to: string, value: bigint, options: ProvedOptions = {}): Promise<ProvedPayment> {
    requireAmount(value);
    const recipient = requirePayee(to, this.#open().parts.pins);
    return this.#paying(options, "withdraw", (payments, call) =>
      payments.pay({ type: "withdraw", recipient, value }, options, call),
    );
  }

  /** Withdraws the largest notes that are old enough, nine at most, whole: to be repeated until nothing is left. */
  async leave(to: string, options: ProvedOptions = {}): Promise<ProvedPayment> {
    const recipient = requirePayee(to, this.#open().parts.pins);
    return this.#paying(options, "leave", (payments, call) => payments.leave(recipient, options, call));
  }

  /** Merges the largest notes into one, nine at most. It is old enough to be paid with when its own root is. */
  async consolidate(options: ProvedOptions = {}): Promise<ProvedPayment> {
    return this.#paying(options, "consolidate", (payments, call) => payments.consolidate(options, call));
  }

  /** From the account that sends: it approves exactly the amount first. */
  async deposit(amount: bigint, options: ProvedOptions = {}): Promise<ProvedPayment> {
    requireAmount(amount);
    return this.#paying(options, "deposit", (payments, call) => payments.deposit(amount, options, call));
  }

  /**
   * Puts leaves that wait into the tree, as many as one call can. Undefined when none waits. Throws AdvanceEarly while
   * the pool leaves that to its signers.
   */
  advance(options: WaitOptions = {}): Promise<Advanced | undefined> {
    return this.#run(
      options,
      "advance",
      async (core, call) => {
        const { ledger } = core.parts;
        await ledger.sync(call);
        const plan = await this.#chain.advance(ledger.state.tree, call.signal);
        if (plan === undefined) return undefined;
        if (plan.allowedFrom > this.#chain.time) throw new AdvanceEarly(plan.allowedFrom);
        const transactionHash = await this.#send(core, plan.data, call);
        const { leafCount } = plan;
        await ledger.feed.until(() => (ledger.state.latestRoot?.leafCount ?? 0) >= leafCount, call);
        return { transactionHash, leafCount };
      },
      waitOptions,
    );
  }

  /** When `advance` is allowed, Unix seconds; undefined when no leaf waits. */
  advanceableFrom(options: WaitOptions = {}): Promise<number | undefined> {
    return this.#run(
      options,
      "advanceableFrom",
      async (core, call) => {
        const { ledger } = core.parts;
        await ledger.sync(call);
        return (await this.#chain.advance(ledger.state.tree, call.signal))?.allowedFrom;
      },
      waitOptions,
    );
  }

  /** Has the pool pay what it owes to an account, as far as there is room now. Anyone may; the money goes to the account in any case. */
  async payClaims(to: string, options: ProvedOptions = {}): Promise<ClaimsPaid> {
    const recipient = requirePayee(to, this.#open().parts.pins);
    return this.#run(options, "payClaims", async (core, call) => {
      const asset = core.asset(options.asset);
      const { ledger } = core.parts;
      await ledger.sync(call);
      const transactionHashes: string[] = [];
      // What the node's newest block says is newer than what was read.
      const gone = new Set<bigint>();
      for (const { id, due } of await this.#owed(asset, recipient, call)) {
        if (due === 0n) continue;
        const hash = await this.#payOne(core, asset, id, call);
        if (hash === "paid before") gone.add(id);
        else if (hash !== "no room") transactionHashes.push(hash);
      }
      if (transactionHashes.length > 0) await ledger.sync(call);
      const left = (await this.#owed(asset, recipient, call)).filter(({ id }) => !gone.has(id));
      const sum = (isRevoked: boolean): bigint =>
        left.reduce((all, one) => (one.isRevoked === isRevoked ? all + one.amount : all), 0n);
      const [owed, suspended] = [sum(false), sum(true)];
      const nextFrom = owed === 0n ? undefined : this.#chain.time + DRAIN_SECS;
      return { transactionHashes, owed, suspended, nextFrom };
    });
  }

  /**
   * Has the pool pay back deposits of this wallet that somebody carried with a false proof, so that their notes are void, and
   * that nobody has proved again within the pool's delay. The money goes to the account that deposited it.
   */
  returnDeposits(options: WaitOptions = {}): Promise<DepositsReturned> {
    return this.#run(
      options,
      "returnDeposits",
      async (core, call) => {
        const { ledger, keys } = core.parts;
        await ledger.sync(call);
        const transactionHashes: string[] = [];
        const later: DepositsReturned["later"][number][] = [];
        for (const one of await this.#chain.voidDeposits(keys.viewing, call.signal)) {
          const { asset, amount, depositor } = one;
          const sent =
            one.call === undefined ? { from: undefined } : await this.#returnOne(core, one.call, call);
          if (typeof sent !== "string") later.push({ asset, amount, depositor, from: sent.from });
          else if (sent !== "stands") transactionHashes.push(sent);
        }
        return { transactionHashes, later };
      },
      waitOptions,
    );
  }

  /**
   * Proves payments of this wallet again that are suspended, since the root that they were proved on was revoked: their outputs
   * come again, and nothing moves. For one that is left to itself: with a service the wallet does it by `sync` and `watch`.
   */
  bringBack(options: WaitOptions = {}): Promise<BroughtBack> {
    return this.#run(
      options,
      "bringBack",
      async (core, call) => {
        const { ledger } = core.parts;
        await ledger.sync(call);
        const { aged } = await this.#chain.roots(ledger.state.tree, call.signal);
        const transactionHashes: string[] = [];
        for (const one of aged === undefined ? [] : confirmable(ledger.state, aged.leafCount)) {
          const hash = await core.inTurn(call.signal, () => this.#bringOne(core, one, aged!, call));
          if (hash !== undefined) transactionHashes.push(hash);
        }
        if (transactionHashes.length > 0) await ledger.sync(call);
        const isLeft = (record: PaymentRecord): boolean => isSuspended(ledger.state, record);
        return { transactionHashes, left: [...ledger.state.payments.values()].filter(isLeft).length };
      },
      waitOptions,
    );
  }

  /** Undefined where the chain does not know it, or it has come again. */
  async #bringOne(
    core: Core,
    suspended: Suspended,
    root: KnownRoot,
    call: Operation,
  ): Promise<string | undefined> {
    const { record, makings } = suspended;
    const earlier = { hash: record.statement, deadline: record.deadline, root: makings.root };
    const shown = await this.#chain.earlier(earlier, call.signal);
    if (shown === undefined) return undefined;
    const deadline = this.#chain.time + core.deadline({}) - core.parts.now();
    const prepared = provedAnew(core, suspended, root, deadline);
    const proof = parseSnarkjsProof(await core.prove(prepared, call));
    if (proof === undefined) throw new ClientError("PROOF_FAILED", "the prover gave no Groth16 proof");
    const { hash } = prepared.statement;
    const besides = await this.#chain.view(call.signal).memberGas(makings.kind);
    const sent = await this.#send(core, provedCall(prepared.statement, proof, shown), call, besides);
    await core.parts.ledger.keepPayment({ ...record, again: { statement: hash, deadline } });
    return sent;
  }

  async #returnOne(core: Core, data: string, call: Operation): Promise<string | { from: number }> {
    try {
      return await this.#send(core, data, call);
    } catch (error) {
      const refusal = refusalOfSending(error);
      // Proved again, or paid back.
      if (refusal?.name === "DepositStands") return "stands";
      if (refusal?.name === "TooEarly") return { from: Number(refusal.args[0]) };
      throw error;
    }
  }

  async #owed(asset: Address, recipient: Address, call: Operation) {
    const view = this.#chain.view(call.signal);
    const owed: { id: bigint; amount: bigint; due: bigint; isRevoked: boolean }[] = [];
    for (const { id } of await this.#chain.claimsOf(asset, recipient, call.signal)) {
      const claim = await view.claim(asset, id);
      if (claim.amount > 0n) owed.push({ id, ...claim });
    }
    return owed;
  }

  async #payOne(core: Core, asset: Address, id: bigint, call: Operation): Promise<string> {
    try {
      return await this.#send(core, payClaimCall(asset, id), call);
    } catch (error) {
      const reason = refusalOfSending(error)?.name;
      if (reason === "ClaimUnknown") return "paid before";
      // Somebody else has had it paid in the meantime, or its root was revoked.
      if (reason === "CapReached" || reason === "ClaimRevoked") return "no room";
      throw error;
    }
  }

  async #send({ parts: { home } }: Core, data: string, call: Operation, besides = 0n): Promise<string> {
    const from = await this.#sender.getAddress();
    let gasLimit: bigint;
    try {
      gasLimit = await this.#chain.gasLimit(from, data, besides, call.signal);
    } catch (error) {
      if (!(error instanceof NodeRefused)) throw error;
      throw new ClientError("NOT_EXECUTED", error.message, { cause: error });
    }
    const transaction = { to: home.pool, data, value: 0n, chainId: Number(home.chainId), gasLimit };
    const sent = await call.step("send", () => this.#sender.sendTransaction(transaction));
    const { status } = await call.step("confirm", () => receiptOf(sent, call.signal));
    if (status !== 1) throw new ClientError("NOT_EXECUTED", "reverted");
    return sent.hash;
  }

  async #outlook(core: Core, call: Operation): Promise<Outlook[]> {
    const { ledger } = core.parts;
    const roots = await this.#chain.roots(ledger.state.tree, call.signal);
    const found: Outlook[] = [];
    const assets = new Set([...ledger.state.notes.values()].map((note) => note.asset));
    for (const asset of assets) {
      const free = ledger.free(asset);
      const now = provableNotes(free, roots.aged);
      const young = free.filter((note) => !now.includes(note)).sort((a, b) => a.leafIndex - b.leafIndex);
      const later: { amount: bigint; from: number }[] = [];
      const uncovered: OwnedNote[] = [];
      for (const note of young) {
        const from = await roots.coveredFrom(note.leafIndex + 1);
        const last = later.at(-1);
        if (from === undefined) uncovered.push(note);
        else if (last?.from === from) last.amount += note.value;
        else later.push({ amount: note.value, from });
      }
      const { inFlight } = balanceOf(ledger.state, asset, core.parts.now());
      found.push({
        ...{ asset, provable: sumOf(now), provableNotes: now.length, later },
        ...{ uncovered: sumOf(uncovered), inFlight },
      });
    }
    return found;
  }

  #paying(
    options: ProvedOptions,
    name: string,
    work: (payments: ProvedPayments, call: Operation) => Promise<ProvedPayment>,
  ): Promise<ProvedPayment> {
    return this.#run(options, name, (core, call) =>
      work(new ProvedPayments(core, this.#chain, this.#sender), call),
    );
  }

  async #run<T>(
    options: ProvedOptions,
    name: string,
    work: (core: Core, call: Operation) => Promise<T>,
    schema: typeof waitOptions | typeof provedOptions = provedOptions satisfies Lists<ProvedOptions>,
  ): Promise<T> {
    const core = this.#open();
    checkOptions(schema, options, name);
    core.parts.ledger.readFrom("chain");
    return Operation.run(options, (call) => work(core, call));
  }
}

/** The pool's own word, where the node refused to send it for that. */
function refusalOfSending(error: unknown): ReturnType<typeof refusalOf> {
  const { cause } = error as { cause?: unknown };
  return cause instanceof NodeRefused ? refusalOf(cause.data) : undefined;
}
