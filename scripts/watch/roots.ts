/** Every root that the pool announced, beside the one that the leaves have, and which of them it took back. */
import type { Bytes32, Field } from "../../shared/protocol/brands.ts";

export interface Root {
  /** As the pool said it; a forged one need not be below the field order. */
  readonly announced: bigint;
  /** Of the leaves. */
  readonly truth: Field;
  readonly sequence: number;
  readonly leafCount: number;
  /** Unix seconds: no root over these leaves is older. */
  readonly since: number;
  /** Of the queue, over these leaves. */
  readonly head: Bytes32;
}

const ZERO_HEAD = `0x${"00".repeat(32)}` as Bytes32;

export class Roots {
  /** Not revoked, in order: each covers more leaves than the one before. */
  readonly #standing: Root[];
  readonly #byAnnounced = new Map<bigint, Root>();
  readonly #byNumber = new Map<number, Root>();
  /** The last number that was given; none is given twice. */
  #sequence = 0;

  constructor(empty: Field) {
    const root = { announced: empty, truth: empty, sequence: 0, leafCount: 0, since: 0, head: ZERO_HEAD };
    this.#standing = [root];
    this.#byAnnounced.set(empty, root);
    this.#byNumber.set(0, root);
  }

  get newest(): Root {
    return this.#standing.at(-1)!;
  }
  get sequence(): number {
    return this.#sequence;
  }

  /** Undefined for a root that the pool does not have, or has revoked. */
  find(announced: bigint): Root | undefined {
    return this.#byAnnounced.get(announced);
  }

  /** Undefined for a number that is not given, or revoked. */
  numbered(sequence: number): Root | undefined {
    return this.#byNumber.get(sequence);
  }

  /** Void leaves alone leave a root and its number as they are. */
  add(root: Root): void {
    if (root.sequence === this.newest.sequence) return;
    this.#sequence = root.sequence;
    this.#standing.push(root);
    this.#byAnnounced.set(root.announced, root);
    this.#byNumber.set(root.sequence, root);
  }

  /** @returns the one that stays newest */
  revoke(first: number, last: number): Root {
    while (this.newest.sequence >= first && this.newest.sequence <= last) {
      const { announced, sequence } = this.#standing.pop()!;
      this.#byNumber.delete(sequence);
      if (this.#byAnnounced.get(announced)?.sequence === sequence) this.#byAnnounced.delete(announced);
    }
    return this.newest;
  }

  /** The newest that does not cover a leaf, and the one after it; undefined when none covers it. */
  around(leaf: number): { readonly lastGood: Root; readonly firstBad: Root } | undefined {
    const at = this.#standing.findIndex(({ leafCount }) => leafCount > leaf);
    return at < 1 ? undefined : { lastGood: this.#standing[at - 1]!, firstBad: this.#standing[at]! };
  }
}
