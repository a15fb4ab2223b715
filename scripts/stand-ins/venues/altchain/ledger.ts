/**
 * The chain: slots, blocks that name their parents, what is recent, what is final, and the transactions in them. It
 * reads no clock and draws no random number, so the same calls in the same order always give the same chain.
 */
import { createHash } from "node:crypto";
import {
  getBase58Decoder,
  getSignatureFromTransaction,
  type Address,
  type EncodedAccount,
  type Transaction,
} from "@solana/kit";
import { Bank, messageOf, type Execution, type Message, type Simulation } from "./bank.ts";
import type { TransactionFailure } from "./failures.ts";

export type Commitment = "processed" | "confirmed" | "finalized";

export interface Landed {
  readonly signature: string;
  readonly transaction: Transaction;
  readonly message: Message;
  readonly slot: bigint;
  readonly execution: Execution;
}

export interface Block {
  readonly slot: bigint;
  readonly parentSlot: bigint;
  readonly height: bigint;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeSecs: bigint;
  readonly landed: readonly Landed[];
}

export type Submission =
  | { readonly state: "landed"; readonly landed: Landed }
  | { readonly state: "refused"; readonly failure: TransactionFailure; readonly logs: readonly string[] };

/** A transaction can land within as many blocks after the one whose hash it names. */
export const LIFETIME_BLOCKS = 150n;
/** A block with as many on top cannot be taken back. */
export const FINAL_DEPTH = 31n;
/** Blocks without transactions are forgotten after so many, as a node without long-term storage does. */
const EMPTY_BLOCKS_KEPT = 10_000;

export class Ledger {
  readonly #bank: Bank;
  readonly #bySlot = new Map<bigint, Block>();
  readonly #bySignature = new Map<string, Landed>();
  readonly #byAddress = new Map<Address, Landed[]>();
  #chain: Block[];
  #open: { readonly slot: bigint; readonly timeSecs: bigint; readonly landed: Landed[] };
  #forks = 0;

  constructor(genesis: readonly EncodedAccount[], timeSecs: bigint) {
    this.#bank = new Bank(genesis);
    const hash = hashOf("genesis", String(timeSecs));
    const first = { slot: 0n, parentSlot: 0n, height: 0n, parentHash: hash, hash, timeSecs, landed: [] };
    this.#chain = [first];
    this.#bySlot.set(0n, first);
    this.#open = this.#openSlot(1n, timeSecs);
  }

  // ------------------------------------------------------------ what changes it

