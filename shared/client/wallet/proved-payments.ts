/**
 * Payments and deposits that no service carries: proved over a root that is old enough, and sent by an account of the
 * caller's. A statement is promised in the storage before a node sees it, and whoever asks for the same again gets the
 * same one, so that nothing that is repeated happens twice.
 */
import { encodeShieldedAddress } from "../../notes/address.ts";
import { parseSnarkjsProof } from "../../protocol/host/proofs.ts";
import { KINDS } from "../../protocol/statements.ts";
import type { Address, Bytes32 } from "../../protocol/brands.ts";
import { orAborted } from "../base/aborting.ts";
import { NodeRefused } from "../chain/json-rpc.ts";
import type { PoolChain } from "../chain/pool-chain.ts";
import type { KnownRoot, Roots } from "../chain/roots.ts";
import type { Core } from "../paying/core.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import {
  approveCall,
  claimOf,
  outcomeOf,
  provedCall,
  type Claim,
  type Receipt,
} from "../statements/execute-call.ts";
import { holdsNotes, isExecuted } from "../state/exposure.ts";
import type { Fees } from "../statements/fees.ts";
import type { Operation } from "../paying/operation.ts";
import type { StatementOptions } from "../paying/payment.ts";
import { recordOf, type PaymentRecord } from "../state/payment-record.ts";
import { requireAddress } from "../base/pins.ts";
import { selectForConsolidation, selectNotes, sumOf } from "../state/selection.ts";
import type { SentTransaction, TransactionSender } from "../statements/sender.ts";
import type { OwnedNote, Reservation } from "../state/state.ts";
import { prepareDeposit, prepareSpend, type Prepared, type SpendPlan } from "../statements/statements.ts";

export interface ProvedOptions extends StatementOptions {
  /** The token, one of the pinned. Default: the first of them. */
  readonly asset?: string;
  /** `sent` returns as soon as the account has sent it. Default `confirmed`: mined, and in this wallet's own copy. */
  readonly until?: "sent" | "confirmed";
}

export interface ProvedPayment {
  readonly statement: Bytes32;
  /** What it moved: of `leave` and `consolidate` the sum of their notes. */
  readonly amount: bigint;
  /** Undefined where an earlier transaction, of this wallet or a stranger's, had executed it already. */
  readonly transactionHash: string | undefined;
  /** There was no room for it: the pool pays it later, see `payClaims`. */
  readonly claim: Claim | undefined;
}

/** The money is there, and no root over it is old enough. */
export class NotesYoung extends ClientError {
  /** Unix seconds from which the amount can be paid. Undefined where no root covers it: see `advance`. */
  readonly usableFrom: number | undefined;
  constructor(usableFrom: number | undefined) {
    const when =
      usableFrom === undefined
        ? "no root covers it yet"
        : `from ${new Date(usableFrom * 1000).toISOString()} on`;
    super("NOTES_YOUNG", when);
    this.usableFrom = usableFrom;
  }
}

/** No service is asked, so none is paid: dummies stand in the places of its notes. */
const NO_FEES: Fees = { service: undefined, developer: undefined, total: 0n };
const MOST_NOTES = KINDS.spend9.inputs;

/** What is paid with which notes. */
interface Wish {
  readonly asset: Address;
  /** In words, see `ProvedCall`. */
  readonly intent: string;
  /** For the wallet's own record. */
  readonly record: Pick<PaymentRecord, "kind" | "to">;
  readonly choose: (provable: readonly OwnedNote[]) => readonly OwnedNote[];
  readonly pay: (chosen: readonly OwnedNote[]) => SpendPlan["payment"];
}

export class ProvedPayments {
  readonly #core: Core;
  readonly #chain: PoolChain;
  readonly #sender: TransactionSender;

  constructor(core: Core, chain: PoolChain, sender: TransactionSender) {
    this.#core = core;
    this.#chain = chain;
    this.#sender = sender;
  }

