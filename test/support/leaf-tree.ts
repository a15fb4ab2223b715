/**
 * The commitment tree with every node at hand, written apart from shared/protocol/tree.ts: it also has frontiers with
 * empty nodes, which void leaves make.
 */
import type { Field } from "../../shared/protocol/brands.ts";
import { poseidon4 } from "../../shared/protocol/host/poseidon.ts";

const DEPTH = 16;
const empty: Field[] = [0n as Field];
for (let level = 0; level < DEPTH; level++) {
  const below = empty[level]!;
  empty.push(poseidon4(below, below, below, below));
}
/** Roots of empty trees of height 0 to 16. */
export const EMPTY_ROOTS: readonly Field[] = empty;

export function treeOf(leaves: readonly Field[]): { readonly root: Field; readonly frontier: Field[] } {
  let nodes = leaves;
  let index = leaves.length;
  const frontier: Field[] = [];
  for (let level = 0; level < DEPTH; level++) {
    frontier.push(...nodes.slice(index - (index % 4), index));
    index = Math.floor(index / 4);
    const nothing = empty[level]!;
    nodes = Array.from({ length: Math.ceil(nodes.length / 4) }, (_, i) => {
      const [a = nothing, b = nothing, c = nothing, d = nothing] = nodes.slice(4 * i, 4 * i + 4);
      return poseidon4(a, b, c, d);
    });
  }
  return { root: nodes[0] ?? empty[DEPTH]!, frontier };
}
