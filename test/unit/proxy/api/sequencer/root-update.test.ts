import assert from "node:assert/strict";
import { planRootUpdate } from "../../../../../proxy/api/sequencer/root-update.ts";
import { CommitmentTree } from "../../../../../proxy/api/merkle/tree.ts";
import type { Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { nextHead } from "../../../../../shared/protocol/tree.ts";
import { batchOf, queueOf } from "./queue-of.ts";

describe("sequencer/root-update", () => {
  it("asks for nothing when nothing waits", async () => {
    const { view, tree } = queueOf([2], 4, 8);
    assert.equal(await planRootUpdate(view, tree, []), undefined);
  });

  it("covers what waits and the batch after it, with the heads and roots that the pool will compute", async () => {
    const { view, tree } = queueOf([1, 1], 4, 4);
    const batch = batchOf(3, 4);
    const plan = (await planRootUpdate(view, tree, batch))!;
    assert.equal(plan.fromIndex, 4);
    assert.equal(plan.expected.toIndex, 15n);
    const grown = new CommitmentTree();
    for (const leaf of [...view.leaves(0, 8).map(({ commitment }) => commitment), ...batch.flat()])
      grown.append(leaf);
    assert.equal(plan.expected.newRoot, grown.root(15));
    assert.equal(plan.expected.oldRoot, tree.root(4));
    assert.equal(plan.expected.headAfter, batch.flat().reduce<Bytes32>(nextHead, view.headAt(8)!));
  });

  it("ends at a member of the batch where 256 leaves would not reach its end", async () => {
    const { view, tree } = queueOf([62], 4);
    const plan = (await planRootUpdate(view, tree, batchOf(4, 4, 4)))!;
    assert.equal(plan.expected.toIndex, 256n);
  });

  it("ends at the last call within 256 leaves when more wait, without the batch", async () => {
    const { view, tree } = queueOf([60, 3, 10], 4);
    const plan = (await planRootUpdate(view, tree, batchOf(4)))!;
    assert.equal(plan.expected.toIndex, 252n);
  });

  it("ends inside a call of more than 256 leaves where the pool keeps its checkpoint", async () => {
    const { view, tree } = queueOf([80], 4);
    // The first end of a transaction in its second window of 252.
    const plan = (await planRootUpdate(view, tree, []))!;
    assert.equal(plan.expected.toIndex, 252n);
  });

  it("knows which end of a call a later one has replaced", async () => {
    // Ends at 4, 8 … 40, then 260, which is in the place of 4 in the ring.
    const { view, tree } = queueOf([...Array<number>(10).fill(1), 55], 4);
    const plan = (await planRootUpdate(view, tree, []))!;
    // 252 stays for ever; without it the last end of a call within reach would be 40.
    assert.equal(plan.expected.toIndex, 252n);
    const ends = [252n];
    const avoid = new Set([252]);
    for (;;) {
      const next = await planRootUpdate(view, tree, [], avoid);
      if (next === undefined) break;
      ends.push(next.expected.toIndex);
      avoid.add(Number(next.expected.toIndex));
    }
    assert.equal(ends[1], 40n);
    // Last of all what the pool may have kept for another reason.
    assert.ok(ends.indexOf(4n) > ends.indexOf(8n) + 1);
  });

  it("goes on in the middle of a transaction where advance has stopped there", async () => {
    const { view, tree } = queueOf([1, 1], 4, 2);
    const plan = (await planRootUpdate(view, tree, []))!;
    assert.deepEqual([plan.fromIndex, plan.expected.toIndex], [2, 8n]);
  });

  it("asks for nothing while only advance may extend the tree", async () => {
    const { view, tree } = queueOf([1, 1], 4, 4);
    assert.equal(await planRootUpdate({ ...view, awaitsAdvance: () => true }, tree, batchOf(4)), undefined);
  });

  it("tries lower ends when the pool has skipped one", async () => {
    const { view, tree } = queueOf([10, 10], 4);
    const avoid = new Set<number>();
    const ends: bigint[] = [];
    for (;;) {
      const plan = await planRootUpdate(view, tree, [], avoid);
      if (plan === undefined) break;
      ends.push(plan.expected.toIndex);
      avoid.add(Number(plan.expected.toIndex));
    }
    assert.deepEqual(ends.slice(0, 3), [80n, 40n, 76n]);
    assert.equal(ends.length, 20);
  });
});
