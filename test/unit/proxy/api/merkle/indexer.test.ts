import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { ChainRefused } from "../../../../../proxy/base/chain/json-rpc.ts";
import { Pool } from "../../../../../proxy/base/chain/pool.ts";
import type { Chain } from "../../../../../proxy/base/chain/provider.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { createMerkle } from "../../../../../proxy/api/merkle/merkle.service.ts";
import { Indexer, type IndexChange } from "../../../../../proxy/api/merkle/indexer.ts";
import { openChainDataStore } from "../../../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase } from "../../../../../proxy/base/store/lmdb/database.ts";
import { Money } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";

describe("merkle/indexer on a real chain", function () {
  let on: Money;

  beforeEach(async () => {
    on = await Money.start();
    await on.run();
  });
  afterEach(() => on.stop());

  const confirmed = async (): Promise<void> => {
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
  };

  it("has the pool's leaves, head, root and nullifiers", async () => {
    await confirmed();
    const made = on.spend(on.data.currentRoot()!.root);
    await on.reaches(await on.accept(made), "confirmed");
    const queue = await on.pool.queue();
    assert.equal(on.data.leafCount(), queue.leafCount);
    assert.equal(on.data.headAt(queue.leafCount), queue.head);
    const root = await on.pool.currentRoot();
    assert.deepEqual({ ...on.data.currentRoot(), block: 0 }, { ...root, block: 0 });
    for (const nullifier of made.statement.facts.nullifiers) {
      assert.equal(on.data.spender(nullifier)?.statement, made.statement.hash);
    }
  });

  it("follows a reorganisation that it only sees by parent hashes, and remembers the branch that ended", async () => {
    await on.mine(2);
    await on.indexer.sync();
    const changes: IndexChange[] = [];
    on.indexer.onChange((change) => changes.push(change));
    await confirmed();
    await on.sequencer.stop();
    await on.indexer.sync();
    const lost = on.data.eventsAfter(undefined, 100).at(-1)!;
    const tip = on.data.tip()!;
    await on.rpc("anvil_reorg", [tip.number - lost.position.block + 1, []]);
    await until("the leaves to be gone", () => on.data.leafCount() === 0);
    const ancestor = lost.position.block - 1;
    assert.ok(changes.some((change) => change.type === "reorg" && change.ancestor <= ancestor));
    assert.equal(on.indexer.tree.leafCount, 0);
    assert.equal(on.data.currentRoot()?.leafCount, 0);
    assert.equal(on.data.forkPoint(lost.position.block, lost.blockHash.slice(2, 10)), ancestor);
    const head = await on.chain.header("latest");
    await until("the tip to be the chain's", () => on.data.tip()?.hash === head!.hash);
  });

  it("goes back when the chain itself is rolled back", async () => {
    await on.mine(2);
    await on.indexer.sync();
    const before = on.data.tip()!;
    await confirmed();
    await on.sequencer.stop();
    await on.indexer.sync();
    await on.rpc("anvil_rollback", [on.data.tip()!.number - before.number]);
    await until("the tip to be the old one", () => on.data.tip()?.hash === before.hash);
    assert.equal(on.data.leafCount(), 0);
  });

  it("resumes from its last block with the same tree, and finds what happened meanwhile", async () => {
    await confirmed();
    const { root, leafCount } = on.data.currentRoot()!;
    await on.mine(300);
    await on.restart();
    assert.equal(on.data.currentRoot()?.root, root);
    await on.run();
    assert.equal(on.indexer.tree.root(leafCount), root);
    const head = await on.chain.header("latest");
    await until("the tip to be the chain's", () => on.data.tip()?.number === head!.number);
  });

  it("halves a range that its node does not answer, until it does, and loses nothing", async () => {
    await confirmed();
    await on.mine(300);
    const widths: number[] = [];
    const strict: Chain = {
      ...on.chain,
      logs(address, range) {
        if ("blockHash" in range) return on.chain.logs(address, range);
        const width = range.toBlock - range.fromBlock + 1;
        widths.push(width);
        if (width > 40) throw new ChainRefused(-32_602, "query returned more than 10000 results", "0x");
        return on.chain.logs(address, range);
      },
    };
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-test-"));
    const database = openDatabase(folder);
    const data = openChainDataStore(database);
    const indexer = new Indexer(strict, new Pool(strict, on.pool.address), data, createLogger("silent"), {
      deploymentBlock: 1,
      pollIntervalMs: 5,
    });
    try {
      await indexer.start();
      const head = await on.chain.header("latest");
      await until("the tip to be the chain's", () => data.tip()?.number === head!.number);
      assert.deepEqual(data.currentRoot(), on.data.currentRoot());
      assert.ok(widths[0]! > 200 && widths.some((width) => width <= 40), widths.join(" "));
    } finally {
      await indexer.stop();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("serves the rooted prefix, counts what waits, and refuses before it knows anything", async () => {
    const merkle = createMerkle(on.indexer, on.data);
    await confirmed();
    const view = merkle.root();
    assert.equal(view.leafCount, 3);
    assert.equal(view.pending, 0);
    const page = merkle.page(0, 1, 10);
    assert.equal(page.nodes().length, 2 * 32);
    assert.equal(page.next, undefined);
    assert.equal(merkle.page(0, 0, 2).next, 2);
    assert.equal(merkle.page(0, 99, 2).nodes().length, 0);
    const fresh = {
      onChange: () => () => undefined,
      state: () => ({ tip: undefined, syncedAt: undefined, fault: undefined }),
      tree: on.indexer.tree,
    };
    assert.throws(() => createMerkle(fresh, on.data).root(), { code: "CHAIN_UNAVAILABLE" });
  });
});
