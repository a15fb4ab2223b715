/**
 * What the proxy remembers of the pool's log. All of it can be read from the chain again at any time, so
 * every proxy keeps its own copy and reads it without waiting; only the indexer writes.
 */
import type { Address, Bytes32, Field } from "../../../shared/protocol/brands.ts";

/** Hex digits of a block hash by which an event id names its block: two blocks of one height never share them by chance. */
export const HASH_PREFIX_DIGITS = 8;

export interface BlockRef {
  readonly number: number;
  readonly hash: Bytes32;
}

export interface IndexedBlock extends BlockRef {
  /** Unix seconds. */
  readonly timestamp: number;
}

/** Where on the chain an event stands: `part` counts the events that one log carries. */
export interface Position {
  readonly block: number;
  readonly logIndex: number;
  readonly part: number;
}

/** commitment = H(npk, asset, value). */
export interface NoteOpening {
  readonly npk: Field;
  readonly asset: Address;
  /** Below 2^128. */
  readonly value: bigint;
}

/** What the owner of a leaf's note reads it from. */
export interface SealedOutput {
  /** One for all leaves of a statement; of a credited note its own. */
  readonly ephemeralKey: Uint8Array;
  /** The leaf's place among those of its statement; 0 of a credited note. */
  readonly output: number;
  readonly ciphertext: Uint8Array;
}

export type ChainEvent =
  | {
      readonly kind: "leaf";
      readonly index: number;
      readonly commitment: Field;
      readonly sealed: SealedOutput;
      readonly source: "deposit" | "spend" | "swap" | "forwarder";
      /** The last leaf of its statement, or a note that a contract's money was credited by: each stands alone. */
      readonly isLast: boolean;
      /** Where the pool itself made the note and said what is in it. */
      readonly opening?: NoteOpening;
    }
  | { readonly kind: "nullifier"; readonly nullifier: Field }
  /** The same root and number once more, with more leaves, where `advance` went over void leaves only. */
  | { readonly kind: "root"; readonly root: Field; readonly leafCount: number; readonly sequence: number }
  /**
   * A statement was refuted or suspended: its leaves are empty in the tree. `nullifiers` are unspent then: all of one that was
   * refuted, none of one that is suspended or had pretended to confirm one that is.
   */
  | {
      readonly kind: "voided";
      readonly statement: Bytes32;
      readonly firstLeafIndex: number;
      readonly leafCount: number;
      readonly nullifiers: readonly Field[];
      readonly isSuspension?: true;
    }
  /** The roots numbered so are none any more, both ends included; the tree stands at `root`. */
  | {
      readonly kind: "revoked";
      readonly first: number;
      readonly last: number;
      readonly root: Field;
      readonly leafCount: number;
    }
  /** The two below are for tickets; no stream shows them. */
  | {
      readonly kind: "executed";
      readonly statement: Bytes32;
      readonly firstLeafIndex: number;
      readonly leafCount: number;
      readonly nullifiers: readonly Field[];
      /** keccak256 of the proof that the pool was given. */
      readonly proofHash: Bytes32;
      /** The suspended statement whose notes come again. */
      readonly confirms?: Bytes32;
    }
  | { readonly kind: "rejected"; readonly statement: Bytes32; readonly reason: string };

export interface LoggedEvent {
  readonly position: Position;
  readonly blockHash: Bytes32;
  readonly txHash: Bytes32;
  readonly event: ChainEvent;
}

export interface Execution {
  readonly txHash: Bytes32;
  readonly block: number;
  readonly leafIndexes: readonly number[];
}

export interface Rejection {
  readonly txHash: Bytes32;
  readonly block: number;
  /** Revert data, hex. */
  readonly reason: string;
}

export interface StoredLeaf {
  readonly index: number;
  readonly commitment: Field;
  /** Head of the queue after this leaf. */
  readonly head: Bytes32;
  readonly block: number;
  readonly txHash: Bytes32;
  /** The last leaf of its statement. */
  readonly isLast: boolean;
  /** Of a refuted or suspended statement: in the queue it is what it was, in the tree it is the empty leaf. */
  readonly isVoid: boolean;
}

export interface VoidLeaves {
  readonly firstLeafIndex: number;
  readonly leafCount: number;
}

/** A subtree of the commitment tree without an empty place, over the leaves from `place · SUBTREE_LEAVES` on. */
export interface Subtree {
  readonly place: number;
  /** 32 bytes each, packed; its leaves first, its root last. */
  readonly nodes: Uint8Array;
}

