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
import type { ChainDataStore } from "../../../../../proxy/base/store/chain-data.ts";
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

  /** An index of its own, of the same pool, through a node that is bent; the store is closed with the test. */
  async function indexThrough(bend: Partial<Chain>, data: ChainDataStore): Promise<Indexer> {
    const chain: Chain = { ...on.chain, ...bend };
    const indexer = new Indexer(chain, new Pool(chain, on.pool.address), data, createLogger("silent"), {
      ...{ deploymentBlock: 1, pollIntervalMs: 5 },
    });
    await indexer.start();
    return indexer;
  }
  async function withStore(play: (data: ChainDataStore) => Promise<void>): Promise<void> {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-test-"));
    const database = openDatabase(folder);
    try {
      await play(openChainDataStore(database));
    } finally {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    }
  }
  const refused = (): never => {
    throw new ChainRefused(-32_000, "missing trie node", "0x");
  };
  async function untilWhole(data: ChainDataStore): Promise<void> {
    const head = (await on.chain.header("latest"))!;
    await until("the tip to be the chain's", () => data.tip()?.number === head.number);
    const queue = await on.pool.queue();
    assert.deepEqual([data.leafCount(), data.headAt(data.leafCount())], [queue.leafCount, queue.head]);
    assert.deepEqual(data.currentRoot(), on.data.currentRoot());
    assert.equal(data.eventsAfter(undefined, 1_000).length, on.data.eventsAfter(undefined, 1_000).length);
  }

  it("stores no block of which a node left out logs, near its head and far below it, and asks again", () =>
    withStore(async (data) => {
      await confirmed();
      await on.mine(100);
      await confirmed();
      const shown = new Set<number>();
      const seen: number[] = [];
      // As a replica that lags does: the first answer that has a block's logs has none of it.
      const logs: Chain["logs"] = async (address, range) => {
        const found = await on.chain.logs(address, range);
        const told = found.filter(({ blockNumber }) => shown.has(blockNumber));
        for (const { blockNumber } of found) shown.add(blockNumber);
        return told;
      };
      const indexer = await indexThrough({ logs }, data);
      indexer.onChange((change) => {
        if (change.type === "reorg") seen.push(change.ancestor);
      });
      await untilWhole(data);
      await indexer.stop();
      assert.ok(shown.size >= 3, String(shown.size));
      assert.deepEqual(seen, [], "nothing wrong was stored");
    }));

  for (const [what, pruned] of [
    ["at its start", "never"],
    ["at the next leaf, where the node has no state of the stored tip", "at first"],
    ["at the next leaf, where the node has no state but the newest and never will", "always"],
  ] as const)
    it(`finds a gap that is stored ${what}, goes back to before it and reads on`, () =>
      withStore(async (data) => {
        await confirmed();
        await on.mine(100);
        // An older version, or a node without old states: nobody could tell.
        const first = await indexThrough({ logs: async () => [], call: refused }, data);
        const tip = (await on.chain.header("latest"))!.number - 64;
        await until("the gap to be stored", () => (data.tip()?.number ?? 0) >= tip);
        await first.stop();
        assert.equal(data.leafCount(), 0);
        let isPruned = pruned !== "never";
        const bend: Partial<Chain> = {
          call: (request, at) => (isPruned && at !== "latest" ? refused() : on.chain.call(request, at)),
        };
        const indexer = await indexThrough(bend, data);
        if (isPruned) await until("a first pass", () => indexer.state().tip !== undefined);
        await confirmed();
        isPruned = pruned === "always";
        await untilWhole(data);
        await indexer.stop();
      }));

  it("takes no block of whose state its node knows nothing yet, as one behind a balancer may that lags", () =>
    withStore(async (data) => {
      await confirmed();
      let isLagging = true;
      let asked = 0;
      const bend: Partial<Chain> = {
        logs: (address, range) => (isLagging ? Promise.resolve([]) : on.chain.logs(address, range)),
        call: (request, at) => {
          asked += 1;
          return isLagging && at !== "latest" ? refused() : on.chain.call(request, at);
        },
      };
      const indexer = await indexThrough(bend, data);
      const made = on.data.leaf(0)!.block;
      await until("it to ask again and again", () => asked > 20);
      assert.ok((data.tip()?.number ?? 0) < made);
      isLagging = false;
      await untilWhole(data);
      await indexer.stop();
    }));

  it("asks for blocks side by side: it keeps up where a question takes half a block's time", () =>
    withStore(async (data) => {
      await confirmed();
      await on.mine(20);
      let asked = 0;
      let answer = (): void => undefined;
      const eight = new Promise<void>((resolve) => (answer = resolve));
      // None of the first eight is answered before all of them are asked.
      const header: Chain["header"] = async (at) => {
        if (at !== "latest" && ++asked === 8) answer();
        if (at !== "latest") await eight;
        return on.chain.header(at);
      };
      const indexer = await indexThrough({ header }, data);
      await untilWhole(data);
      await indexer.stop();
    }));

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
