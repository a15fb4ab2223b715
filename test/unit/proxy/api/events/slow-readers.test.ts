// Readers that are slow, that take nothing, and that read well beside them.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Hub } from "../../../../../proxy/api/events/hub.ts";
import type { IndexChange } from "../../../../../proxy/api/merkle/indexer.ts";
import type { ChainDataStore, LoggedEvent } from "../../../../../proxy/base/store/chain-data.ts";
import { openChainDataStore } from "../../../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import { StreamReader } from "../../../../support/stream-reader.ts";
import { until } from "../../../../support/until.ts";
import { hash, POOL_ADDRESS } from "../merkle/pool-log.ts";
import { overriding } from "../../../../support/overriding.ts";

const BURST = 1_000;

describe("events: slow readers", () => {
  let folder: string;
  let database: Database;
  let data: ChainDataStore;
  let hub: Hub;
  let clock = 0;
  let reads = 0;
  let tell: (change: IndexChange) => void;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-slow-"));
    database = openDatabase(folder);
    data = openChainDataStore(database);
    clock = reads = 0;
    const counted = overriding(data, {
      eventsAfter: (position, limit) => {
        reads += 1;
        return data.eventsAfter(position, limit);
      },
    });
    hub = new Hub(
      {
        onChange: (listener) => {
          tell = listener;
          return () => undefined;
        },
        state: () => ({ tip: data.tip(), syncedAt: 1, fault: undefined }),
      },
      counted,
      {
        onChange: () => () => undefined,
        openOf: () => Promise.resolve([]),
        view: () => Promise.reject(new Error("none")),
      },
      { chainId: 1, pool: POOL_ADDRESS, tickMs: 10, stalledAfterMs: 60_000, now: () => clock },
    );
  });
  afterEach(async () => {
    hub.close();
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function addBlock(number: number, count: number): Promise<void> {
    const events = Array.from({ length: count }, (_, logIndex): LoggedEvent => ({
      position: { block: number, logIndex, part: 0 },
      blockHash: hash(number),
      txHash: hash(1),
      event: { kind: "nullifier", nullifier: mustField(BigInt(number * 10_000 + logIndex)) },
    }));
    const block = { number, hash: hash(number), timestamp: number };
    await data.append([block], events);
    tell({ type: "advanced", tip: block });
  }

  it("a burst of 1,000 events loses nobody, whether it comes at once or in blocks", async () => {
    const readers = Array.from({ length: 50 }, () => new StreamReader(hub));
    await addBlock(1, BURST);
    for (let block = 2; block <= 11; block++) await addBlock(block, BURST / 10);
    await until("all events", () => readers.every((reader) => reader.ids().length === 2 * BURST));
    for (const reader of readers) {
      assert.deepEqual(reader.ids(), readers[0]!.ids());
      assert.equal(reader.isCut, false);
    }
  });

  it("one event for a hundred readers is read and encoded once", async () => {
    const readers = Array.from({ length: 100 }, () => new StreamReader(hub));
    await addBlock(1, 1);
    await until("the first event", () => readers.every((reader) => reader.ids().length === 1));
    const before = reads;
    await addBlock(2, 1);
    await until("the second event", () => readers.every((reader) => reader.ids().length === 2));
    assert.equal(reads - before, 1);
  });

  it("a reader that takes nothing costs a bounded piece, is cut in time, and resumes where it was", async () => {
    const stalled = new StreamReader(hub);
    const healthy = new StreamReader(hub);
    await addBlock(1, 1);
    await until("the first event", () => stalled.ids().length === 1 && healthy.ids().length === 1);
    stalled.stall();
    await addBlock(2, BURST);
    await addBlock(3, BURST);
    await until("the healthy reader's events", () => healthy.ids().length === 2 * BURST + 1);
    assert.ok(stalled.untaken < 65_536, String(stalled.untaken));
    const before = healthy.comments;
    clock = 59_000;
    await until("what else is due by then", () => healthy.comments > before);
    assert.equal(stalled.isCut, false);
    clock = 66_000;
    await until("the stalled reader to be cut", () => stalled.isCut);
    assert.equal(healthy.isCut, false);
    stalled.leave();
    const again = new StreamReader(hub, { from: stalled.ids().at(-1) });
    await again.synced();
    assert.deepEqual([...stalled.ids(), ...again.ids()], healthy.ids());
  });

  it("a reader that drains in time is not cut", async () => {
    const slow = new StreamReader(hub);
    await addBlock(1, 1);
    await until("the first event", () => slow.ids().length === 1);
    slow.stall();
    await addBlock(2, BURST);
    await until("a piece", () => slow.untaken > 0);
    clock = 50_000;
    slow.resume();
    clock = 100_000;
    await until("all events", () => slow.ids().length === BURST + 1);
    await until("a comment", () => slow.comments > 0);
    assert.equal(slow.isCut, false);
  });
});