/** A kept chunk of the history (see `shared/api/history-chunk.ts`), and the event that it ends with. */
export interface ChunkEntry {
  readonly number: number;
  /** Outputs in it. */
  readonly outputs: number;
  readonly bytes: number;
  /** SHA-256 of its bytes. */
  readonly checksum: Bytes32;
  readonly end: Pick<LoggedEvent, "position" | "blockHash">;
}

export interface StoredRoot {
  readonly root: Field;
  /** Leaves that it covers. */
  readonly leafCount: number;
  readonly sequence: number;
  readonly block: number;
}

export interface ChainDataStore {
  /** The last indexed block. */
  tip(): IndexedBlock | undefined;
  /** The newest kept block at or below a height; blocks with events and recent ones are kept. */
  blockAtOrBelow(number: number): IndexedBlock | undefined;
  /**
   * Adds blocks in order with their events, all or nothing, and makes the last one the tip. Blocks in a
   * gap have no event of the pool.
   */
  append(blocks: readonly IndexedBlock[], events: readonly LoggedEvent[]): Promise<void>;
  /**
   * Forgets every block above `number`, and remembers that they were orphaned from there. Gives the leaves that are
   * left and void no more.
   */
  rollbackTo(number: number): Promise<readonly number[]>;
  /** Statements whose execution a rollback or a refutation took back, until `forgetReorganisedOut`; they may be executed again by now. */
  reorganisedOut(): Bytes32[];
  forgetReorganisedOut(statements: readonly Bytes32[]): Promise<void>;
  /** Forgets everything. */
  clear(): Promise<void>;

  /** In order, strictly after `position`; from the beginning without one. */
  eventsAfter(position: Position | undefined, limit: number): LoggedEvent[];
  eventAt(position: Position): LoggedEvent | undefined;
  /** The last event in a block at or below `block` that is of one of these kinds. */
  lastEventUpTo(block: number, kinds: readonly ChainEvent["kind"][]): LoggedEvent | undefined;
  /** Where the branch that held an orphaned block left the canonical chain, if this store has seen it. */
  forkPoint(block: number, hashPrefix: string): number | undefined;

  leafCount(): number;
  leaf(index: number): StoredLeaf | undefined;
  /** Leaves `from` (inclusive) to `to` (exclusive) in order. */
  leaves(from: number, to: number): StoredLeaf[];
  /** Head of the queue after `count` leaves. */
  headAt(count: number): Bytes32 | undefined;

  /**
   * What was kept of a subtree, so that a start need not hash it again; undefined where nothing was, where what is there is
   * damaged, and where a leaf under it has gone, or become void, or one again, since: the store forgets it
   * together with the change.
   */
  subtree(place: number): Uint8Array | undefined;
  /** The caller has made them from the leaves that are stored now. */
  keepSubtrees(subtrees: readonly Subtree[]): Promise<void>;

  /**
   * What is kept of the history in chunks, in order and without a gap. A chunk goes with the block that it ends in: the store
   * forgets both together.
   */
  chunks(): ChunkEntry[];
  /** Undefined where there is none or what is there is damaged. */
  chunk(number: number): Uint8Array | undefined;
  /** False, and nothing is kept, where the chunk is not the next one or the event that it ends with has gone. */
  keepChunk(chunk: Uint8Array, entry: ChunkEntry): Promise<boolean>;
  /** Forgets those from `number` on. */
  dropChunks(number: number): Promise<void>;

  /** The statement whose leaves begin there, refuted or not. */
  madeAt(firstLeafIndex: number): Extract<ChainEvent, { kind: "executed" }> | undefined;
  /** The leaf as the pool announced it. */
  announced(leafIndex: number): Extract<ChainEvent, { kind: "leaf" }> | undefined;
  /** Every void leaf, in order. */
  voids(): VoidLeaves[];

  /** Whether a suspended statement is confirmed, by one that is neither refuted nor suspended. */
  hasComeAgain(statement: Bytes32): boolean;

  /** The statement that spent a nullifier, and not one that confirms it. Here and below: not one that is refuted. */
  spender(nullifier: Field): { readonly statement: Bytes32; readonly block: number } | undefined;
  execution(statement: Bytes32): Execution | undefined;
  /** The newest rejection of a statement. */
  rejection(statement: Bytes32): Rejection | undefined;
  /** Where the tree stands. */
  currentRoot(): StoredRoot | undefined;
  /** Undefined for one that is revoked, too. */
  root(root: Field): StoredRoot | undefined;
  /**
   * After a refutation, until `advance` has gone past every leaf that is void or was queued until then: no attested update fits before, since the pool
   * itself does not know the head over the rooted leaves.
   */
  awaitsAdvance(): boolean;
}
