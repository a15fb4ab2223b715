// What goes to the disk together, against a disk that tells when it has it, and in a real database.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, type Database } from "../../../../../../proxy/base/store/lmdb/database.ts";
import { GroupCommit, type Demand } from "../../../../../../proxy/base/store/lmdb/group-commit.ts";
import { StoreUnavailable } from "../../../../../../proxy/base/store/unavailable.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Every transaction gets what it did; the disk is slow until it is told. */
class SlowDisk {
  readonly transactions: string[][] = [];
  readonly #pending: (() => void)[] = [];
  fault: Error | undefined;
  #current: string[] = [];

  note(what: string): void {
    this.#current.push(what);
  }
  run(work: () => void): void {
    this.#current = [];
    work();
    this.transactions.push(this.#current);
  }
  flushed(): Promise<void> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    return new Promise((resolve) => this.#pending.push(resolve));
  }
  has(): void {
    for (const resolve of this.#pending.splice(0)) resolve();
  }
}

describe("base/store/lmdb: group commit", () => {
  it("takes together what comes while the disk is busy, and tells nobody before the disk has it", async () => {
    const disk = new SlowDisk();
    const commits = new GroupCommit(disk);
    const done: string[] = [];
    const put = (what: string): Promise<void> =>
      commits.do(() => disk.note(what)).then(() => void done.push(what));
    const all = [put("a")];
    await turn();
    await turn();
    all.push(put("b"), put("c"));
    await turn();
    await turn();
    assert.deepEqual([disk.transactions, done], [[["a"]], []]);
    disk.has();
    await turn();
    await turn();
    assert.deepEqual([disk.transactions, done], [[["a"], ["b", "c"]], ["a"]]);
    disk.has();
    await Promise.all(all);
    await commits.idle();
    assert.deepEqual(done, ["a", "b", "c"]);
  });

  it("fails all that the disk did not take, with the store's own fault", async () => {
    const disk = new SlowDisk();
    disk.fault = new Error("no space left");
    const commits = new GroupCommit(disk);
    const [one, other] = await Promise.allSettled([commits.do(() => 1), commits.do(() => 2)]);
    for (const result of [one, other]) {
      assert.ok(result.status === "rejected" && result.reason instanceof StoreUnavailable);
      assert.equal(result.reason.cause, disk.fault);
    }
    disk.fault = undefined;
    const later = commits.do(() => 3);
    await turn();
    await turn();
    disk.has();
    assert.equal(await later, 3);
  });

  it("asks for room for all, and each alone where there is none for all of them", async () => {
    const demands: Demand[] = [];
    const done: string[] = [];
    const commits = new GroupCommit({
      run(work, demand) {
        demands.push(demand);
        if (demand.thoughFull !== true) throw new StoreUnavailable(new Error("full"));
        work();
      },
      flushed: () => Promise.resolve(),
    });
    const results = await Promise.allSettled([
      commits.do(() => done.push("new")),
      commits.do(() => done.push("old"), { thoughFull: true, bytes: 5_000_000 }),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ["rejected", "fulfilled"],
    );
    assert.deepEqual(done, ["old"]);
    assert.equal(demands[0]?.thoughFull, false);
    assert.ok((demands[0].bytes ?? 0) > 5_000_000);
    assert.deepEqual(demands.slice(1), [{}, { thoughFull: true, bytes: 5_000_000 }]);
  });

  describe("in a database", () => {
    let folder: string;
    let database: Database;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "cloister-lmdb-"));
      database = openDatabase(folder);
    });
    afterEach(async () => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    });

    it("one that throws undoes its own work and nobody else's", async () => {
      const table = database.table<number>("t");
      const thrown = new Error("mine");
      const results = await Promise.allSettled([
        database.transaction(() => void table.put("a", 1)),
        database.transaction(() => {
          void table.put("b", 1);
          throw thrown;
        }),
        database.transaction(() => {
          const seen = table.get("a");
          void table.put("c", (seen ?? 0) + 1);
          return seen;
        }),
      ]);
      assert.deepEqual(results, [
        { status: "fulfilled", value: undefined },
        { status: "rejected", reason: thrown },
        { status: "fulfilled", value: 1 },
      ]);
      assert.deepEqual([table.get("a"), table.get("b"), table.get("c")], [1, undefined, 2]);
    });

    it("works in the order in which it was asked, many at a time", async () => {
      const table = database.table<number>("t");
      const count = 1_000;
      const add = (): Promise<number> =>
        database.transaction(() => {
          const next = (table.get("n") ?? 0) + 1;
          void table.put("n", next);
          return next;
        });
      const results = await Promise.all(Array.from({ length: count }, add));
      assert.deepEqual(
        results,
        Array.from({ length: count }, (_, i) => i + 1),
      );
      assert.equal(table.get("n"), count);
    });

    it("is closed when the last has its answer", async () => {
      const table = database.table<number>("t");
      const last = database.transaction(() => void table.put("a", 1));
      await database.close();
      await last;
      database = openDatabase(folder);
      assert.equal(database.table<number>("t").get("a"), 1);
    });
  });
});
