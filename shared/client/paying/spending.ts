/**
 * Payments out of notes: private transfers, withdrawals, merges and swaps. Picks the notes under the rules of
 * ../state/exposure.ts, makes and proves the statement, and knows at every failure whether the service may have it.
 */
import type { Ticket } from "../../api/transactions.ts";
import { decodeUniswapPath } from "../../api/uniswap-path.ts";
import type { Address } from "../../protocol/brands.ts";
import type { FeeOperation } from "../../protocol/host/fees.ts";
import { KINDS } from "../../protocol/statements.ts";
import { encodeShieldedAddress } from "../../notes/address.ts";
import { spendBody, swapBody, type WireProof } from "../statements/bodies.ts";
import type { SubmitOptions } from "../service/client.ts";
import { requireAmount, type Core } from "./core.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import type { Fees } from "../statements/fees.ts";
import type { Delivery } from "../service/http.ts";
import { Operation } from "./operation.ts";
import type { CarriedOptions, Payment, PaymentOptions, SpendOptions } from "./payment.ts";
import { recordOf, type PaymentRecord } from "../state/payment-record.ts";
import { verifiedRoot } from "../history/scanner.ts";
import { selectForConsolidation, sumOf } from "../state/selection.ts";
import type { OwnedNote, Reservation } from "../state/state.ts";
import {
  prepareSpend,
  prepareSwap,
  type Prepared,
  type SpendPlan,
  type SwapPlan,
} from "../statements/statements.ts";
import { MOST_MEMO_BYTES, requireText } from "../base/texts.ts";
import { isRefusal, unknownOutcome } from "../service/tickets.ts";

export interface SwapOrder {
  /** Given and wanted token, both pinned. */
  readonly tokenIn: string;
  readonly tokenOut: string;
  /** Gross amount of `tokenIn`: fees are taken from it, the rest goes to the venue. */
  readonly amount: bigint;
  /** With less of `tokenOut` than this the swap does not happen. The caller's own judgement: a quote is the service's word. */
  readonly floor: bigint;
  /** Uniswap v3's packed path in hex, one or two pools, from `tokenIn` to `tokenOut`. */
  readonly path: string;
}

export interface Swap extends Payment {
  /** What the swap brought, measured by the pool. Undefined with `until: "queued"`. */
  readonly received: bigint | undefined;
}

/** A price does not stand still: a swap that found none as good as its floor by then gives its notes back soon. */
const DEFAULT_SWAP_DEADLINE_SECS = 300;

/** Proofs for one payment while the roots of its proofs go, and while other tabs are first to send its notes. */
const STALE_PROOFS = 3;
const TAKEN_PROOFS = 6;

/** What one kind of payment does with notes that were picked for it. */
interface Intent {
  readonly operation: FeeOperation;
  readonly asset: Address;
  /** Most notes that it can spend. */
  readonly limit: number;
  /** What the notes must cover, and what the fee is reckoned from; undefined spends the most it can, for a merge. */
  readonly amount: bigint | undefined;
  /** Whether fees come on top of `amount` or out of it. */
  readonly feesOnTop: boolean;
  prepare(plan: Omit<SpendPlan, "payment">, value: bigint): Prepared;
  /** For the wallet's own record. */
  readonly record: Pick<PaymentRecord, "kind" | "to" | "tokenOut" | "memo">;
}

/** What is in the storage before the first byte of a payment leaves. */
interface Promised {
  readonly reservation: Reservation;
  readonly record: PaymentRecord;
}

export class Spending {
  readonly #core: Core;
  /** How long a payment may wait for change that is still on its way. */
  readonly #changeTimeoutMs: number;

  constructor(core: Core, changeTimeoutMs: number) {
    this.#core = core;
    this.#changeTimeoutMs = changeTimeoutMs;
  }

