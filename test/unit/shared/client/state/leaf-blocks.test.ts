import fc from "fast-check";
import assert from "node:assert/strict";
import { LeafBlocks } from "../../../../../shared/client/state/leaf-blocks.ts";
import { SUBTREE_LEAVES, subtreeOf } from "../../../../../shared/notes/merkle.ts";

/** Some leaves in each of some blocks, with blocks without any in between. */
const chain = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 300 })), { maxLength: 12 })
  .map((steps) => {
    const all: number[] = [];
    let block = 0;
    for (const [gap, leaves] of steps) {
      block += gap;
      for (let i = 0; i < leaves; i++) all.push(block);
    }
    return all;
  });

function grown(all: readonly number[]): LeafBlocks {
  const blocks = new LeafBlocks();
  for (const block of all) blocks.push(block);
  return blocks;
}

describe("the blocks of leaves", () => {
  it("tells each leaf's block, and how many leaves there are up to a block", () => {
    fc.assert(
      fc.property(chain, (all) => {
        const blocks = grown(all);
        assert.equal(blocks.newest, all.at(-1));
        for (const [index, block] of all.entries()) assert.equal(blocks.of(index), block);
        assert.equal(blocks.of(all.length), undefined);
        for (let block = 0; block <= (all.at(-1) ?? 0) + 1; block++)
          assert.equal(blocks.upTo(block), all.filter((one) => one <= block).length);
      }),
    );
  });

  it("tells the same of what is not folded, and of the rest no more than a subtree's first block and its end", () => {
    fc.assert(
      fc.property(chain, fc.array(fc.nat(8)), (all, places) => {
        const blocks = grown(all);
        const gone = places.filter((place) => place < subtreeOf(all.length));
        for (const place of gone) blocks.fold(place);
        for (const [index, block] of all.entries()) {
          const place = subtreeOf(index);
          assert.equal(blocks.of(index), gone.includes(place) ? all[place * SUBTREE_LEAVES] : block);
          const exact = all.filter((one) => one <= block).length;
          const told = blocks.upTo(block);
          if (gone.includes(subtreeOf(exact - 1)))
            assert.equal(told, (subtreeOf(exact - 1) + 1) * SUBTREE_LEAVES);
          else assert.equal(told, exact);
        }
      }),
    );
  });

  it("after a rollback it is the one that never went further, and comes back from what it tells of itself", () => {
    fc.assert(
      fc.property(chain, fc.nat(), (all, pick) => {
        const keep = pick % (all.length + 1);
        const blocks = grown(all);
        blocks.truncate(keep);
        assert.deepEqual(blocks, grown(all.slice(0, keep)));
        const places = blocks.firsts().keys();
        const inner = [...places].map((place) => [place, blocks.inside(place)!] as const);
        assert.deepEqual(LeafBlocks.from(blocks.firsts(), inner, keep), blocks);
      }),
    );
  });

  it("is not made of numbers that cannot be", () => {
    const inner = Array.from({ length: SUBTREE_LEAVES }, () => 5);
    for (const [firsts, inside, leafCount] of [
      [[], [], 1],
      [[5, 6], [], SUBTREE_LEAVES],
      [[5, 4], [[1, [4]]], SUBTREE_LEAVES + 1],
      [[5, 6], [[0, inner]], SUBTREE_LEAVES + 1],
      [[5, 6], [[1, [6, 6]]], SUBTREE_LEAVES + 1],
      [[5, 6], [[1, [7]]], SUBTREE_LEAVES + 1],
      [
        [5, 6],
        [
          [0, inner.with(9, 7)],
          [1, [6]],
        ],
        SUBTREE_LEAVES + 1,
      ],
    ] as const)
      assert.equal(LeafBlocks.from(firsts, inside, leafCount), undefined);
    assert.ok(LeafBlocks.from([5, 6], [[1, [6]]], SUBTREE_LEAVES + 1));
  });
});
