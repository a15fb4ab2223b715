/**
 * What a wallet remembers: leaves, own notes, roots, and payments under way. Everything but the last
 * follows from the event stream and the keys alone, so losing it costs a rescan and no money. Beside that, what a person
 * would miss: to whom was paid and what for, and the address book.
 */
import type { Address, Bytes32, Field } from "../protocol/brands.ts";
import type { Kind } from "../protocol/statements.ts";
import { emptyNode } from "../protocol/tree.ts";
import { NoteTree } from "../notes/merkle.ts";
import type { Note } from "../notes/note.ts";
import type { BridgeRecord } from "./bridges/record.ts";
import type { StoredContact } from "./contact-record.ts";
import type { PaymentRecord } from "./payment-record.ts";

export interface OwnedNote extends Note {
  readonly leafIndex: number;
  readonly commitment: Field;
  readonly nullifier: Field;
  readonly source: "deposit" | "spend" | "swap" | "forwarder";
  readonly block: number;
  /** Empty for an adopted note: its opening does not tell. */
  readonly txHash: string;
  /** What its ciphertext came with. Absent for an adopted note, and for what an earlier release read. */
  readonly sealed?: { readonly ephemeralKey: string; readonly output: number };
  /** Where its nullifier was seen; absent while unspent. */
  readonly spent?: Sighting;
  /** Where the statement that made it was refuted: the note is worth nothing. Absent for one that stands. */
  readonly voided?: Sighting;
}

/** Where on the chain something was seen. */
export interface Sighting {
  readonly block: number;
  readonly txHash: string;
}

/** A root that the pool has, over a prefix of the leaves. */
export interface RootMark {
  readonly root: Field;
  readonly leafCount: number;
  readonly block: number;
}

/** A payment that has left this device, or is about to: which notes it spends and until when it can happen. */
export interface Reservation {
  readonly statement: Bytes32;
  /** Its leaves: in the tree once it was executed. */
  readonly commitments: readonly Field[];
  /** The service has said no. Its notes may be spent again, under the rules of ./exposure.ts. */
  readonly refused: boolean;
  /**
   * It never left the device after all. Remembered until its deadline: a tab that saw the promise could not tell one
   * that was given back from one that an older copy of the storage lacks.
   */
  readonly released?: true;
  readonly leafIndexes: readonly number[];
  /** The statement's own deadline, Unix seconds: after it the payment can never happen. */
  readonly deadline: number;
  /** What comes back as change. */
  readonly change: bigint;
  readonly asset: Address;
  /** Of a statement that no service carries. */
  readonly proved?: ProvedCall;
}

/** A statement with its proof, as it goes to the pool: sent again, it can still happen only once. */
export interface ProvedCall {
  /** What was asked for, in words: whoever asks for it again gets this statement. */
  readonly intent: string;
  readonly kind: Kind;
  /** What it moves, decimal. */
  readonly amount: string;
  /** Calldata of `execute`. */
  readonly data: string;
  /** Its caller has learnt that it was sent: what is asked for after its execution is another payment. */
  readonly told?: true;
}

/** Who told what follows from the chain. What nodes tell is held against the pool; what a service tells is not. */
export type Origin = "service" | "chain";

/** Roots kept for rolling back; a reorganisation deeper than this starts the scan again. */
const KEPT_ROOTS = 256;

export class WalletState {
  tree = new NoteTree();
  notes = new Map<number, OwnedNote>();
  roots: RootMark[] = [];
  /** True once a root was dropped from `roots`. */
  rootsDropped = false;
  /** First leaf of each block that has leaves, ascending. */
  blocks: { readonly block: number; readonly firstLeaf: number }[] = [];
  lastEventId: string | undefined;
  origin: Origin = "service";
  /** Block of the newest refutation that emptied leaves. What stood in them is not remembered. */
  voidedIn: number | undefined;
  /** So many leaves are under a root that somebody else than the service confirmed. Not stored: asked again. */
  confirmedLeaves = 0;
  readonly reservations = new Map<Bytes32, Reservation>();
  /** Bridge addresses that this wallet has made, by `recordKey`. What is not here may be found by its notes. */
  readonly bridges = new Map<string, BridgeRecord>();
  /** What this wallet did, in the order in which it did. */
  readonly payments = new Map<Bytes32, PaymentRecord>();
  /** The address book, by address. */
  readonly contacts = new Map<string, StoredContact>();
  /** Leaves of the notes that a payment of this device has picked and not sent. Not stored: they bind nobody else. */
  picked: readonly number[] = [];
  #byNullifier = new Map<Field, number>();

