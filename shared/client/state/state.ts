/**
 * What a wallet remembers: leaves, own notes, roots, and payments under way. Everything but the last
 * follows from the event stream and the keys alone, so losing it costs a rescan and no money. Beside that, what a person
 * would miss: to whom was paid and what for, and the address book.
 */
import type { Address, Bytes32, Field } from "../../protocol/brands.ts";
import { KINDS, type Kind } from "../../protocol/statements.ts";
import { emptyNode } from "../../protocol/tree.ts";
import { NoteTree, SUBTREE_LEAVES, subtreeOf } from "../../notes/merkle.ts";
import type { Note } from "../../notes/note.ts";
import type { BridgeRecord } from "./bridge-record.ts";
import type { StoredContact } from "./contact-record.ts";
import { ClientError } from "../base/errors.ts";
import { LeafBlocks } from "./leaf-blocks.ts";
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
  /**
   * Where the statement that made it was refuted or suspended: the note is worth nothing. Absent for one that stands. Of one that
   * was suspended the sender can make it again, at another leaf.
   */
  readonly voided?: Sighting & { readonly isSuspended?: boolean };
}

/** A statement whose leaves are empty, by its first commitment. */
export interface Emptied {
  readonly commitment: Field;
  readonly isSuspended: boolean;
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
export const KEPT_ROOTS = 256;

export class WalletState {
  tree = new NoteTree();
  notes = new Map<number, OwnedNote>();
  roots: RootMark[] = [];
  /** True once a root was dropped from `roots`. */
  rootsDropped = false;
  /** Of each leaf of the tree. */
  blocks = new LeafBlocks();
  lastEventId: string | undefined;
  origin: Origin = "service";
  /** Block of the newest refutation that emptied leaves. What stood in them is not remembered. */
  voidedIn: number | undefined;
  /** Statements whose leaves became empty, by first leaf. Not stored: see `markEmptied`. */
  readonly emptied = new Map<number, Emptied>();
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
  readonly #byNullifier = new Map<Field, number>();

  addNote(note: OwnedNote): void {
    this.notes.set(note.leafIndex, note);
    this.#byNullifier.set(note.nullifier, note.leafIndex);
  }

  addLeaf(leaf: Field, block: number): void {
    this.tree.append(leaf);
    this.blocks.push(block);
  }

  /**
   * One with fewer leaves than the one before says that those behind it are revoked; what confirmed them counts no more.
   * Throws STREAM_INCONSISTENT where they end inside of what is folded: then the stream is read again.
   */
  addRoot(mark: RootMark): void {
    if (!this.tree.knowsRoot(mark.leafCount)) throw inconsistent("a root ends among leaves that are folded");
    if (mark.leafCount < (this.latestRoot?.leafCount ?? 0))
      this.confirmedLeaves = Math.min(this.confirmedLeaves, mark.leafCount);
    this.roots.push(mark);
    if (this.roots.length > KEPT_ROOTS) {
      this.roots.shift();
      this.rootsDropped = true;
    }
  }

  /**
   * A statement was refuted, and what it spent is unspent; or suspended, and nothing is. Its leaves are empty. Throws
   * STREAM_INCONSISTENT where they are folded: then the stream is read again.
   */
  voidStatement(first: number, count: number, nullifiers: readonly Field[], seen: Sighting): void {
    for (let index = first; index < first + count; index++)
      if (this.tree.isFolded(index)) throw inconsistent("leaves are void that are folded");
    this.voidedIn = seen.block;
    const isSuspended = nullifiers.length === 0;
    // What is suspended may be refuted later: then its leaf is empty already.
    const commitment = this.emptied.get(first)?.commitment ?? this.tree.leaf(first)!;
    this.emptied.set(first, { commitment, isSuspended });
    for (let index = first; index < first + count; index++) {
      this.tree.replace(index, emptyNode(0));
      const note = this.notes.get(index);
      if (note === undefined) continue;
      // A deposit has no nullifiers, and is refuted or stands.
      const voided = isSuspended && note.source !== "deposit" ? { ...seen, isSuspended } : seen;
      this.notes.set(index, { ...note, voided });
    }
    this.markEmptied();
    for (const nullifier of nullifiers) {
      const note = this.noteOf(nullifier);
      if (note === undefined) continue;
      const { spent: _undone, ...unspent } = note;
      this.notes.set(note.leafIndex, unspent);
    }
  }

