// Whole or absent, and on disk when the promise says so: a second process opens what was promised.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { openDatabase } from "../../../../../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../../../../../proxy/base/store/instance.ts";
import { KEEP_MS } from "../../../../../../proxy/base/store/idempotency.ts";
import { canLimitDisk } from "../../../../../support/disk-limit.ts";

const DISK_LIMIT = new URL("../../../../../support/disk-limit.ts", import.meta.url).href;
const SOURCE = new URL("../../../../../../proxy/base/store/lmdb/database.ts", import.meta.url).href;

describe("LMDB database", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "cloister-lmdb-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("sees its own writes inside, keeps bytes and bigints, and survives closing", async () => {
    const first = openDatabase(folder);
    const table = first.table<{ n: bigint; bytes: Uint8Array }>("t");
    const inside = await first.transaction(() => {
      void table.put("a", { n: 1n << 60n, bytes: Uint8Array.of(1, 2) });
      return table.get("a");
    });
    assert.equal(inside?.n, 1n << 60n);
    await first.close();
    const second = openDatabase(folder);
    assert.deepEqual([...(second.table<{ bytes: Uint8Array }>("t").get("a")?.bytes ?? [])], [1, 2]);
    await second.close();
  });

  it("a throw undoes every table and reaches the caller as it was", async () => {
    const database = openDatabase(folder);
    const one = database.table<number>("one");
    const two = database.table<number>("two");
    const thrown = new Error("no");
    await assert.rejects(
      database.transaction(() => {
        void one.put("a", 1);
        void two.put("a", 1);
        throw thrown;
      }),
      (error) => error === thrown,
    );
    assert.deepEqual([one.get("a"), two.get("a")], [undefined, undefined]);
    await database.transaction(() => void one.put("a", 2));
    assert.equal(one.get("a"), 2);
    await database.close();
  });

  it("a read before the loop's turn shows nothing old after it, whatever another process wrote meanwhile", async () => {
    const database = openDatabase(folder);
    const table = database.table<number>("t");
    assert.equal(table.get("a"), undefined);
    // Later in the turn of the read and before any timer: what arrives now was sent after the read was answered.
    await setImmediate();
    const program = `
      const { openDatabase } = await import(${JSON.stringify(SOURCE)});
      const database = openDatabase(${JSON.stringify(folder)});
      const table = database.table("t");
      await database.transaction(() => void table.put("a", 1));
      await database.close();
    `;
    execFileSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program]);
    assert.equal(table.get("a"), 1);
    await database.close();
  });

  it("a process killed right after the promise has lost nothing", async () => {
    const program = `
      const { openDatabase } = await import(${JSON.stringify(SOURCE)});
      const database = openDatabase(${JSON.stringify(folder)});
      const table = database.table("t");
      for (let i = 0; i < 50; i++) await database.transaction(() => void table.put(i, i));
      process.stdout.write("written");
      setInterval(() => undefined, 1000);
    `;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    const database = openDatabase(folder);
    assert.equal([...database.table<number, number>("t").getKeys()].length, 50);
    await database.close();
  });

  it("another process's writes are seen while it is open", async () => {
    const mine = openDatabase(folder);
    const table = mine.table<number>("t");
    assert.equal(table.get("a"), undefined);
    const program = `
      const { openDatabase } = await import(${JSON.stringify(SOURCE)});
      const database = openDatabase(${JSON.stringify(folder)});
      const table = database.table("t");
      await database.transaction(() => void table.put("a", 5));
      await database.close();
    `;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], {
      stdio: "inherit",
    });
    assert.deepEqual(await once(child, "exit"), [0, null]);
    assert.equal(table.get("a"), 5);
    await mine.close();
  });

  it("a full disk refuses transactions whole, first what is new, and nothing that was promised is lost", async function () {
    if (!canLimitDisk()) this.skip();
    const program = `
      const { openDatabase, THOUGH_FULL } = await import(${JSON.stringify(SOURCE)});
      const { limitFiles } = await import(${JSON.stringify(DISK_LIMIT)});
      const { statSync } = await import("node:fs");
      const database = openDatabase(${JSON.stringify(folder)});
      const table = database.table("t");
      let next = 0;
      const write = async (demand) => {
        const n = next++;
        try {
          await database.transaction(() => {
            table.putSync(n, new Uint8Array(30_000));
            table.putSync(-1 - n, n);
          }, demand);
          return n;
        } catch (error) {
          return error.code;
        }
      };
      const all = async (demand) => {
        const kept = [];
        for (;;) {
          const n = await write(demand);
          if (typeof n !== "number") return { kept, code: n };
          kept.push(n);
        }
      };
      await write();
      limitFiles(process.pid, statSync(${JSON.stringify(join(folder, "store.lmdb"))}).size);
      const fresh = await all();
      const old = await all(THOUGH_FULL);
      for (let i = 0; i < 500; i++) await write(THOUGH_FULL);
      const isMuchRefused = await write({ ...THOUGH_FULL, bytes: 1 << 19 });
      limitFiles(process.pid, "unlimited");
      const later = await write();
      const keys = [...table.getKeys({ start: 0 })];
      process.stdout.write(JSON.stringify({ fresh, old, isMuchRefused, later, keys }));
      await database.close();
    `;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more: string) => (text += more));
    assert.deepEqual(await once(child, "close"), [0, null], "it lives to its end");
    const { fresh, old, isMuchRefused, later, keys } = JSON.parse(text) as {
      readonly fresh: { readonly kept: number[]; readonly code: string };
      readonly old: { readonly kept: number[]; readonly code: string };
      readonly isMuchRefused: string;
      readonly later: number;
      readonly keys: number[];
    };
    const FULL = "STORE_UNAVAILABLE";
    assert.deepEqual([fresh.code, old.code, isMuchRefused], [FULL, FULL, FULL]);
    assert.ok(fresh.kept.length > 10 && old.kept.length > 10, "room was kept for what was accepted");
    const promised = [0, ...fresh.kept, ...old.kept, later];
    assert.deepEqual(keys, promised);
    const database = openDatabase(folder);
    const table = database.table<unknown, number>("t");
    assert.deepEqual([...table.getKeys({ start: 0 })], promised);
    assert.equal([...table.getKeys({ end: 0 })].length, promised.length, "no half of a transaction");
    await database.close();
  });

  it("idempotency records past their end are removed a few at a time", async () => {
    const database = openDatabase(folder);
    let now = 0;
    const store = embeddedStores(database, undefined, () => now).idempotency;
    const answer = { status: 200, body: "{}", type: "application/json", location: undefined };
    for (let i = 0; i < 20; i++) {
      const claim = await store.claim(`s${String(i)}`, "f", i);
      assert.ok(claim.kind === "claimed");
      await store.answer(`s${String(i)}`, claim.token, answer, i);
    }
    const records = database.table("idempotency");
    assert.equal(records.getKeysCount(), 20);
    now = KEEP_MS + 2 * 3_600_000;
    for (let i = 0; i < 3; i++) await store.claim(`new${String(i)}`, "f", now);
    assert.equal(records.getKeysCount(), 3);
    assert.equal(database.table("idempotency-ends").getKeysCount(), 6, "by end and by scope");
    await database.close();
  });
});