  addNote(note: OwnedNote): void {
    this.notes.set(note.leafIndex, note);
    this.#byNullifier.set(note.nullifier, note.leafIndex);
  }

  addLeaf(leaf: Field, block: number): void {
    if (this.blocks.at(-1)?.block !== block) this.blocks.push({ block, firstLeaf: this.tree.leafCount });
    this.tree.append(leaf);
  }

  /** One with fewer leaves than the one before says that those behind it are revoked; what confirmed them counts no more. */
  addRoot(mark: RootMark): void {
    if (mark.leafCount < (this.latestRoot?.leafCount ?? 0))
      this.confirmedLeaves = Math.min(this.confirmedLeaves, mark.leafCount);
    this.roots.push(mark);
    if (this.roots.length > KEPT_ROOTS) {
      this.roots.shift();
      this.rootsDropped = true;
    }
  }

  /** A statement was refuted: its leaves are empty, and what it spent is unspent. */
  voidStatement(first: number, count: number, nullifiers: readonly Field[], seen: Sighting): void {
    this.voidedIn = seen.block;
    for (let index = first; index < first + count; index++) {
      this.tree.replace(index, emptyNode(0));
      const note = this.notes.get(index);
      if (note !== undefined) this.notes.set(index, { ...note, voided: seen });
    }
    for (const nullifier of nullifiers) {
      const note = this.noteOf(nullifier);
      if (note === undefined) continue;
      const { spent: _undone, ...unspent } = note;
      this.notes.set(note.leafIndex, unspent);
    }
  }

  /** The own note that this nullifier spends. */
  noteOf(nullifier: Field): OwnedNote | undefined {
    const index = this.#byNullifier.get(nullifier);
    return index === undefined ? undefined : this.notes.get(index);
  }

  get latestRoot(): RootMark | undefined {
    return this.roots.at(-1);
  }

  /**
   * Undoes everything after `block`. What is left is canonical, and the stream repeats the rest. False
   * when too little is remembered for that: the caller starts again.
   */
  rollBack(block: number): boolean {
    const roots = this.roots.filter((mark) => mark.block <= block);
    if (roots.length === 0 && this.rootsDropped) return false;
    if (this.voidedIn !== undefined && this.voidedIn > block) return false;
    this.roots = roots;
    const first = this.blocks.find((entry) => entry.block > block);
    if (first !== undefined) this.tree.truncate(first.firstLeaf);
    this.blocks = this.blocks.filter((entry) => entry.block <= block);
    if (this.confirmedLeaves > this.tree.leafCount) this.confirmedLeaves = 0;
    for (const note of [...this.notes.values()]) {
      if (note.block > block) {
        this.notes.delete(note.leafIndex);
        this.#byNullifier.delete(note.nullifier);
      } else if (note.spent !== undefined && note.spent.block > block) {
        const { spent: _undone, ...unspent } = note;
        this.notes.set(note.leafIndex, unspent);
      }
    }
    return true;
  }

  /** All that follows from the stream becomes as in `other`, which is not used afterwards. */
  takeChainOf(other: WalletState): void {
    const { confirmedLeaves: confirmed, tree } = this;
    this.tree = other.tree;
    this.notes = other.notes;
    this.#byNullifier = other.#byNullifier;
    this.roots = other.roots;
    this.rootsDropped = other.rootsDropped;
    this.blocks = other.blocks;
    this.lastEventId = other.lastEventId;
    this.origin = other.origin;
    this.voidedIn = other.voidedIn;
    // A confirmation stays where both have the same leaves below it.
    const isShared = confirmed <= this.tree.leafCount && this.tree.root(confirmed) === tree.root(confirmed);
    this.confirmedLeaves = isShared ? confirmed : 0;
  }

  /** Back to the beginning of the stream. Payments under way stay: they are not in the stream. */
  clear(): void {
    this.takeChainOf(new WalletState());
  }
}
