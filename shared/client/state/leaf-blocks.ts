/**
 * The block of each leaf: what a rollback goes by, and when a payment was. Of a subtree that is folded in the tree only its
 * first leaf's block is kept, and the others count as in that one.
 */
import { SUBTREE_LEAVES, subtreeOf } from "../../notes/merkle.ts";

export class LeafBlocks {
  /** Of each subtree's first leaf, ascending. */
  readonly #firsts: number[] = [];
  /** Of all leaves of a subtree that is not folded, by its place. */
  readonly #inner = new Map<number, number[]>();
  #leafCount = 0;

  get leafCount(): number {
    return this.#leafCount;
  }

  /** Of the newest leaf. */
  get newest(): number | undefined {
    return this.of(this.#leafCount - 1);
  }

  /** Of a leaf; undefined where there is none. */
  of(leafIndex: number): number | undefined {
    if (!(leafIndex < this.#leafCount)) return undefined;
    const place = subtreeOf(leafIndex);
    return this.#inner.get(place)?.[leafIndex % SUBTREE_LEAVES] ?? this.#firsts[place];
  }

  /** Blocks never descend. */
  push(block: number): void {
    const place = subtreeOf(this.#leafCount);
    if (this.#leafCount % SUBTREE_LEAVES === 0) {
      this.#firsts.push(block);
      this.#inner.set(place, []);
    }
    this.#inner.get(place)!.push(block);
    this.#leafCount += 1;
  }

  /** So many leaves are in that block and those before it. In what is folded it is the end of a subtree. */
  upTo(block: number): number {
    // The first place whose subtree begins behind that block.
    let [low, high] = [0, this.#firsts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#firsts[middle]! > block) high = middle;
      else low = middle + 1;
    }
    if (low === 0) return 0;
    const inside = this.#inner.get(low - 1)?.findIndex((one) => one > block) ?? -1;
    return inside === -1
      ? Math.min(low * SUBTREE_LEAVES, this.#leafCount)
      : (low - 1) * SUBTREE_LEAVES + inside;
  }

  /** Not to a place inside of what is folded. */
  truncate(leafCount: number): void {
    if (leafCount >= this.#leafCount) return;
    const place = subtreeOf(leafCount);
    const rest = leafCount % SUBTREE_LEAVES;
    for (const open of [...this.#inner.keys()])
      if (open > place || (open === place && rest === 0)) this.#inner.delete(open);
    this.#inner.get(place)?.splice(rest);
    this.#firsts.length = rest === 0 ? place : place + 1;
    this.#leafCount = leafCount;
  }

  fold(place: number): void {
    this.#inner.delete(place);
  }

  /** Of each subtree's first leaf. */
  firsts(): readonly number[] {
    return this.#firsts;
  }

  /** Of a subtree's leaves; undefined where it is folded. */
  inside(place: number): readonly number[] | undefined {
    return this.#inner.get(place);
  }

  /**
   * From the blocks of all subtrees' first leaves, and those of the leaves of some: of the last one if it is not complete.
   * Undefined where they do not ascend or have another number.
   */
  static from(
    firsts: readonly number[],
    inner: Iterable<readonly [number, readonly number[]]>,
    leafCount: number,
  ): LeafBlocks | undefined {
    const made = new LeafBlocks();
    if (firsts.length !== Math.ceil(leafCount / SUBTREE_LEAVES) || !ascends(firsts)) return undefined;
    made.#firsts.push(...firsts);
    made.#leafCount = leafCount;
    for (const [place, blocks] of inner) {
      const count = Math.min(SUBTREE_LEAVES, leafCount - place * SUBTREE_LEAVES);
      const next = firsts[place + 1] ?? Infinity;
      if (blocks.length !== count || blocks[0] !== firsts[place] || !ascends([...blocks, next]))
        return undefined;
      made.#inner.set(place, [...blocks]);
    }
    const isWhole = leafCount % SUBTREE_LEAVES === 0 || made.#inner.has(subtreeOf(leafCount));
    return isWhole ? made : undefined;
  }
}

function ascends(blocks: readonly number[]): boolean {
  return blocks.every((block, i) => i === 0 || blocks[i - 1]! <= block);
}