  submit(transaction: Transaction): Submission {
    const message = messageOf(transaction);
    const failure = message === undefined ? "UnsupportedVersion" : this.#unfit(transaction, message);
    if (message === undefined || failure !== undefined)
      return { state: "refused", failure: failure ?? "UnsupportedVersion", logs: [] };
    const attempt = this.#bank.execute(transaction, message);
    if (attempt.state === "refused") return attempt;
    const signature = getSignatureFromTransaction(transaction);
    const { execution } = attempt;
    const landed: Landed = { signature, transaction, message, slot: this.#open.slot, execution };
    this.#open.landed.push(landed);
    this.#bySignature.set(signature, landed);
    for (const address of message.staticAccounts) {
      const history = this.#byAddress.get(address);
      if (history === undefined) this.#byAddress.set(address, [landed]);
      else history.push(landed);
    }
    return { state: "landed", landed };
  }

  /** Closes the open slot with a block. */
  advance(timeSecs: bigint): void {
    const { slot, landed, timeSecs: openedAt } = this.#open;
    const parent = this.#tip();
    const names = landed.map(({ signature }) => signature);
    const block: Block = {
      slot,
      parentSlot: parent.slot,
      height: parent.height + 1n,
      hash: hashOf(parent.hash, String(slot), String(openedAt), String(this.#forks), ...names),
      parentHash: parent.hash,
      timeSecs: openedAt,
      landed,
    };
    this.#chain.push(block);
    this.#bySlot.set(slot, block);
    const old = this.#chain.at(-EMPTY_BLOCKS_KEPT);
    if (old?.landed.length === 0) this.#bySlot.delete(old.slot);
    if (this.#chain.length > 2 * EMPTY_BLOCKS_KEPT)
      this.#chain = this.#chain.filter(({ slot: known }) => this.#bySlot.has(known));
    this.#open = this.#openSlot(slot + 1n, timeSecs);
  }

  /**
   * Drops the blocks of the last `slots` slots and what is in the open one; these slots stay without a block. With
   * `again`, the transactions that still can land do so in the next slot, as when validators pass them on once more.
   */
  reorganise(slots: number, again: boolean): { dropped: string[]; landed: string[] } {
    const from = this.#open.slot - BigInt(slots);
    if (slots < 1 || from <= this.slotAt("finalized")) throw new RangeError("final blocks stay");
    const dropped = [...this.#chain.filter(({ slot }) => slot >= from), this.#open].flatMap(
      ({ landed }) => landed,
    );
    for (const { execution } of dropped.toReversed()) this.#bank.undo(execution);
    this.#chain = this.#chain.filter(({ slot }) => slot < from);
    for (let slot = from; slot < this.#open.slot; slot += 1n) this.#bySlot.delete(slot);
    for (const { signature } of dropped) this.#bySignature.delete(signature);
    const touched = new Set(dropped.flatMap(({ message }) => message.staticAccounts));
    for (const address of touched) {
      const kept = this.#byAddress.get(address)?.filter(({ signature }) => this.#bySignature.has(signature));
      this.#byAddress.set(address, kept ?? []);
    }
    this.#forks += 1;
    this.#open = this.#openSlot(this.#open.slot + 1n, this.#open.timeSecs);
    const landed = again
      ? dropped.filter(({ transaction }) => this.submit(transaction).state === "landed")
      : [];
    return {
      dropped: dropped.map(({ signature }) => signature),
      landed: landed.map(({ signature }) => signature),
    };
  }

  // ------------------------------------------------------------ what it tells

  simulate(
    transaction: Transaction,
    options: { readonly verify: boolean; readonly anyHash: boolean },
  ): Simulation {
    const message = messageOf(transaction);
    const failure = message === undefined ? "UnsupportedVersion" : this.#unfit(transaction, message);
    if (failure !== undefined && !(failure === "BlockhashNotFound" && options.anyHash))
      return { failure, logs: [], computeUnits: 0n };
    return this.#bank.simulate(transaction, options);
  }

  slotAt(commitment: Commitment): bigint {
    return commitment === "processed" ? this.#open.slot : this.blockAt(commitment).slot;
  }

  heightAt(commitment: Commitment): bigint {
    return commitment === "processed" ? this.#tip().height + 1n : this.blockAt(commitment).height;
  }

  /** The newest closed block that is that certain. */
  blockAt(commitment: Commitment): Block {
    const tip = this.#tip();
    if (commitment !== "finalized") return tip;
    return this.#chain.findLast(({ height }) => height + FINAL_DEPTH <= tip.height) ?? this.#chain[0]!;
  }

  commitmentOf(slot: bigint): Commitment {
    if (slot === this.#open.slot) return "processed";
    return slot <= this.slotAt("finalized") ? "finalized" : "confirmed";
  }

  block(slot: bigint): Block | undefined {
    return this.#bySlot.get(slot);
  }

  /** Slots with a block, rising. */
  slotsBetween(from: bigint, to: bigint): bigint[] {
    return this.#chain.filter(({ slot }) => slot >= from && slot <= to).map(({ slot }) => slot);
  }

  isRecent(hash: string): boolean {
    const block = this.#chain.findLast((known) => known.hash === hash);
    return block !== undefined && this.#tip().height + 1n <= block.height + LIFETIME_BLOCKS;
  }

  landed(signature: string): Landed | undefined {
    return this.#bySignature.get(signature);
  }

  timeOf(slot: bigint): bigint {
    return this.#bySlot.get(slot)?.timeSecs ?? this.#open.timeSecs;
  }

  /** Oldest first. */
  historyOf(address: Address): readonly Landed[] {
    return this.#byAddress.get(address) ?? [];
  }

  /** The account as it was at that commitment: what the first later transaction found there. */
  account(address: Address, commitment: Commitment): EncodedAccount | undefined {
    if (commitment !== "processed") {
      const from = this.slotAt(commitment);
      const later = [
        ...this.#chain.slice(-Number(FINAL_DEPTH) - 1).filter(({ slot }) => slot > from),
        this.#open,
      ]
        .flatMap(({ landed }) => landed)
        .find(({ execution }) => execution.undo.has(address));
      if (later !== undefined) return later.execution.undo.get(address);
    }
    return this.#bank.account(address);
  }

  rentExempt(space: bigint): bigint {
    return this.#bank.rentExempt(space);
  }

  /** What keeps a transaction out before it is executed. */
  #unfit(transaction: Transaction, message: Message): TransactionFailure | undefined {
    if (!this.isRecent(message.lifetimeToken)) return "BlockhashNotFound";
    const first = Object.values(transaction.signatures)[0];
    if (first === undefined || first === null) return undefined;
    return this.#bySignature.has(getBase58Decoder().decode(first)) ? "AlreadyProcessed" : undefined;
  }

  #openSlot(slot: bigint, timeSecs: bigint) {
    this.#bank.setClock(slot, timeSecs);
    return { slot, timeSecs, landed: [] };
  }

  #tip(): Block {
    return this.#chain.at(-1)!;
  }
}

function hashOf(...parts: readonly string[]): string {
  return getBase58Decoder().decode(createHash("sha256").update(parts.join("|")).digest());
}
