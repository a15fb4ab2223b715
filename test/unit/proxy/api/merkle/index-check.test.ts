// A real index of a real pool, then the same with one thing wrong at a time.
import assert from "node:assert/strict";
import { checkIndex, type IndexReport } from "../../../../../proxy/api/merkle/index-check.ts";
import type { Table } from "../../../../../proxy/base/store/lmdb/database.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import { word } from "../../../../../shared/protocol/bytes.ts";
import { Money, type MadeStatement } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";
import { overriding } from "../../../../support/overriding.ts";

describe("merkle/index-check on a real chain", function () {
  let on: Money;
  let spent: MadeStatement;

  beforeEach(async () => {
    on = await Money.start();
    await on.run();
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
    spent = on.spend(on.data.currentRoot()!.root);
    await on.reaches(await on.accept(spent), "confirmed");
    await on.sequencer.stop();
    await on.indexer.stop();
    await on.indexer.sync();
  });
  afterEach(() => on.stop());

  const check = (): Promise<IndexReport> => checkIndex(on.chain, on.pool, on.data, 64);
  const rows = (): Table<unknown, (string | number)[]> => on.database.table("chain");
  const refusedFor = async (pattern: RegExp): Promise<void> => {
    const { differences } = await check();
    assert.match(differences.join("\n"), pattern);
  };

  it("finds nothing in an index that follows the pool, and says what it looked at", async () => {
    const report = await check();
    assert.deepEqual(report.differences, []);
    assert.equal(report.leafCount, 7);
    assert.deepEqual(report.sampled, { blocks: 2, events: 1 + 3 + 1 + (1 + 2 + 4 + 1), nullifiers: 2 });
    assert.equal(report.block?.hash, on.data.tip()?.hash);
  });

  it("is equal at the index's own block while the chain is ahead, and says by how much", async () => {
    await on.mine(5);
    const report = await check();
    assert.deepEqual(report.differences, []);
    assert.equal(report.behind, 5);
  });

  it("finds a leaf that was changed, though count and stored head are right", async () => {
    const leaf = on.database.table("chain").get(["leaf", 4] as never) as object;
    rows().putSync(["leaf", 4], { ...leaf, c: word(mustField(5n)) });
    const { differences } = await check();
    assert.match(differences.join("\n"), /queue's head, from the stored leaves/);
    assert.match(differences.join("\n"), /root, from the stored leaves/);
    assert.doesNotMatch(differences.join("\n"), /stored queue's head/);
  });

  it("finds a missing leaf and a wrong count", async () => {
    rows().removeSync(["leaf", 6]);
    await refusedFor(/leaf 6 is missing/);
    rows().putSync(["leaf-count"], 6);
    await refusedFor(/^leaves: 6 in the index, 7 in the pool/);
  });

  it("finds a nullifier, an execution and an event that are missing", async () => {
    const [nullifier] = spent.statement.facts.nullifiers;
    rows().removeSync(["nullifier", nullifier!.toString(16)]);
    await refusedFor(/does not know a nullifier that/);
    rows().removeSync(["execution", spent.statement.hash]);
    await refusedFor(/was executed there/);
    const event = on.data.eventsAfter(undefined, 100).find((each) => each.event.kind === "nullifier")!;
    const { block, logIndex, part } = event.position;
    rows().removeSync(["log", block, logIndex, part]);
    await refusedFor(/the nullifier of the chain is not the one of the event log/);
  });

  it("finds a nullifier that the pool does not have", async () => {
    const pool = overriding(on.pool, { isSpent: () => Promise.resolve(false) });
    const { differences } = await checkIndex(on.chain, pool, on.data, 64);
    assert.match(differences.join("\n"), /is spent on one side only/);
  });

  it("finds an old root in the place of the newest", async () => {
    const logged = on.data.lastEventUpTo(on.data.tip()!.number, ["root"])!;
    rows().removeSync(["tree", logged.position.block, logged.position.logIndex]);
    await refusedFor(/rooted leaves: \d+ in the index, \d+ in the pool/);
  });

  it("says so when the index's block is not on the chain, or there is no index", async () => {
    await on.rpc("anvil_reorg", [2, []]);
    await refusedFor(/is not on the chain/);
    await on.data.clear();
    await refusedFor(/^the index is empty$/);
  });

  it("knows nothing when the chain moves while it is compared, or the node is unreachable", async () => {
    const pool = overriding(on.pool, {
      isSpent: async () => {
        await on.data.rollbackTo(on.data.tip()!.number - 1);
        return true;
      },
    });
    await assert.rejects(checkIndex(on.chain, pool, on.data, 64), { name: "ChainUnreachable" });
    await until("the index to be back", async () => {
      await on.indexer.sync();
      return true;
    });
    on.wire.cut();
    await assert.rejects(check(), { name: "ChainUnreachable" });
  });
});
