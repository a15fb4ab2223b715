import assert from "node:assert/strict";
import { frontierOf, windowEnds } from "../../../../../shared/client/chain/advance.ts";
import { NoteTree } from "../../../../../shared/notes/merkle.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import { Frontier } from "../../../../../shared/protocol/tree.ts";

const WINDOW = 252;

describe("client/chain/advance", () => {
  it("gives the frontier that the protocol's own tree has, at every leaf count", () => {
    const tree = new NoteTree();
    const frontier = Frontier.empty();
    for (let count = 0; count <= 300; count++) {
      assert.deepEqual(frontierOf(tree, count), frontier.nodes(), `after ${count} leaves`);
      const leaf = mustField(BigInt(count + 1));
      tree.append(leaf);
      frontier.append(leaf);
    }
    // Of fewer leaves than the tree has.
    const early = Frontier.empty();
    for (let index = 0; index < 77; index++) early.append(mustField(BigInt(index + 1)));
    assert.deepEqual(frontierOf(tree, 77), early.nodes());
  });

  it("has empty nodes where all leaves below are void", () => {
    const tree = new NoteTree();
    for (let index = 0; index < 5; index++) tree.append(mustField(0n));
    assert.deepEqual(frontierOf(tree, 5).length, 2);
    assert.equal(tree.root(5), new NoteTree().root(0));
  });

  it("looks for a window's checkpoint wherever the pool may have put it, and within one call's reach", () => {
    for (let from = 0; from < 3 * WINDOW; from++) {
      const ends = windowEnds(from);
      assert.ok(ends.every((end) => from < end && end <= from + 256));
      assert.deepEqual(
        ends,
        [...ends].sort((a, b) => b - a),
      );
      // A transaction of one to four leaves that is the first to end in a window ends at most three leaves behind its begin.
      const window = (Math.floor(from / WINDOW) + 1) * WINDOW;
      for (let over = 0; over < 4; over++)
        if (window + over <= from + 256)
          assert.ok(ends.includes(window + over), `from ${from}: ${window + over}`);
    }
  });
});
