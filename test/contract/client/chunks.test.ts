// A wallet that is restored from chunks of the history is the one that the stream gives, on the real edge; what it asks for
// is what everybody asks for; and what comes in between (an abort, a reorganisation, a service without chunks) costs nothing.
import assert from "node:assert/strict";
import { idOf } from "../../../proxy/api/events/position.ts";
import { memoryStorage, type StepEvent, type Wallet } from "../../../shared/client/index.ts";
import { ClientError } from "../../../shared/client/base/errors.ts";
import { CONFIRMATIONS, fillHistory, HistoryStage, withoutChunks, type Bend } from "./history-stage.ts";

const seen = (wallet: Wallet): unknown => ({
  notes: wallet.notes(),
  balances: wallet.balances(),
  activity: wallet.activity(),
});
const streamsOf = (asked: readonly string[]): string[] =>
  asked.filter((path) => path.startsWith("/events/stream"));
const idsOf = (asked: readonly string[]): (string | null)[] =>
  streamsOf(asked).map((path) => new URL(path, "http://x").searchParams.get("from"));

describe("a wallet restored from chunks", function () {
  let stage: HistoryStage;
  beforeEach(async () => {
    stage = await HistoryStage.start();
    await fillHistory(stage);
  });
  afterEach(() => stage.stop());

  it("has the notes, spent marks, balances and activity that the stream gives, and goes on from the same event", async () => {
    const list = stage.history.list();
    assert.ok(list.entries.length >= 3, String(list.entries.length));
    const byChunks = await stage.wallet();
    const byStream = await stage.wallet({ bend: withoutChunks });
    await byChunks.wallet.sync();
    await byStream.wallet.sync();
    const state = seen(byStream.wallet);
    assert.deepEqual(seen(byChunks.wallet), state);
    // All that was played: spent, void, unspent by a refutation and spent again, measured, behind the chunks.
    const notes = byChunks.wallet.notes();
    assert.deepEqual(
      notes.map(({ value, spent, voided }) => [value, spent !== undefined, voided !== undefined]),
      [
        [100n, true, false],
        [50n, true, false],
        [60n, false, false],
        [25n, false, false],
        [1_000n, false, true],
        [45n, false, false],
        [7n, false, false],
        [8n, true, false],
        [3n, false, false],
      ],
    );
    assert.deepEqual(idsOf(byStream.asked), [null]);
    assert.deepEqual(idsOf(byChunks.asked), [idOf(list.entries.at(-1)!.end)]);

    stage.made.statement([stage.mine(11n)]);
    stage.made.root();
    stage.made.mine();
    await stage.tell();
    for (const { wallet } of [byChunks, byStream]) await wallet.sync();
    assert.deepEqual(seen(byChunks.wallet), seen(byStream.wallet));
    // The event that each of them goes on from.
    assert.equal(idsOf(byChunks.asked).at(-1), idsOf(byStream.asked).at(-1));
  });

  it("has its income confirmed against the pool's own root, as any wallet", async () => {
    const roots = new Set<bigint>();
    const { wallet } = await stage.wallet({
      verifyRoot: async (root) => {
        roots.add(root);
        return true;
      },
    });
    await wallet.sync();
    assert.deepEqual([...roots], [stage.made.tree.root(stage.made.tree.leafCount)]);
    const { total, unverified } = wallet.balance();
    assert.deepEqual([total, unverified], [60n + 25n + 45n + 7n + 3n, 0n]);
  });

  it("asks for the same as a wallet that finds nothing, in whole pages, and for no more", async () => {
    const mine = await stage.wallet();
    await mine.wallet.sync();
    const other = await HistoryStage.start();
    try {
      other.made.strangers(200);
      other.made.pass(CONFIRMATIONS);
      await other.tell();
      const theirs = await other.wallet();
      await theirs.wallet.sync();
      const shape = (asked: readonly string[]): string[] =>
        asked.map((path) => path.replace(/(last|from)=(0x|[0-9]+-)[^&]*/g, "$1="));
      assert.deepEqual(shape(mine.asked), shape(theirs.asked));
      assert.deepEqual(shape(mine.asked), [
        "/history",
        "/history/chunks?from=0&limit=3&last=",
        "/events/stream?from=",
      ]);
    } finally {
      await other.stop();
    }
  });

  it("tells how much of it is read", async () => {
    const { wallet } = await stage.wallet();
    const told: StepEvent[] = [];
    await wallet.sync({ progress: (event) => void told.push(event) });
    const fractions = told.flatMap(({ step, state, fraction }) =>
      step === "sync" && state === "working" ? [fraction] : [],
    );
    assert.deepEqual(fractions, [1 / 3, 2 / 3, 1]);
  });

  it("is scanned in workers, and without them where they do not start", async () => {
    const big = await HistoryStage.start({ chunkOutputs: 16_384 });
    try {
      big.made.statement([big.mine(5n), undefined]);
      for (let i = 0; i < 16_390; i += 1_000)
        big.made.statement(new Array<undefined>(1_000).fill(undefined).slice(0, 200));
      big.made.root();
      big.made.mine();
      big.made.pass(CONFIRMATIONS);
      await big.tell();
      for (const worker of [undefined, new URL("file:///nowhere/worker.js")]) {
        const { wallet } = await big.wallet(worker === undefined ? {} : { worker });
        await wallet.sync();
        assert.equal(wallet.balance().total, 5n);
        await wallet.close();
      }
    } finally {
      await big.stop();
    }
  });

  it("that was aborted in the middle begins again, and is whole then", async () => {
    const leaving = new AbortController();
    let isFirst = true;
    const bend: Bend = async (url) => {
      if (url.pathname !== "/history/chunks" || !isFirst) return undefined;
      isFirst = false;
      leaving.abort(new Error("left"));
      return undefined;
    };
    const { wallet, asked } = await stage.wallet({ bend });
    await assert.rejects(wallet.sync({ signal: leaving.signal }), { code: "ABORTED" });
    assert.equal(wallet.notes().length, 0);
    await wallet.sync();
    assert.equal(wallet.notes().length, 9);
    assert.equal(asked.filter((path) => path.startsWith("/history/chunks")).length, 2);
  });

  it("is stored: opened again it reads no chunk", async () => {
    const storage = memoryStorage();
    const first = await stage.wallet({ storage });
    await first.wallet.sync();
    const state = seen(first.wallet);
    await first.wallet.close();
    const again = await stage.wallet({ storage });
    await again.wallet.sync();
    assert.deepEqual(seen(again.wallet), state);
    assert.ok(!again.asked.some((path) => path.startsWith("/history")));
  });

  it("is read anew from chunks by rescan, and is the same", async () => {
    const { wallet, asked } = await stage.wallet();
    await wallet.sync();
    const state = seen(wallet);
    asked.length = 0;
    await wallet.rescan();
    assert.deepEqual(seen(wallet), state);
    assert.ok(asked.includes("/history"));
  });

  it("survives a reorganisation behind the chunks, and one that takes chunks with it", async () => {
    const { wallet } = await stage.wallet();
    await wallet.sync();
    const ends = stage.history.list().entries.map(({ end }) => end.position.block);
    for (const ancestor of [stage.made.height - CONFIRMATIONS - 1, ends[1]! - 1]) {
      await stage.reorg(ancestor);
      await wallet.sync();
      const fresh = await stage.wallet({ bend: withoutChunks });
      await fresh.wallet.sync();
      assert.deepEqual(seen(wallet), seen(fresh.wallet));
      const byChunks = await stage.wallet();
      await byChunks.wallet.sync();
      assert.deepEqual(seen(byChunks.wallet), seen(fresh.wallet));
    }
  });

  it("hears of a refutation behind the chunks, of leaves that are strangers' and in them", async () => {
    const { blocks } = stage.made;
    const stranger = blocks[1]!.events.find(({ event }) => event.kind === "executed")!.event;
    assert.ok(stranger.kind === "executed");
    // Before a wallet reads, and after another one did.
    const early = await stage.wallet();
    await early.wallet.sync();
    stage.made.refute({ ...stranger, commitments: [] });
    stage.made.root();
    stage.made.mine();
    await stage.tell();
    const late = await stage.wallet();
    const stream = await stage.wallet({ bend: withoutChunks });
    for (const { wallet } of [early, late, stream]) await wallet.sync();
    assert.deepEqual(seen(early.wallet), seen(stream.wallet));
    assert.deepEqual(seen(late.wallet), seen(stream.wallet));
    // The list names the refutation, so nothing had to be read twice.
    assert.equal(streamsOf(late.asked).length, 1);
  });

  it("reads the stream of a service that has no chunks, or none yet", async () => {
    const young = await HistoryStage.start();
    try {
      young.made.statement([young.mine(5n)]);
      young.made.root();
      young.made.mine();
      await young.tell();
      const { wallet, asked } = await young.wallet();
      await wallet.sync();
      assert.equal(wallet.balance().total, 5n);
      assert.deepEqual(idsOf(asked), [null]);
    } finally {
      await young.stop();
    }
  });

  it("begins once more where the list changes while it reads, then reads the stream", async () => {
    for (const times of [1, 2]) {
      let left = times;
      const bend: Bend = async (url, answer) =>
        url.pathname === "/history/chunks" && left-- > 0 ? withoutChunks(url, answer) : undefined;
      const { wallet, asked } = await stage.wallet({ bend });
      await wallet.sync();
      assert.equal(wallet.notes().length, 9);
      assert.equal(asked.filter((path) => path === "/history").length, 2);
      assert.equal(idsOf(asked).at(-1) === null, times === 2);
    }
  });

  it("fails with NETWORK where the service goes away, and keeps nothing half read", async () => {
    const bend: Bend = async (url) => {
      if (url.pathname === "/history/chunks") throw new TypeError("fetch failed");
      return undefined;
    };
    const { wallet } = await stage.wallet({ bend });
    await assert.rejects(wallet.sync(), (error) => error instanceof ClientError && error.code === "NETWORK");
    assert.equal(wallet.notes().length, 0);
  });
});
