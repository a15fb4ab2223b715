// The index made again from a real chain, beside the one that a running proxy serves.
import assert from "node:assert/strict";
import {
  adoptRebuiltIndex,
  rebuildIndex,
  type Rebuilt,
} from "../../../../../proxy/api/merkle/index-rebuild.ts";
import { openDatabase } from "../../../../../proxy/base/store/lmdb/database.ts";
import {
  openRebuildStore,
  type IndexSource,
  type RebuildStore,
} from "../../../../../proxy/base/store/lmdb/rebuild.ts";
import type { LoggedEvent } from "../../../../../proxy/base/store/chain-data.ts";
import type { Pool } from "../../../../../proxy/base/chain/pool.ts";
import type { TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { Money, SILENT } from "../../../../support/money.ts";
import { overriding } from "../../../../support/overriding.ts";

interface Bend {
  readonly pool?: Pool;
  readonly fromNothing?: boolean;
  readonly onProgress?: () => void;
}

describe("merkle/index-rebuild on a real chain", function () {
  let on: Money;
  let source: IndexSource;

  beforeEach(async () => {
    on = await Money.start();
    source = { chainId: Number(on.home.chainId), pool: on.home.pool, deploymentBlock: on.deploymentBlock };
    await on.run();
  });
  afterEach(() => on.stop());

  const confirmed = async (): Promise<TicketRecord> =>
    on.reaches(await on.accept(await on.deposit()), "confirmed");
  const rebuilds = (): RebuildStore => openRebuildStore(on.database);
  const rebuild = ({
    pool = on.pool,
    fromNothing = false,
    onProgress = () => undefined,
  }: Bend = {}): Promise<Rebuilt> =>
    rebuildIndex(
      { chain: on.chain, pool, store: rebuilds(), logger: SILENT, now: () => on.now() },
      { source, fromNothing, sample: 64, onProgress },
    );
  const log = (): LoggedEvent[] => on.data.eventsAfter(undefined, 1_000);
  const tickets = (): unknown[] => [...on.database.table("tickets").getRange()];
  /** What a proxy's start does on this folder. */
  const startAgain = async (as: Partial<IndexSource> = {}): Promise<void> => {
    await on.halt();
    const database = openDatabase(on.folder);
    await adoptRebuiltIndex(openRebuildStore(database), { ...source, ...as }, SILENT);
    await database.close();
    await on.reopen();
  };

  it("is the same index, served from the next start, and no ticket is touched", async () => {
    const ticket = await confirmed();
    await on.reaches(await on.accept(on.spend(on.data.currentRoot()!.root)), "confirmed");
    await on.sequencer.stop();
    await on.indexer.sync();
    const [events, root, before] = [log(), on.data.currentRoot(), tickets()];

    const { start, isComplete, report } = await rebuild();
    assert.deepEqual([start, isComplete, report.differences], ["begun", true, []]);
    assert.deepEqual(tickets(), before);
    assert.ok(before.length > 0);

    await startAgain();
    assert.deepEqual(log(), events);
    assert.deepEqual(on.data.currentRoot(), root);
    assert.deepEqual(tickets(), before);
    assert.equal(rebuilds().state(), undefined);
    assert.deepEqual(rebuilds().data.eventsAfter(undefined, 10), []);
    await on.run();
    await on.mine(4);
    await on.reaches(ticket, "finalized");
    await confirmed();
  });

  it("repairs what was broken: the damaged index serves until the next start, then the rebuilt one", async () => {
    await confirmed();
    await on.sequencer.stop();
    await on.indexer.stop();
    const [leaf] = log().filter(({ event }) => event.kind === "leaf");
    const { block, logIndex, part } = leaf!.position;
    const table = on.database.table("chain");
    await on.database.transaction(() => table.removeSync(["log", block, logIndex, part] as never));
    assert.equal(on.data.eventAt(leaf!.position), undefined);
    assert.equal((await rebuild()).isComplete, true);
    assert.equal(on.data.eventAt(leaf!.position), undefined);
    await startAgain();
    assert.deepEqual(on.data.eventAt(leaf!.position), leaf);
  });

  it("runs beside a proxy that goes on accepting and carrying tickets, twice in a row", async () => {
    await confirmed();
    const [rebuilt] = await Promise.all([rebuild(), confirmed()]);
    assert.equal(rebuilt.isComplete, true);
    const again = await rebuild();
    assert.deepEqual([again.start, again.isComplete], ["resumed", true]);
    assert.equal(again.report.leafCount, 6);
    await startAgain();
    await confirmedAfterStart();
    // The other table serves now, and the next rebuild takes the first.
    const third = await rebuild();
    assert.deepEqual([third.start, third.isComplete], ["begun", true]);
    await startAgain();
    assert.equal(on.data.leafCount(), 9);
  });

  async function confirmedAfterStart(): Promise<void> {
    await on.run();
    await confirmed();
  }

  it("keeps what it has when the node becomes unreachable, and goes on from there", async () => {
    await confirmed();
    await on.mine(20);
    await on.sequencer.stop();
    await on.indexer.stop();
    const head = (await on.chain.header("latest"))!;
    await assert.rejects(rebuild({ onProgress: () => on.wire.cut() }), { name: "ChainUnreachable" });
    const reached = rebuilds().data.tip()!.number;
    assert.ok(reached >= source.deploymentBlock && reached < head.number);
    assert.equal(rebuilds().state()?.isComplete, false);
    await startAgain();
    assert.equal(on.data.leafCount(), 3);
    on.wire.repair();
    const { start, isComplete } = await rebuild();
    assert.deepEqual([start, isComplete], ["resumed", true]);
    assert.equal((await rebuild({ fromNothing: true })).start, "begun");
  });

  it("serves nothing that a lying node made: a statement left out, and a bent root", async () => {
    await confirmed();
    await on.sequencer.stop();
    const without = (name: string): Pool =>
      overriding(on.pool, {
        logs: async (range) =>
          (await on.pool.logs(range)).filter((raw) => on.pool.parseLog(raw)?.kind !== name),
      });
    for (const name of ["executed", "root"]) {
      const { isComplete, report } = await rebuild({ pool: without(name), fromNothing: true }).catch(
        (error: unknown): Rebuilt => {
          // What the pool holds is more than what was answered: it is asked for again, by the next rebuild.
          assert.equal((error as Error).name, "ChainUnreachable");
          return { start: "begun", isComplete: false, report: { differences: ["refused"] } as never };
        },
      );
      assert.equal(isComplete, false);
      assert.ok(report.differences.length > 0);
      assert.equal(rebuilds().state()?.isComplete, false);
    }
    await startAgain();
    assert.equal(on.data.leafCount(), 3);
    assert.equal(on.data.currentRoot()?.leafCount, 3);
  });

  it("ends when another rebuild of the folder began later, and completes nothing", async () => {
    await confirmed();
    await on.mine(20);
    let other: Promise<unknown> | undefined;
    const first = rebuild({ onProgress: () => void (other ??= rebuilds().begin(source, "another", true)) });
    await assert.rejects(first, /another rebuild of this index has begun/);
    await other;
    assert.equal(rebuilds().isWorker("another"), true);
    assert.equal(rebuilds().state()?.isComplete, false);
    assert.equal(await rebuilds().complete("somebody"), false);
  });

  it("is left alone by a proxy of another pool or chain", async () => {
    await confirmed();
    await rebuild();
    for (const as of [{ chainId: 1 }, { pool: on.usdcAddress }]) {
      await startAgain(as);
      assert.equal(on.data.leafCount(), 3);
      assert.equal(rebuilds().state()?.isComplete, true);
    }
  });

  it("does not go on from one of another chain, pool or first block", async () => {
    const begin = (other: Partial<IndexSource>): Promise<string> =>
      rebuilds().begin({ ...source, ...other }, "one", false);
    assert.equal(await begin({}), "begun");
    assert.equal(await begin({}), "resumed");
    for (const other of [{ chainId: 1 }, { pool: on.usdcAddress }, { deploymentBlock: 7 }]) {
      assert.equal(await begin(other), "begun");
      await begin({});
    }
  });
});
