/**
 * Roots under their numbers, which of them are revoked, and how far the pool's tree stands: one row for each event that
 * moved it, so that taking an event back is taking its row away.
 */
import type { Field } from "../../../../shared/protocol/brands.ts";
import { word } from "../../../../shared/protocol/bytes.ts";
import { emptyNode, TREE_DEPTH } from "../../../../shared/protocol/tree.ts";
import type { ChainEvent, Position, StoredRoot } from "../chain-data.ts";
import { field, type Key, type RootRow } from "./chain-rows.ts";
import type { Database } from "./database.ts";

type RootEvent = Extract<ChainEvent, { kind: "root" }>;
type RevokedEvent = Extract<ChainEvent, { kind: "revoked" }>;

/** Where the tree stands: number of its root, leaves that it covers; after a revocation, up to where leaves are doubtful. */
interface StandRow {
  readonly q: number;
  readonly l: number;
  readonly d?: number;
}

const LAST = Number.MAX_SAFE_INTEGER;
/** The pool begins with it and says so in no event. */
const EMPTY_ROOT: StoredRoot = { root: emptyNode(TREE_DEPTH), leafCount: 0, sequence: 0, block: 0 };

export class ChainRoots {
  readonly #table: ReturnType<Database["table"]>;

  constructor(table: ReturnType<Database["table"]>) {
    this.#table = table;
  }

  current(): StoredRoot | undefined {
    const row = this.#stand();
    if (row === undefined) return EMPTY_ROOT;
    const root = this.#bySequence(row.q);
    return root === undefined ? undefined : { ...root, leafCount: row.l };
  }

  /** Undefined for one that is revoked as well. */
  find(root: Field): StoredRoot | undefined {
    const sequence = this.#sequenceOf(root);
    return sequence === undefined || this.#isRevoked(sequence) ? undefined : this.#bySequence(sequence);
  }

  /** The leaves that were queued before a revocation, and that `advance` has not gone past. */
  hasDoubtful(): boolean {
    return this.#stand()?.d !== undefined;
  }

  writeRoot({ root, leafCount, sequence }: RootEvent, position: Position): void {
    // Where `advance` went over void leaves only, the root keeps its number and the tree goes on.
    if (this.#bySequence(sequence) === undefined) {
      const before = this.#sequenceOf(root);
      const made = { r: word(root), l: leafCount, b: position.block };
      this.#table.putSync(["root", sequence], before === undefined ? made : { ...made, p: before });
      this.#table.putSync(["root-sequence", hex(root)], sequence);
    }
    const doubtful = this.#stand()?.d ?? 0;
    const row = { q: sequence, l: leafCount, ...(leafCount < doubtful ? { d: doubtful } : {}) };
    this.#table.putSync(this.#standAt(position), row satisfies StandRow);
  }

  eraseRoot({ root, leafCount, sequence }: RootEvent, position: Position): void {
    this.#table.removeSync(this.#standAt(position));
    const row = this.#rowOf(sequence);
    if (row?.l !== leafCount) return;
    this.#table.removeSync(["root", sequence]);
    if (row.p === undefined) this.#table.removeSync(["root-sequence", hex(root)]);
    else this.#table.putSync(["root-sequence", hex(root)], row.p);
  }

  /** @param queued leaves of the queue then */
  writeRevoked({ first, last, root, leafCount }: RevokedEvent, position: Position, queued: number): void {
    const sequence = this.#sequenceOf(root);
    if (sequence === undefined) throw new RangeError("the tree goes back to a root that it never had");
    // The number of the first is in no two of them: what is revoked is not revoked again.
    this.#table.putSync(["revoked", first], last);
    this.#table.putSync(this.#standAt(position), { q: sequence, l: leafCount, d: queued } satisfies StandRow);
  }

  eraseRevoked({ first }: RevokedEvent, position: Position): void {
    this.#table.removeSync(["revoked", first]);
    this.#table.removeSync(this.#standAt(position));
  }

  #standAt({ block, logIndex }: Position): Key {
    return ["tree", block, logIndex];
  }

  #rowOf(sequence: number): RootRow | undefined {
    return this.#table.get(["root", sequence]) as RootRow | undefined;
  }

  #stand(): StandRow | undefined {
    const newest = { start: ["tree", LAST, LAST], end: ["tree", -1], reverse: true, limit: 1 };
    for (const { value } of this.#table.getRange(newest)) return value as StandRow;
    return undefined;
  }

  #bySequence(sequence: number): StoredRoot | undefined {
    if (sequence === 0) return EMPTY_ROOT;
    const row = this.#rowOf(sequence);
    return row === undefined ? undefined : { root: field(row.r), leafCount: row.l, sequence, block: row.b };
  }

  /** The number it has now: a root that was revoked and made again has a new one. */
  #sequenceOf(root: Field): number | undefined {
    if (root === EMPTY_ROOT.root) return 0;
    return this.#table.get(["root-sequence", hex(root)]) as number | undefined;
  }

  #isRevoked(sequence: number): boolean {
    for (const { value } of this.#table.getRange({
      start: ["revoked", -1],
      end: ["revoked", sequence + 1],
    })) {
      if ((value as number) >= sequence) return true;
    }
    return false;
  }
}

function hex(value: Field): string {
  return value.toString(16);
}