  async pay(payment: SpendPlan["payment"], options: PaymentOptions): Promise<Payment> {
    const { type: operation, value: amount } = payment;
    requireAmount(amount);
    const asset = this.#core.asset(options.asset);
    const { pins } = this.#core.parts;
    const prepare: Intent["prepare"] = (plan) => prepareSpend({ ...plan, payment });
    const to =
      payment.type === "transfer" ? encodeShieldedAddress(payment.to, pins.addressPrefix) : payment.recipient;
    const record = { kind: operation, to, memo: memoOf(options) } as const;
    const pay = async (call: Operation): Promise<Payment> => {
      const limit = await this.#limit(call);
      const intent: Intent = { operation, asset, limit, amount, feesOnTop: true, prepare, record };
      return (await this.#spend(intent, options, call)).made;
    };
    return Operation.run(options, (call) => this.#merging(asset, options, call, () => pay(call)));
  }

  async consolidate(options: PaymentOptions): Promise<Payment> {
    const asset = this.#core.asset(options.asset);
    return Operation.run(options, (call) => this.#merge(asset, options, call));
  }

  async #merge(asset: Address, options: CarriedOptions, call: Operation): Promise<Payment> {
    const to = this.#core.parts.keys.viewing.address;
    const intent: Intent = {
      ...{
        operation: "transfer",
        asset,
        limit: await this.#limit(call),
        amount: undefined,
        feesOnTop: false,
      },
      prepare: (plan, value) => prepareSpend({ ...plan, payment: { type: "transfer", to, value } }),
      record: { kind: "consolidate" },
    };
    return (await this.#spend(intent, options, call)).made;
  }

  async swap(order: SwapOrder, options: SpendOptions): Promise<Swap> {
    const { amount, floor } = order;
    requireAmount(amount);
    requireAmount(floor);
    const asset = this.#core.asset(order.tokenIn);
    const tokenOut = this.#core.asset(order.tokenOut);
    const route = decodeUniswapPath(order.path);
    if (typeof route === "string") throw new ClientError("PATH_INVALID", route);
    if (route.tokenIn !== asset || route.tokenOut !== tokenOut)
      throw new ClientError("PATH_INVALID", "other ends");
    const terms = { sharesIn: amount, tokenOut, floor, path: route.path } satisfies Partial<SwapPlan>;
    const timed = { deadlineSecs: DEFAULT_SWAP_DEADLINE_SECS, ...options };
    const intent: Intent = {
      ...{ operation: "swap", asset, limit: KINDS["private-swap"].inputs, amount, feesOnTop: false },
      prepare: (plan) => prepareSwap({ ...plan, ...terms }),
      record: { kind: "swap", tokenOut },
    };
    const swap = async (call: Operation): Promise<Swap> => {
      const { made, prepared } = await this.#spend(intent, timed, call);
      return { ...made, received: this.#core.parts.ledger.bought(prepared)?.value };
    };
    return Operation.run(timed, async (call) => {
      // Found out before a proof leaves this device, so that a refusal binds no notes.
      if (!(await this.#core.isOffered("swaps", call))) throw new ClientError("FEATURE_OFF", "swaps");
      return this.#merging(asset, timed, call, () => swap(call));
    });
  }

  /** With the caller's consent, merges as often as it takes. Ends: each merge leaves fewer notes, and less money. */
  async #merging<T extends Payment>(
    asset: Address,
    options: SpendOptions,
    call: Operation,
    pay: () => Promise<T>,
  ): Promise<T> {
    let fees = 0n;
    for (;;) {
      try {
        const made = await pay();
        return { ...made, fees: made.fees + fees };
      } catch (error) {
        if (!hasCode(error, "NEEDS_CONSOLIDATION") || options.consolidate !== true) throw error;
        const { timeoutMs } = options;
        const merge = await this.#merge(asset, { timeoutMs, until: "confirmed" }, call);
        call.forget();
        fees += merge.fees;
      }
    }
  }

  async #limit(call: Operation): Promise<number> {
    const { features } = await this.#core.checkService(call);
    return KINDS[features.spend9 ? "spend9" : "spend"].inputs;
  }

  async #spend(
    intent: Intent,
    options: CarriedOptions,
    call: Operation,
  ): Promise<{ made: Payment; prepared: Prepared }> {
    const sent = await this.#core.inTurn(call.signal, () => this.#proveAndSend(intent, options, call));
    return { ...sent, made: await this.#core.settle(sent.made, sent.prepared, options, call) };
  }

  async #proveAndSend(
    intent: Intent,
    options: CarriedOptions,
    call: Operation,
  ): Promise<{ made: Payment; prepared: Prepared }> {
    const { ledger } = this.#core.parts;
    await call.step("sync", () => ledger.sync(call));
    for (let attempt = 1; ; attempt++) {
      const { prepared, fees, reservation, record } = await call.step("prepare", () =>
        this.#prepare(intent, options, call),
      );
      const { hash } = prepared.statement;
      ledger.pick(reservation.leafIndexes);
      const delivery: Delivery = { beforeSending: () => ledger.reserve(reservation, record) };
      let isProved = false;
      try {
        const proof = await this.#core.prove(prepared, call);
        isProved = true;
        const ticket = await call.step("submit", () =>
          this.#send(prepared, proof, { reservation, record }, { signal: call.signal, delivery }),
        );
        call.sent(hash);
        return { made: { ticket, statement: hash, fees: fees.total }, prepared };
      } catch (error) {
        if (!isProved || delivery.sent === false) {
          await ledger.release(hash);
          // Another tab was first: choose from what it has left, or wait for its change.
          if (hasCode(error, "NOTES_TAKEN") && attempt < TAKEN_PROOFS) continue;
          throw error;
        }
        call.sent(hash);
        if (!isRefusal(error, delivery)) throw unknownOutcome(error);
        await ledger.refused(hash);
        // The root was reorganised out between proof and check: prove again on a newer one.
        if (!hasCode(error, "ROOT_UNKNOWN") || attempt >= STALE_PROOFS) throw error;
        await ledger.sync(call);
      }
    }
  }

  async #send(
    prepared: Prepared,
    proof: WireProof,
    { reservation, record }: Promised,
    options: SubmitOptions & { readonly delivery: Delivery },
  ): Promise<Ticket> {
    try {
      return await this.#submit(prepared, proof, options);
    } finally {
      // An application's own `Client` may not say when it sends. Then the promise comes late, but it comes.
      if (options.delivery.sent === undefined)
        await this.#core.parts.ledger.reserve(reservation, record).catch(() => undefined);
    }
  }

  #submit(prepared: Prepared, proof: WireProof, options: SubmitOptions): Promise<Ticket> {
    const { client } = this.#core.parts;
    switch (prepared.statement.kind) {
      case "spend":
        return client.sequenceSpend(spendBody(prepared, proof), options);
      case "spend9":
        return client.sequenceSpend9(spendBody(prepared, proof), options);
      case "private-swap":
        return client.sequenceSwap(swapBody(prepared, proof), options);
      case "deposit-shield":
        throw new TypeError("a deposit spends no notes");
    }
  }

  async #prepare(
    intent: Intent,
    options: CarriedOptions,
    call: Operation,
  ): Promise<{ prepared: Prepared; fees: Fees } & Promised> {
    const { operation, asset, limit, amount, feesOnTop } = intent;
    const { ledger, home, keys, now } = this.#core.parts;
    await this.#core.checkService(call);
    await ledger.settleRefused(asset);
    const merged =
      amount === undefined
        ? selectForConsolidation(ledger.spendable(asset), limit, ledger.exposed(asset))
        : undefined;
    // When merging, the fees of all that is merged are at least those of what is left after them.
    const charged = amount ?? sumOf(merged ?? []);
    const fees = await this.#core.fees(operation, asset, charged, call);
    const value = feesOnTop ? charged : charged - fees.total;
    if (value <= 0n) throw new ClientError("AMOUNT_INVALID", "the fees take all of it");
    const notes = merged ?? (await this.#choose(asset, value + fees.total, limit, call));
    // Again: while we waited for change a refused payment may have been executed, and then bound us no more.
    await ledger.settleRefused(asset);
    const mark = verifiedRoot(ledger.state);
    if (mark === undefined) throw new ClientError("INSUFFICIENT_FUNDS", "no note is in the tree yet");
    const { tree } = ledger.state;
    const deadline = this.#core.deadline(options);
    const inputs = notes.map((note) => ({ note, path: tree.path(note.leafIndex, mark.leafCount) }));
    const { isKnownLeaf } = ledger;
    const prepared = intent.prepare(
      { home, keys, asset, fees, deadline, root: mark.root, inputs, isKnownLeaf },
      value,
    );
    const { hash: statement, facts } = prepared.statement;
    const reservation = {
      ...{ statement, commitments: facts.commitments, refused: false },
      ...{ leafIndexes: notes.map((note) => note.leafIndex), deadline, change: prepared.own, asset },
    };
    const told = { asset, amount: intent.record.kind === "swap" ? charged : value, fees: fees.total };
    const record = recordOf(
      prepared,
      { ...intent.record, ...told },
      { madeAt: now(), madeAfter: tree.leafCount, leafIndexes: reservation.leafIndexes },
    );
    return { prepared, fees, reservation, record };
  }

  async #choose(asset: Address, needed: bigint, limit: number, call: Operation): Promise<OwnedNote[]> {
    const timeoutMs = this.#changeTimeoutMs;
    try {
      return await this.#core.parts.ledger.choose(asset, needed, limit, { signal: call.signal, timeoutMs });
    } catch (error) {
      if (!hasCode(error, "TIMED_OUT")) throw error;
      throw new ClientError("TIMED_OUT", "money on its way did not come under a root of the pool");
    }
  }
}

/** Refused before anything is made of it: a memo that cannot be shown is a mistake of the caller's. */
function memoOf({ memo }: PaymentOptions): string | undefined {
  if (memo === undefined) return undefined;
  return requireText(
    memo,
    MOST_MEMO_BYTES,
    (detail) => new ClientError("OPTIONS_INVALID", `memo: ${detail}`),
  );
}
