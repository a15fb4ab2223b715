/**
 * A root update: both roots and the queue's head, recomputed from a frontier that is given. SPEC, sections 4 and 8. The
 * frontier may be invented; then the old root is not the pool's, and the pool does not take the update.
 */
import { keccak, word } from "./bytes.ts";
import { isFieldElement } from "./field.ts";
import { hash4 } from "./poseidon.ts";

const DEPTH = 16;
const CHILDREN = 4;
/** The last place stays empty. */
const CAPACITY = 4n ** BigInt(DEPTH) - 1n;

/** Z(l): the node of level l without any leaf below it. */
const EMPTY: readonly bigint[] = Array.from({ length: DEPTH - 1 }).reduce<bigint[]>(
  (nodes) => [...nodes, hash4(fourOf([], nodes.at(-1)!))],
  [0n],
);

/** Some nodes, and as many of `rest` as are lacking of four. */
function fourOf(nodes: readonly bigint[], rest: bigint): [bigint, bigint, bigint, bigint] {
  const [a = rest, b = rest, c = rest, d = rest] = nodes;
  return [a, b, c, d];
}

export interface RootUpdate {
  readonly oldRoot: bigint;
  readonly newRoot: bigint;
  readonly toIndex: bigint;
  readonly headAfter: Uint8Array;
}

export function recomputeUpdate(
  fromIndex: bigint,
  frontier: readonly bigint[],
  headBefore: Uint8Array,
  leaves: readonly bigint[],
): RootUpdate | "FRONTIER_INVALID" | "LEAVES_INVALID" {
  const levels = levelsOf(fromIndex, frontier);
  if (levels === undefined) return "FRONTIER_INVALID";
  const toIndex = fromIndex + BigInt(leaves.length);
  const areLeaves = leaves.every((leaf) => leaf !== 0n && isFieldElement(leaf));
  if (!areLeaves || toIndex > CAPACITY) return "LEAVES_INVALID";

  const oldRoot = rootOf(levels);
  for (const leaf of leaves) append(levels, leaf);
  const headAfter = leaves.reduce((head, leaf) => keccak(head, word(leaf)), headBefore);
  return { oldRoot, newRoot: rootOf(levels), toIndex, headAfter };
}

/** The frontier by level: as many nodes in each as the index has for its digit there. */
function levelsOf(leafCount: bigint, frontier: readonly bigint[]): bigint[][] | undefined {
  if (leafCount > CAPACITY || !frontier.every(isFieldElement)) return undefined;
  const digits = Array.from({ length: DEPTH }, (_, level) => Number((leafCount >> BigInt(2 * level)) & 3n));
  if (frontier.length !== digits.reduce((sum, digit) => sum + digit)) return undefined;
  const rest = [...frontier];
  return digits.map((digit) => rest.splice(0, digit));
}

/** The root when everything right of the frontier is empty. */
function rootOf(levels: readonly (readonly bigint[])[]): bigint {
  return levels.reduce((node, complete, level) => hash4(fourOf([...complete, node], EMPTY[level]!)), 0n);
}

/** Four complete nodes are one of the level above. There is room: the last leaf's place is never taken. */
function append(levels: readonly bigint[][], leaf: bigint): void {
  let node = leaf;
  for (const nodes of levels) {
    nodes.push(node);
    if (nodes.length < CHILDREN) return;
    node = hash4(fourOf(nodes.splice(0), 0n));
  }
}