  /** In the records of this wallet's payments, which are not where the history is read. */
  markEmptied(more: Iterable<readonly [number, Emptied]> = []): void {
    for (const [first, one] of more) this.emptied.set(first, one);
    if (this.emptied.size === 0) return;
    const named = new Map([...this.emptied.values()].map((one) => [one.commitment, one.isSuspended]));
    for (const record of this.payments.values()) {
      const suspended = named.get(record.commitments[0]!);
      if (suspended !== undefined && record.kind !== "deposit" && suspended !== record.suspended)
        this.payments.set(record.statement, { ...record, suspended });
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
    // What is folded is under each root that is kept, and so in a block that stays.
    const leafCount = this.blocks.upTo(block);
    if (!this.tree.truncate(leafCount)) return false;
    this.blocks.truncate(leafCount);
    this.roots = roots;
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
    this.#byNullifier.clear();
    for (const { nullifier, leafIndex } of other.notes.values()) this.#byNullifier.set(nullifier, leafIndex);
    this.roots = other.roots;
    this.rootsDropped = other.rootsDropped;
    this.blocks = other.blocks;
    this.lastEventId = other.lastEventId;
    this.origin = other.origin;
    this.voidedIn = other.voidedIn;
    this.markEmptied(other.emptied);
    // A confirmation stays where both have the same leaves below it.
    const isShared =
      this.tree.knowsRoot(confirmed) &&
      tree.knowsRoot(confirmed) &&
      this.tree.root(confirmed) === tree.root(confirmed);
    this.confirmedLeaves = isShared ? confirmed : 0;
  }

  /**
   * Keeps of each complete subtree one node and one block, where no reorganisation reaches and nothing of this wallet's stands:
   * neither its notes nor, where it spent, the leaves of that block, which are its payments'. To be called when the stream
   * is up to date: what is folded can neither be void nor end a root. Of what nodes tell everything is kept: the head of the
   * pool's queue, and `advance`, are made of all leaves.
   */
  fold(): void {
    if (this.origin === "chain" || !this.rootsDropped || this.roots.length === 0) return;
    // A reorganisation that would take back the oldest of these begins anew: see `rollBack`.
    const settled = Math.min(...this.roots.map((mark) => mark.leafCount));
    const own = ownSubtrees([...this.notes.values()], this.blocks);
    for (const place of this.tree.openSubtrees()) {
      if ((place + 1) * SUBTREE_LEAVES > settled) return;
      if (own.has(place)) continue;
      this.tree.fold(place);
      this.blocks.fold(place);
    }
  }

  /** Back to the beginning of the stream. Payments under way stay: they are not in the stream. */
  clear(): void {
    this.takeChainOf(new WalletState());
  }
}

/** A statement has at most so many leaves, side by side. */
const STATEMENT_LEAVES = Math.max(...Object.values(KINDS).map(({ leaves }) => leaves));

/**
 * Places of the subtrees with leaves of the statements that made or spent these notes: what the wallet will look for. Of a
 * spending without change the place is not known, so the whole block's are taken.
 */
export function ownSubtrees(notes: readonly OwnedNote[], blocks: Pick<LeafBlocks, "upTo">): Set<number> {
  const own = new Set<number>();
  const add = (first: number, end: number): void => {
    for (let place = Math.max(0, subtreeOf(first)); place * SUBTREE_LEAVES < end; place++) own.add(place);
  };
  const made = new Set(notes.map(({ txHash }) => txHash));
  for (const { leafIndex, spent } of notes) {
    add(leafIndex + 1 - STATEMENT_LEAVES, leafIndex + STATEMENT_LEAVES);
    if (spent !== undefined && !made.has(spent.txHash))
      add(blocks.upTo(spent.block - 1), blocks.upTo(spent.block));
  }
  return own;
}

function inconsistent(detail: string): ClientError {
  return new ClientError("STREAM_INCONSISTENT", detail);
}
