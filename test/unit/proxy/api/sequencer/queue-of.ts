import type { QueueView } from "../../../../../proxy/api/sequencer/root-update.ts";
import { CommitmentTree } from "../../../../../proxy/api/merkle/tree.ts";
import type { StoredLeaf } from "../../../../../proxy/base/store/chain-data.ts";
import { mustField, ZERO_BYTES32, type Bytes32, type Field } from "../../../../../shared/protocol/brands.ts";
import { nextHead } from "../../../../../shared/protocol/tree.ts";

/** A queue in which call i adds `calls[i]` statements of `size` leaves each. */
export function queueOf(
  calls: readonly number[],
  size: number,
  rooted = 0,
): { view: QueueView; tree: CommitmentTree } {
  const tree = new CommitmentTree();
  const leaves: StoredLeaf[] = [];
  let head: Bytes32 = ZERO_BYTES32;
  for (const [call, statements] of calls.entries()) {
    for (let i = 0; i < statements * size; i++) {
      const commitment = mustField(BigInt(leaves.length + 1));
      head = nextHead(head, commitment);
      tree.append(commitment);
      const txHash = `0x${String(call).padStart(64, "0")}` as Bytes32;
      leaves.push({
        index: leaves.length,
        commitment,
        head,
        block: call,
        txHash,
        isLast: i % size === size - 1,
        isVoid: false,
      });
    }
  }
  const view: QueueView = {
    currentRoot: () => ({ root: tree.root(rooted), leafCount: rooted, sequence: 0, block: 0 }),
    leafCount: () => leaves.length,
    leaves: (from, to) => leaves.slice(from, to),
    leaf: (index) => leaves[index],
    awaitsAdvance: () => false,
    headAt: (count) => (count === 0 ? ZERO_BYTES32 : leaves[count - 1]?.head),
  };
  return { view, tree };
}

/** Members of so many leaves each. */
export const batchOf = (...sizes: number[]): Field[][] =>
  sizes.map((size, i) => Array.from({ length: size }, (_, j) => mustField(BigInt(1_000 + 10 * i + j))));
