// Subtrees that are kept, so that a start need not hash them again: what a start believes, and what it does not.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ChainRefused } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { Chain, RawLog } from "../../../../../proxy/base/chain/provider.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { Indexer } from "../../../../../proxy/api/merkle/indexer.ts";
import { CommitmentTree, inTree } from "../../../../../proxy/api/merkle/tree.ts";
import type { ChainDataStore, LoggedEvent } from "../../../../../proxy/base/store/chain-data.ts";
import { SUBTREE_LEAVES } from "../../../../../shared/notes/merkle.ts";
import { openChainDataStore } from "../../../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { TREE_DEPTH } from "../../../../../shared/protocol/tree.ts";
import { executed, hash, logReader } from "./pool-log.ts";
import { overriding } from "../../../../support/overriding.ts";

/** Two whole subtrees and a part of a third one, four leaves a statement, eight statements a block. */
const STATEMENTS = 150;
const LEAVES = 4 * STATEMENTS;
const IN_BLOCK = 8;
const blockOf = (statement: number): number => 1 + Math.floor(statement / IN_BLOCK);
const logOf = (statement: number): RawLog =>
  executed("spend", statement, 4 * statement, { block: blockOf(statement), logIndex: statement });

/** A node of which every block is known beforehand. */
class Node {
  head = blockOf(STATEMENTS - 1);

  readonly chain = {
    header: (at: number | "latest") => {
      const number = at === "latest" ? this.head : at;
      const known = number >= 0 && number <= this.head;
      const header = { number, timestamp: number, baseFee: 0n, bloom: `0x${"00".repeat(256)}` };
      return Promise.resolve(
        known ? { ...header, hash: hash(1_000 + number), parentHash: hash(999 + number) } : undefined,
      );
    },
  } as unknown as Chain;

  readonly pool = overriding(logReader(), {
    logs: (range: { fromBlock?: number; toBlock?: number; blockHash?: string }) => {
      const all = Array.from({ length: STATEMENTS }, (_, statement) => logOf(statement));
      const isIn = ({ blockNumber, blockHash }: RawLog): boolean =>
        range.blockHash === undefined
          ? blockNumber >= range.fromBlock! && blockNumber <= range.toBlock!
          : blockHash === range.blockHash;
      return Promise.resolve(all.filter(isIn));
    },
    // Of blocks as old as these it keeps no state.
    queue: () => Promise.reject(new ChainRefused(-32_000, "missing trie node", "0x")),
  });
}

