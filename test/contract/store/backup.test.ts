// Backups of the embedded store: by the operator's command beside a process that writes, and killed in the middle; damaged,
// and of another instance.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { cp, mkdir, mkdtemp, open, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addDeveloper, revokeSessions } from "../../../proxy/base/auth/registration.ts";
import { makeBackup, restoreBackup, UnfitBackup } from "../../../proxy/base/store/lmdb/backup.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import { claimInstance, ForeignStore } from "../../../proxy/base/store/lmdb/instance-record.ts";
import { embeddedStores } from "../../../proxy/base/store/instance.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { runProgram, startProgram, type Ended } from "../../support/program.ts";
import { ERROR, ticketDraft } from "../../support/stores/tickets.ts";
import { until } from "../../support/until.ts";

const POOL = asAddress("0x5FbDB2315678afecb367f032d93F642f64180aa3") as Address;
const INSTANCE = { chainId: 31_337, pool: POOL };
const NAMED = ["--instance", `31337:${POOL}`];
/** So much that copying takes long enough to be killed in. */
const BULK = 64;
const MEGABYTE = 1 << 20;

describe("backup and restore of the embedded store", function () {
  let folder: string;
  let data: string;
  const children = new Set<ChildProcess>();
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "cloister-backup-"));
    data = join(folder, "data");
    await within(data, (database) => claimInstance(database, INSTANCE));
  });
  afterEach(async () => {
    for (const child of children) child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });

  async function within<T>(
    place: string,
    work: (database: ReturnType<typeof openDatabase>) => Promise<T>,
  ): Promise<T> {
    const database = openDatabase(place);
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  const start: typeof startProgram = async (...words) => {
    const running = await startProgram(...words);
    children.add(running.child);
    void running.ended.then(() => children.delete(running.child));
    return running;
  };
  const operator = (...words: string[]): Promise<Ended> => runProgram("scripts/operator/main.ts", words);
  const backUp = (to: string): Promise<unknown> => within(data, (database) => makeBackup(database, to));
  const restore = (from: string, to: string, instance = INSTANCE): Promise<unknown> =>
    restoreBackup(from, to, instance);

  async function succeed(doing: Promise<Ended>): Promise<string> {
    const { code, out, err } = await doing;
    assert.deepEqual([code, err], [0, ""]);
    return out;
  }
  const refused = (doing: Promise<unknown>, why: RegExp): Promise<void> =>
    assert.rejects(doing, (error: Error) => error instanceof UnfitBackup && why.test(error.message));
  async function told(why: RegExp, ...words: string[]): Promise<void> {
    const { code, out, err } = await operator(...words);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, why);
  }
  /** Ids of open tickets in order. The count of those that wait is a record of its own, so it tells of half a moment. */
  async function ticketsIn(place: string): Promise<string[]> {
    return within(place, async (database) => {
      const found: string[] = [];
      for await (const page of embeddedStores(database).tickets.open())
        found.push(...page.map(({ id }) => id));
      const waiting = database.table<string>("tickets").get(["tickets:counts", "waiting"]);
      assert.equal(Number(waiting ?? 0), found.length);
      return found;
    });
  }
  async function fillBulk(): Promise<Buffer> {
    const last = randomBytes(MEGABYTE);
    await within(data, async (database) => {
      const table = database.table<Buffer, number>("bulk");
      for (let n = 0; n < BULK; n++)
        await database.transaction(() => table.putSync(n, n === BULK - 1 ? last : randomBytes(MEGABYTE)), {
          bytes: 4 * MEGABYTE,
        });
    });
    return last;
  }
  const bulkIn = (place: string): Promise<Buffer | undefined> =>
    within(place, async (database) => database.table<Buffer, number>("bulk").get(BULK - 1));

  it("has one whole moment of a store that is written all the time, and all that was promised before it began", async () => {
    const writer = await start("test/support/accepting-process.ts", [data]);
    let promised: string[] = [];
    let text = "";
    writer.child.stdout!.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      promised = text.split("\n").slice(0, -1);
    });
    await until("tickets to be accepted", () => promised.length >= 50);
    const before = [...promised];
    const backup = join(folder, "one");
    const { pool, chain_id, bytes } = JSON.parse(
      await succeed(operator("--data", data, "--json", "backup", backup)),
    );
    await until("more of them", () => promised.length > before.length + 50);
    writer.child.kill("SIGKILL");
    await writer.ended;

    assert.deepEqual([pool, chain_id], [POOL, 31_337]);
    assert.equal((await stat(join(backup, "store.lmdb"))).size, bytes);
    assert.equal((await stat(backup)).mode & 0o777, 0o700);
    const restored = join(folder, "restored");
    assert.match(
      await succeed(operator("--data", restored, ...NAMED, "restore", backup)),
      /sessions ended after that moment are good again/,
    );
    assert.deepEqual(await readdir(restored), ["store.lmdb"]);
    const held = await ticketsIn(restored);
    assert.deepEqual(
      held,
      held.map((_, i) => `id-${String(i + 1).padStart(6, "0")}`),
    );
    assert.ok(held.length >= before.length, `${String(held.length)} of ${String(before.length)}`);
    // It is a store like any other: the next one is accepted behind them.
    assert.ok((await ticketsIn(data)).length > held.length);
  });

  /** Kills `words` once the file that it writes beside `target` is so long. Undefined when it was too fast for that. */
  async function killed(target: string, at: number, words: readonly string[]): Promise<boolean> {
    const { child, ended } = await start("scripts/operator/main.ts", words);
    let isOver = false;
    void ended.then(() => (isOver = true));
    await until("it to be so far, or over", () => isOver || lengthBeside(target) >= at);
    child.kill("SIGKILL");
    await ended;
    return !existsSync(target);
  }
  function lengthBeside(target: string): number {
    const names = readdirSync(folder).filter((name) => join(folder, name).startsWith(`${target}.`));
    return Math.max(-1, ...names.map((name) => sizeOf(join(folder, name, "store.lmdb"))));
  }
  function sizeOf(file: string): number {
    try {
      return statSync(file).size;
    } catch {
      return 0;
    }
  }
  /** A fast disk may be done before anybody looks; killed it must be, so it is tried again. */
  async function killedInTheMiddle(
    target: string,
    at: number,
    words: (to: string) => string[],
  ): Promise<string> {
    for (let n = 0; n < 10; n++) {
      const to = `${target}-${String(n)}`;
      if (await killed(to, at, words(to))) return to;
    }
    throw new Error("never killed in the middle");
  }
  const MOMENTS = [0, 40 * MEGABYTE];

  it("has ended tickets, usage and the audit log, and the restored log goes on", async () => {
    const counted = { developerId: "shop", day: 20_000, operation: "relay", code: undefined, count: 7 };
    await within(data, async (database) => {
      const stores = embeddedStores(database);
      await addDeveloper(stores.keys, { name: "Shop", id: "shop" });
      await stores.usage.pour("proxy", 1, [counted]);
      await stores.tickets.accept(ticketDraft(1, [1]), 10);
      const fence = await stores.lease.take("test", 1_000);
      const change = { id: "id-1", status: { state: "failed", error: ERROR } } as const;
      await stores.tickets.underLease(fence ?? 0).change([change], 2_000);
    });
    const backup = join(folder, "past");
    await backUp(backup);
    const restored = join(folder, "restored");
    await restore(backup, restored);
    await within(restored, async (database) => {
      const { audit, keys, tickets, usage } = embeddedStores(database);
      const ended = await tickets.ended({ developerId: "d", sub: "user", state: "failed", limit: 9 });
      assert.deepEqual(
        ended.tickets.map(({ id }) => id),
        ["id-1"],
      );
      const [day] = await usage.days("shop", 20_000, 20_000);
      assert.deepEqual(day?.requests, [{ operation: "relay", count: 7 }]);
      await revokeSessions(keys, "shop");
      const { entries } = await audit.page({ limit: 9 });
      assert.deepEqual(
        entries.map(({ number, verb }) => `${String(number)} ${verb}`),
        ["2 developer.revoke-sessions", "1 developer.add"],
      );
    });
  });

  it("killed in the middle, it leaves no backup and the store as it was, and the same command then makes one", async () => {
    const last = await fillBulk();
    for (const at of MOMENTS) {
      const to = await killedInTheMiddle(join(folder, `at-${String(at)}`), at, (name) => [
        ...["--data", data, "backup", name],
      ]);
      const left = readdirSync(folder).find((name) => join(folder, name).startsWith(`${to}.partial-`));
      assert.ok(left !== undefined);
      await refused(restore(join(folder, left), join(folder, "never")), /no finished backup|damaged/);
      assert.ok(!existsSync(join(folder, "never")));
      assert.deepEqual(await bulkIn(data), last);
      await backUp(to);
      const restored = join(folder, `restored-${String(at)}`);
      await restore(to, restored);
      assert.deepEqual(await bulkIn(restored), last);
      for (const done of [to, restored, join(folder, left)]) await rm(done, { recursive: true });
    }
  });

  it("a restore killed in the middle leaves no data folder, and the same command then makes it", async () => {
    const last = await fillBulk();
    const backup = join(folder, "backup");
    await backUp(backup);
    for (const at of MOMENTS) {
      const to = await killedInTheMiddle(join(folder, `data-${String(at)}`), at, (name) => [
        ...["--data", name, ...NAMED, "restore", backup],
      ]);
      await told(/holds no store/, "--data", to, "developers", "list");
      await restore(backup, to);
      assert.deepEqual(await bulkIn(to), last);
      await rm(to, { recursive: true });
    }
  });

  it("refuses a backup of another pool or chain, and makes nothing", async () => {
    const backup = join(folder, "backup");
    await backUp(backup);
    const to = join(folder, "to");
    const another = `0x${"11".repeat(20)}` as Address;
    await refused(restore(backup, to, { ...INSTANCE, pool: another }), /of the pool 0x5fbdb.* not 0x1111/);
    await refused(restore(backup, to, { ...INSTANCE, chainId: 1 }), /on chain 31337, not .* on chain 1$/m);
    assert.deepEqual((await readdir(folder)).sort(), ["backup", "data"]);

    // The note can be rewritten by anybody with an editor; the store says for itself.
    const note = join(backup, "backup.json");
    await writeFile(note, (await readFile(note, "utf8")).replaceAll(POOL, another));
    await refused(restore(backup, to, { ...INSTANCE, pool: another }), /another instance than its note/);
    assert.ok(!existsSync(to));
  });

  it("refuses what is damaged, cut short, unfinished or of another format, and makes nothing", async () => {
    const backup = join(folder, "backup");
    await backUp(backup);
    const [file, note] = ["store.lmdb", "backup.json"];
    const spoilt: readonly (readonly [RegExp, (at: string) => Promise<void>])[] = [
      [/damaged/, (at) => flip(join(at, file))],
      [/damaged/, (at) => truncate(join(at, file), 4_096)],
      [/no finished backup/, (at) => rm(join(at, note))],
      [/damaged, or of another program/, (at) => writeFile(join(at, note), "{}")],
      [
        /damaged, or of another program/,
        async (at) =>
          writeFile(
            join(at, note),
            (await readFile(join(at, note), "utf8")).replace('"format": 1', '"format": 2'),
          ),
      ],
    ];
    for (const [why, spoil] of spoilt) {
      const at = join(folder, "spoilt");
      await cp(backup, at, { recursive: true });
      await spoil(at);
      await refused(restore(at, join(folder, "to")), why);
      await rm(at, { recursive: true });
      assert.deepEqual((await readdir(folder)).sort(), ["backup", "data"]);
    }
  });

  async function flip(file: string): Promise<void> {
    const opened = await open(file, "r+");
    const byte = Buffer.alloc(1);
    await opened.read(byte, 0, 1, 9_000);
    byte[0] = byte[0]! ^ 1;
    await opened.write(byte, 0, 1, 9_000);
    await opened.close();
  }

  it("writes over nothing: neither a backup, nor a data folder that somebody may use", async () => {
    const backup = join(folder, "backup");
    await backUp(backup);
    await refused(backUp(backup), /is there already/);
    await refused(restore(backup, data), /stop the proxy and move it away/);
    // What a service manager makes for a service that has none yet.
    const empty = join(folder, "empty");
    await mkdir(empty);
    await restore(backup, empty);
    assert.deepEqual(await ticketsIn(empty), []);
  });

  it("says where else to look: a store that no proxy has claimed, or one in Redis", async () => {
    const fresh = join(folder, "fresh");
    await within(fresh, async () => undefined);
    await refused(
      within(fresh, (database) => makeBackup(database, join(folder, "b"))),
      /start the proxy once/,
    );
    const redis = ["--redis", "redis://127.0.0.1:1"];
    await told(/append-only/, "--data", data, ...redis, "backup", join(folder, "b"));
    await told(/append-only/, "--data", join(folder, "d"), ...redis, "restore", folder);
    await told(/--instance takes/, "--data", join(folder, "d"), "restore", folder);
    await told(/finished backup/, "--data", join(folder, "d"), ...NAMED, "restore", folder);
    await told(/BACKUP is missing/, "--data", data, "backup");
  });

  it("a store is of one instance permanently", async () => {
    await within(data, async (database) => {
      await claimInstance(database, INSTANCE);
      for (const other of [
        { ...INSTANCE, chainId: 1 },
        { ...INSTANCE, pool: `0x${"11".repeat(20)}` as Address },
      ])
        await assert.rejects(claimInstance(database, other), ForeignStore);
      await claimInstance(database, INSTANCE);
    });
  });
});
