import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../../../../proxy/base/store/instance.ts";
import { claimInstance, FORMAT } from "../../../../../proxy/base/store/lmdb/instance-record.ts";
import { StoreUnavailable } from "../../../../../proxy/base/store/unavailable.ts";
import type { Lease } from "../../../../../proxy/base/store/lease.ts";
import type { TicketStore } from "../../../../../proxy/base/store/ticket-store.ts";
import {
  assertCounted,
  hash,
  leased,
  liveThrough,
  openOf,
  ERROR,
  ticketDraft,
} from "../../../../support/stores/tickets.ts";

describe("base/store/tickets (LMDB)", () => {
  let folder: string;
  let database: Database;
  let store: TicketStore;
  let lease: Lease;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-tickets-"));
    database = openDatabase(folder);
    ({ tickets: store, lease } = embeddedStores(database));
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("has everything after it was opened again", async () => {
    const accepted = await store.accept(ticketDraft(1, [5, 6]), 10);
    assert.ok(accepted.kind === "accepted");
    await liveThrough({ tickets: store, lease }, await leased({ tickets: store, lease }), 30);
    await database.close();
    database = openDatabase(folder);
    store = embeddedStores(database).tickets;
    const again = (await store.get("id-1"))!;
    assert.deepEqual(again.transaction.signals, accepted.ticket.transaction.signals);
    assert.equal(again.transaction.deadline, 2n ** 63n);
    assert.deepEqual(Buffer.from(again.transaction.proof), Buffer.from(accepted.ticket.transaction.proof));
    assert.equal((await store.byStatement(hash(1)))?.id, "id-1");
    await assertCounted(store);
  });

  it("gives the lease at once to who opens it last, and never back to who had it before", async () => {
    const first = await lease.take("first", 60_000);
    const others = embeddedStores(database).lease;
    const second = await others.take("second", 60_000);
    assert.ok(first !== undefined && second !== undefined && second > first);
    assert.equal(await lease.take("first", 60_000), undefined);
    assert.equal(await others.take("second", 60_000), second);
  });

  it("refuses a store of another format, and one of before the format was kept, and touches neither", async () => {
    await store.accept(ticketDraft(1, [1]), 10);
    const table = database.table<unknown>("instance");
    const unfit = { name: "UnfitFormat", code: "STORE_FORMAT" };
    for (const format of [FORMAT - 1, FORMAT + 1, undefined]) {
      if (format === undefined) await table.remove("format");
      else await table.put("format", format);
      assert.throws(() => embeddedStores(database), unfit);
      await assert.rejects(claimInstance(database, { chainId: 1, pool: "0x" as never }), unfit);
      assert.equal(table.get("format"), format);
    }
    await table.put("format", FORMAT);
    assert.equal((await embeddedStores(database).tickets.get("id-1"))?.sequence, 1);
  });

  it("counts those before one in a long queue with gaps", async () => {
    const count = 2_600;
    const drafts = Array.from({ length: count }, (_, i) =>
      store.accept(ticketDraft(i + 1, [i + 1]), 2 * count),
    );
    await Promise.all(drafts);
    const writes = await leased({ tickets: store, lease });
    const gone = Array.from({ length: count }, (_, i) => i + 1).filter(
      (n) => n % 7 === 0 || (n > 900 && n < 2_300),
    );
    await writes.change(
      gone.map((n) => ({ id: `id-${String(n)}`, status: { state: "failed", error: ERROR } })),
      2_000,
    );
    const isGone = new Set(gone);
    const requireCounts = async (): Promise<void> => {
      for (const sequence of [
        1,
        2,
        8,
        900,
        1_023,
        1_024,
        1_025,
        2_047,
        2_048,
        2_049,
        2_299,
        2_300,
        count,
        count + 1,
      ]) {
        let before = 0;
        for (let n = 1; n < sequence; n++) if (!isGone.has(n)) before += 1;
        assert.equal(await store.queuedBefore(sequence), before, String(sequence));
      }
    };
    await requireCounts();
  });

  it("sets a damaged record aside once, gives it to nobody, and goes on with the others", async () => {
    for (const n of [1, 2, 3]) await store.accept(ticketDraft(n, [n]), 10);
    const table = database.table("tickets");
    const key = ["tickets", "id-2"];
    const text = String(table.get(key));
    const damaged = [
      text.replace(/"kind":"\w+"/, '"kind":"gift"'),
      text.slice(2),
      `${text}x`,
      "",
      null,
      { id: 2 },
    ];
    for (const bad of damaged) {
      await table.put(key, bad);
      const setAside: string[] = [];
      store = embeddedStores(database, (_table, id) => setAside.push(id)).tickets;
      for (let i = 0; i < 2; i++) {
        assert.deepEqual(
          (await openOf(store)).map(({ id }) => id),
          ["id-1", "id-3"],
        );
      }
      await assert.rejects(store.get("id-2"), StoreUnavailable);
      assert.deepEqual(setAside, ["id-2"]);
    }
    const writes = await leased({ tickets: store, lease });
    await writes.change([{ id: "id-3", status: { state: "queued" } }], 2_000);
    assert.equal((await store.get("id-3"))?.updatedAt, 2_000);
  });

  it("has every ticket that was answered after the process was killed", async function () {
    const script = new URL("../../../../support/accepting-process.ts", import.meta.url).pathname;
    const child = spawn(process.execPath, ["--import", "tsx", script, path.join(folder, "killed")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const answered: string[] = [];
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (chunk: Buffer) => {
        answered.push(
          ...chunk
            .toString()
            .split("\n")
            .filter((id) => id !== ""),
        );
        if (answered.length >= 25) child.kill("SIGKILL");
      });
      child.once("close", () => resolve());
    });
    const other = openDatabase(path.join(folder, "killed"));
    try {
      const open = await openOf(embeddedStores(other).tickets);
      const whole = answered.filter((id) => id.startsWith("id-"));
      assert.ok(whole.length >= 25);
      assert.deepEqual(
        open.slice(0, whole.length - 1).map(({ id }) => id),
        whole.slice(0, -1),
      );
    } finally {
      await other.close();
    }
  });
});