describe("merkle/indexer: subtrees that are kept", () => {
  let folder: string;
  let database: Database;
  let data: ChainDataStore;
  let node: Node;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-subtrees-"));
    database = openDatabase(folder);
    data = openChainDataStore(database);
    node = new Node();
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Started, and at the chain's head; stopped again. */
  async function indexed(store: ChainDataStore = data): Promise<Indexer> {
    const options = { deploymentBlock: 0, pollIntervalMs: 60_000 };
    const indexer = new Indexer(node.chain, node.pool, store, createLogger("silent"), options);
    await indexer.start();
    await indexer.sync();
    await indexer.stop();
    return indexer;
  }

  function fresh(): CommitmentTree {
    const tree = new CommitmentTree();
    for (const leaf of data.leaves(0, data.leafCount())) tree.append(inTree(leaf));
    return tree;
  }

  function assertSame(tree: CommitmentTree, expected: CommitmentTree): void {
    assert.equal(tree.leafCount, expected.leafCount);
    for (let level = 0; level <= TREE_DEPTH; level++) {
      const width = CommitmentTree.width(level, expected.leafCount);
      const [ours, theirs] = [tree, expected].map((each) => each.nodes(level, 0, width, expected.leafCount));
      assert.deepEqual(ours, theirs, `level ${String(level)}`);
    }
  }
  const kept = (): boolean[] => [0, 1, 2].map((place) => data.subtree(place) !== undefined);

  /** A whole kept subtree with another node above its leaves, as only somebody who wrote the store could make it. */
  function bent(place: number): Uint8Array {
    const nodes = Uint8Array.from(data.subtree(place)!);
    nodes[SUBTREE_LEAVES * 32 + 31]! ^= 1;
    return nodes;
  }
  const isBent = (tree: CommitmentTree, place: number): boolean => {
    const at = (place * SUBTREE_LEAVES) / 4;
    const [ours, right] = [tree, fresh()].map((each) => each.nodes(1, at, at + 1, data.leafCount()));
    return Buffer.compare(ours!, right!) !== 0;
  };

  it("keeps each as soon as it is whole, and a start gives the tree that it had", async () => {
    node.head = blockOf(62);
    await indexed();
    assert.deepEqual(kept(), [true, false, false], "256 leaves are 64 statements");
    node.head = blockOf(STATEMENTS - 1);
    await indexed();
    assert.equal(data.leafCount(), LEAVES);
    assert.deepEqual(kept(), [true, true, false]);
    assertSame((await indexed()).tree, fresh());
  });

  it("a start hashes none of those again, and goes on behind them", async () => {
    await indexed();
    await data.keepSubtrees([{ place: 1, nodes: bent(1) }]);
    const { tree } = await indexed();
    assert.deepEqual([isBent(tree, 0), isBent(tree, 1)], [false, true]);
    assert.equal(tree.leafCount, LEAVES);
  });

  it("hashes again what is damaged, what lies in another's place and what has another length, and keeps it anew", async () => {
    await indexed();
    const table = database.table<Uint8Array, (string | number)[]>("chain");
    const row = (place: number): Uint8Array => Uint8Array.from(table.get(["subtree", place])!);
    const cases: readonly [place: number, bytes: Uint8Array][] = [
      [0, row(0).with(4_000, row(0)[4_000]! ^ 1)],
      [0, row(1)],
      [1, row(1).slice(0, -32)],
      [1, new Uint8Array(0)],
    ];
    for (const [place, bytes] of cases) {
      await database.transaction(() => table.putSync(["subtree", place], bytes));
      assert.equal(data.subtree(place), undefined);
      assertSame((await indexed()).tree, fresh());
      assert.deepEqual(kept(), [true, true, false]);
    }
  });

  it("are those of a store that was written before there were any", async () => {
    await indexed();
    const table = database.table<Uint8Array, (string | number)[]>("chain");
    await database.transaction(() => [0, 1].forEach((place) => table.removeSync(["subtree", place])));
    assertSame((await indexed()).tree, fresh());
    assert.deepEqual(kept(), [true, true, false]);
  });

  it("indexes again where a damaged store lacks a leaf, before a kept subtree or behind it", async () => {
    const table = database.table<Uint8Array, (string | number)[]>("chain");
    for (const lost of [70, 300]) {
      await indexed();
      await database.transaction(() => {
        table.removeSync(["leaf", lost]);
        table.removeSync(["subtree", Math.floor(lost / SUBTREE_LEAVES)]);
      });
      const { tree } = await indexed();
      assert.equal(data.leafCount(), LEAVES);
      assertSame(tree, fresh());
      assert.deepEqual(kept(), [true, true, false]);
    }
  });

  it("forgets one with a leaf that becomes void, and again with the one that comes back", async () => {
    await indexed();
    const statement = 70;
    const { event } = data
      .eventsAfter(undefined, 10_000)
      .find(({ event: each }) => each.kind === "executed" && each.statement === hash(statement))!;
    assert.ok(event.kind === "executed");
    const number = blockOf(STATEMENTS - 1) + 1;
    const voided: LoggedEvent = {
      ...{ position: { block: number, logIndex: 0, part: 0 }, blockHash: hash(1_000 + number) },
      ...{ txHash: hash(1), event: { ...event, kind: "voided" } },
    };
    await data.append([{ number, hash: hash(1_000 + number), timestamp: 1 }], [voided]);
    assert.deepEqual(kept(), [true, false, false]);
    node.head = number;
    assertSame((await indexed()).tree, fresh());
    assert.deepEqual(kept(), [true, true, false]);

    await data.rollbackTo(number - 1);
    assert.deepEqual(kept(), [true, false, false]);
    node.head = number - 1;
    const { tree } = await indexed();
    assertSame(tree, fresh());
    assert.equal(data.leaf(4 * statement)?.isVoid, false);
  });

  it("forgets those over leaves that a reorganisation takes away, and no others", async () => {
    await indexed();
    await data.rollbackTo(blockOf(100));
    assert.deepEqual(kept(), [true, false, false]);
    const { tree } = await indexed();
    assert.equal(tree.leafCount, LEAVES);
    assertSame(tree, fresh());
  });

  it("does without where they cannot be written", async () => {
    const full = overriding(data, { keepSubtrees: () => Promise.reject(new Error("the disk is full")) });
    assertSame((await indexed(full)).tree, fresh());
    assert.deepEqual(kept(), [false, false, false]);
  });

  it("a tree takes one only behind whole ones, and of the right length", async () => {
    await indexed();
    const nodes = data.subtree(0)!;
    const tree = new CommitmentTree();
    assert.throws(() => tree.appendSubtree(nodes.subarray(32)), RangeError);
    tree.append(inTree(data.leaf(0)!));
    assert.throws(() => tree.appendSubtree(nodes), RangeError);
    assert.throws(() => tree.subtree(0), RangeError);
  });
});