  pay(payment: SpendPlan["payment"], options: ProvedOptions, call: Operation): Promise<ProvedPayment> {
    const asset = this.#core.asset(options.asset);
    const to =
      payment.type === "transfer"
        ? encodeShieldedAddress(payment.to, this.#core.parts.pins.addressPrefix)
        : payment.recipient;
    const wish: Wish = {
      asset,
      intent: [payment.type, asset, to, String(payment.value)].join(" "),
      record: { kind: payment.type, to },
      choose: (notes) =>
        selectNotes(notes, payment.value, MOST_NOTES, this.#core.parts.ledger.exposed(asset)),
      pay: () => payment,
    };
    return this.#spend(wish, options, call);
  }

  /** The largest notes, nine at most, whole. */
  leave(recipient: Address, options: ProvedOptions, call: Operation): Promise<ProvedPayment> {
    const asset = this.#core.asset(options.asset);
    const { ledger } = this.#core.parts;
    const wish: Wish = {
      asset,
      intent: ["leave", asset, recipient].join(" "),
      record: { kind: "withdraw", to: recipient },
      choose(notes) {
        if (notes.length === 1 && ledger.exposed(asset).length === 0) return notes;
        if (notes.length === 0) throw new ClientError("INSUFFICIENT_FUNDS");
        return notes.length === 1
          ? selectNotes(notes, notes[0]!.value, MOST_NOTES, ledger.exposed(asset))
          : selectForConsolidation(notes, MOST_NOTES, ledger.exposed(asset));
      },
      pay: (notes) => ({ type: "withdraw", recipient, value: sumOf(notes) }),
    };
    return this.#spend(wish, options, call);
  }

  consolidate(options: ProvedOptions, call: Operation): Promise<ProvedPayment> {
    const asset = this.#core.asset(options.asset);
    const { ledger, keys } = this.#core.parts;
    const wish: Wish = {
      asset,
      intent: ["consolidate", asset].join(" "),
      record: { kind: "consolidate" },
      choose: (notes) => selectForConsolidation(notes, MOST_NOTES, ledger.exposed(asset)),
      pay: (notes) => ({ type: "transfer", to: keys.viewing.address, value: sumOf(notes) }),
    };
    return this.#spend(wish, options, call);
  }

  #spend(wish: Wish, options: ProvedOptions, call: Operation): Promise<ProvedPayment> {
    return this.#once(wish.asset, wish, options, call, async () => {
      const { ledger, home, keys } = this.#core.parts;
      const { asset } = wish;
      const { tree } = ledger.state;
      await ledger.settleRefused(asset);
      const roots = await this.#chain.roots(tree, call.signal);
      const aged = roots.aged;
      const provable = provableNotes(ledger.free(asset), aged);
      let chosen: readonly OwnedNote[];
      try {
        chosen = wish.choose(provable);
      } catch (error) {
        throw await this.#orYoung(error, wish, roots);
      }
      const inputs = chosen.map((note) => ({ note, path: tree.path(note.leafIndex, aged!.leafCount) }));
      const payment = wish.pay(chosen);
      const deadline = this.#deadline(options);
      const plan = {
        home,
        keys,
        asset,
        fees: NO_FEES,
        deadline,
        root: aged!.root,
        inputs,
        payment,
        isKnownLeaf: ledger.isKnownLeaf,
      };
      const leafIndexes = chosen.map((note) => note.leafIndex);
      return { prepared: prepareSpend(plan), leafIndexes, deadline, amount: payment.value };
    });
  }

  async deposit(amount: bigint, options: ProvedOptions, call: Operation): Promise<ProvedPayment> {
    const { home, keys } = this.#core.parts;
    const asset = this.#core.asset(options.asset);
    const depositor = requireAddress(await orAborted(this.#sender.getAddress(), call.signal), "depositor");
    const intent = ["deposit", asset, depositor, String(amount)].join(" ");
    const approve = (): Promise<void> => this.#approve(asset, amount, call);
    return this.#once(
      asset,
      { intent, record: { kind: "deposit", to: depositor } },
      options,
      call,
      async () => {
        const deadline = this.#deadline(options);
        const bounds = { validAfter: 0, validBefore: deadline + 1 };
        const fees = NO_FEES;
        const prepared = prepareDeposit({ home, keys, asset, fees, amount, depositor, deadline, ...bounds });
        return { prepared, leafIndexes: [], deadline, amount };
      },
      approve,
    );
  }

  /** What was asked for before and may still happen, or what `make` makes; sent, and read from its receipt. */
  #once(
    asset: Address,
    { intent, record: told }: Pick<Wish, "intent" | "record">,
    options: ProvedOptions,
    call: Operation,
    make: () => Promise<{ prepared: Prepared; leafIndexes: number[]; deadline: number; amount: bigint }>,
    before: () => Promise<void> = () => Promise.resolve(),
  ): Promise<ProvedPayment> {
    const { ledger, now } = this.#core.parts;
    return this.#core.inTurn(call.signal, async () => {
      await call.step("sync", () => ledger.sync(call));
      const earlier = await this.#earlier(intent);
      if (earlier !== undefined) {
        call.sent(earlier.statement);
        return this.#carry(earlier, options, call, before);
      }
      const { prepared, ...made } = await call.step("prepare", make);
      const { hash: statement, facts, kind } = prepared.statement;
      ledger.pick(made.leafIndexes);
      try {
        const proof = parseSnarkjsProof(await this.#core.prove(prepared, call));
        if (proof === undefined) throw new ClientError("PROOF_FAILED", "the prover gave no Groth16 proof");
        const reservation: Reservation = {
          ...{ statement, asset, refused: false, change: prepared.own },
          ...{ commitments: facts.commitments, leafIndexes: made.leafIndexes, deadline: made.deadline },
          proved: { intent, kind, amount: String(made.amount), data: provedCall(prepared.statement, proof) },
        };
        const record = recordOf(
          prepared,
          { ...told, asset, amount: made.amount, fees: 0n },
          { madeAt: now(), madeAfter: ledger.state.tree.leafCount, leafIndexes: made.leafIndexes },
        );
        // Before a node has seen it: who has it can have it executed.
        await ledger.reserve(reservation, record);
        call.sent(statement);
        return await this.#carry(reservation, options, call, before);
      } finally {
        ledger.pick([]);
      }
    });
  }

  /** Neither refused nor past its deadline by the chain's own clock. Executed ones count as long as nobody was told. */
  async #earlier(intent: string): Promise<Reservation | undefined> {
    const { ledger, now } = this.#core.parts;
    for (const one of [...ledger.state.reservations.values()]) {
      if (one.proved?.intent !== intent || !holdsNotes(one, now())) continue;
      if (isExecuted(ledger.state, one)) {
        if (one.proved.told !== true) return one;
        continue;
      }
      if (this.#chain.time <= one.deadline) return one;
      // Whether the chain's clock is right or not: the next one spends a note of this one.
      await (one.leafIndexes.length === 0 ? ledger.release(one.statement) : ledger.refused(one.statement));
    }
    return undefined;
  }

  async #carry(
    reservation: Reservation,
    options: ProvedOptions,
    call: Operation,
    before: () => Promise<void>,
  ): Promise<ProvedPayment> {
    const { ledger } = this.#core.parts;
    const { statement, proved } = reservation;
    const made = { statement, amount: BigInt(proved!.amount), transactionHash: undefined, claim: undefined };
    if (!isExecuted(ledger.state, reservation)) {
      await before();
      const sent = await call.step("send", () => this.#send(reservation, call));
      call.transactionHash = sent.hash;
      if (options.until === "sent") {
        await ledger.told(statement);
        return { ...made, transactionHash: sent.hash };
      }
      const receipt = await call.step("confirm", () => receiptOf(sent, call.signal));
      const isOurs = await this.#requireExecuted(reservation, receipt, call);
      await call.step("deliver", () => ledger.feed.until(() => ledger.hasAll(reservation), call));
      await ledger.told(statement);
      if (isOurs)
        return { ...made, transactionHash: sent.hash, claim: claimOf(receipt, this.#named(statement)) };
    }
    await ledger.told(statement);
    return made;
  }

  async #send({ statement, proved }: Reservation, call: Operation): Promise<SentTransaction> {
    const { home } = this.#core.parts;
    const { data, kind } = proved!;
    const from = await orAborted(this.#sender.getAddress(), call.signal);
    const share = await this.#chain.view(call.signal).memberGas(kind);
    let gasLimit: bigint;
    try {
      gasLimit = await this.#chain.gasLimit(from, data, share, call.signal);
    } catch (error) {
      if (!(error instanceof NodeRefused)) throw error;
      throw new ClientError("NOT_EXECUTED", `statement ${statement}: ${error.message}`, { cause: error });
    }
    call.signal.throwIfAborted();
    const transaction = { to: home.pool, data, value: 0n, chainId: Number(home.chainId), gasLimit };
    return orAborted(this.#sender.sendTransaction(transaction), call.signal);
  }

  /** True: by this very transaction. False: by another one before it. */
  async #requireExecuted(reservation: Reservation, receipt: Receipt, call: Operation): Promise<boolean> {
    const { ledger } = this.#core.parts;
    const { statement, leafIndexes } = reservation;
    const outcome = outcomeOf(receipt, this.#named(statement));
    if (outcome === "executed") return true;
    await ledger.sync(call);
    if (isExecuted(ledger.state, reservation)) return false;
    // A node's word. Whoever has seen it may have it executed yet: the next one spends a note of this one.
    if (outcome !== "reverted" && leafIndexes.length > 0) await ledger.refused(statement);
    throw new ClientError("NOT_EXECUTED", outcome);
  }

  async #approve(asset: Address, amount: bigint, call: Operation): Promise<void> {
    const { home } = this.#core.parts;
    await call.step("approve", async () => {
      const approval = {
        to: asset,
        data: approveCall(home.pool, amount),
        value: 0n,
        chainId: Number(home.chainId),
      };
      const sent = await orAborted(this.#sender.sendTransaction(approval), call.signal);
      const { status } = await receiptOf(sent, call.signal);
      if (status !== 1) throw new ClientError("DEPOSIT_NOT_EXECUTED", "the approval failed");
    });
  }

  /** INSUFFICIENT_FUNDS may only be a matter of time. */
  async #orYoung(error: unknown, wish: Wish, roots: Roots): Promise<unknown> {
    if (!hasCode(error, "INSUFFICIENT_FUNDS") && !hasCode(error, "NEEDS_CONSOLIDATION")) return error;
    const { ledger } = this.#core.parts;
    const all = [...ledger.free(wish.asset)].sort((a, b) => a.leafIndex - b.leafIndex);
    for (let count = 1; count <= all.length; count++) {
      const some = all.slice(0, count);
      try {
        wish.choose(some);
      } catch {
        continue;
      }
      return new NotesYoung(await roots.coveredFrom(some.at(-1)!.leafIndex + 1));
    }
    return error;
  }

  /** By the chain's clock, which is the one that counts. */
  #deadline(options: ProvedOptions): number {
    return Math.max(
      this.#core.deadline(options),
      this.#chain.time + this.#core.deadline(options) - this.#core.parts.now(),
    );
  }

  #named(hash: Bytes32) {
    return { home: this.#core.parts.home, hash };
  }
}

export function provableNotes(notes: readonly OwnedNote[], aged: KnownRoot | undefined): OwnedNote[] {
  return notes.filter(({ leafIndex }) => leafIndex < (aged?.leafCount ?? 0));
}

/** ethers throws for a transaction that was mined and reverted, and has its receipt in the error. */
export async function receiptOf(sent: SentTransaction, signal: AbortSignal): Promise<Receipt> {
  let receipt: Receipt | null;
  try {
    receipt = await orAborted(sent.wait(), signal);
  } catch (error) {
    const reverted = (error as { cause?: { code?: unknown; receipt?: Receipt } } | null)?.cause;
    if (reverted?.code !== "CALL_EXCEPTION" || reverted.receipt === undefined) throw error;
    receipt = reverted.receipt;
  }
  if (receipt === null) throw new ClientError("SIGNER_FAILED", "no receipt");
  return receipt;
}
