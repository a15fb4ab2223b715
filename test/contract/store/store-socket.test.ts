// The embedded store as programs beside the proxy have it: what every store promises, asked for through the proxy; and that
// a program which is held still in the middle of whatever it does holds up nobody.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { openFolderStores } from "../../../proxy/base/open-stores.ts";
import { storesOfFolder } from "../../../proxy/base/store/instance.ts";
import { openDatabase, type Database } from "../../../proxy/base/store/lmdb/database.ts";
import { SocketEngine } from "../../../proxy/base/store/lmdb/socket-engine.ts";
import { socketPathOf, openStoreSocket } from "../../../proxy/base/store/lmdb/store-socket.ts";
import { LmdbEngine } from "../../../proxy/base/store/lmdb/engine.ts";
import { FORMAT } from "../../../proxy/base/store/lmdb/instance-record.ts";
import { StoreUnavailable } from "../../../proxy/base/store/unavailable.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";
import { storeSuites } from "../../support/stores/both.ts";
import { engineSuite } from "../../support/stores/engine.ts";
import { until } from "../../support/until.ts";

const INSTANCE = { chainId: 7, pool: asAddress(`0x${"07".repeat(20)}`)! };
const FREEZES = 25;
/** Ends a test that would wait for ever, since the lock is waited for in the event loop. */
const RELEASE_SECS = 20;

describe("the embedded store, asked for through its proxy", () => {
  let folder: string;
  let database: Database;
  let engine: LmdbEngine;
  let close: () => Promise<void>;
  let beside: SocketEngine;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-socket-"));
    await open();
  });
  afterEach(async () => {
    beside.close();
    await close();
    await database.close();
    await rm(folder, { recursive: true });
  });

  async function open(): Promise<void> {
    database = openDatabase(folder);
    engine = new LmdbEngine(database);
    close = await openStoreSocket(engine, folder, INSTANCE);
    beside = new SocketEngine(folder, INSTANCE);
  }

  storeSuites(() => {
    const [one, next] = [storesOfFolder(beside), storesOfFolder(engine)];
    // What it has claimed is of its own process.
    return Promise.resolve({
      one,
      other: { ...next, idempotency: one.idempotency },
      lapse: async () => next,
    });
  });
  describe("engine beside the proxy's", () =>
    engineSuite(() => ({ one: beside, other: engine, following: engine })));
  describe("engine of the proxy's", () =>
    engineSuite(() => ({ one: engine, other: beside, following: beside })));

  it("is for the owner of the folder alone", async () => {
    const { mode } = await stat(path.join(folder, "store.sock"));
    assert.equal(mode & 0o777, 0o600);
  });

  it("refuses a program of another instance, and one of another release, and says which the store is of", async () => {
    const other = new SocketEngine(folder, { ...INSTANCE, chainId: 8 });
    await assert.rejects(
      other.served(() => undefined),
      /pool 0x0707.* on chain 7/,
    );
    await assert.rejects(other.get("t", ["a"]), StoreUnavailable);
    other.close();
    const later = await post("/99", '["newest"]');
    assert.equal(later.status, 409);
    assert.match(later.body, new RegExp(`format ${String(FORMAT)}`));
  });

  it("answers what is no question with an error, changes nothing, and goes on", async () => {
    const step = { writes: [["put", "t", "a", "1"]] };
    for (const body of [
      "",
      "{",
      "null",
      '["all"]',
      '["drop","t","a"]',
      JSON.stringify(["commit", { ...step, checks: [["is", "t", "a"]] }]),
      JSON.stringify(["commit", { writes: [...step.writes, ["put", "t", "b", 1]] }]),
      JSON.stringify(["commit", { ...step, more: 1 }]),
    ]) {
      assert.equal((await post(`/${String(FORMAT)}`, body)).status, 400, body);
    }
    assert.deepEqual(await beside.get("t", ["a", "b"]), [undefined, undefined]);
  });

  it("is unavailable while no proxy runs, and goes on when one does; whoever follows is told what went by", async () => {
    const named: string[] = [];
    const leave = beside.follow({
      named: async (members) => void named.push(...members),
      missed: async () => void named.push("missed"),
    });
    // From here on nothing may be missed.
    await beside.get("t", ["a"]);
    await engine.commit({ writes: [["announce", "one"]] });
    await until("the first", () => named.includes("one"));
    await close();
    await database.close();
    await assert.rejects(beside.get("t", ["a"]), StoreUnavailable);
    await until("it to be known", async () => (await beside.state()) === "nobody");
    let waits = 0;
    const served = beside.served(() => (waits += 1));
    const followed = beside;
    await open();
    await engine.commit({ writes: [["announce", "two"]] });
    await served;
    await until("the second", () => named.includes("two"));
    assert.equal(waits, 1);
    leave();
    followed.close();
  });

  it("is opened by a tool itself where no proxy runs", async () => {
    await close();
    await database.close();
    const tool = await openFolderStores(folder);
    await tool.stores.check(1);
    await tool.close();
    await open();
    assert.deepEqual(await beside.get("health", ["last"]), ["1"]);
  });

  it("says that a folder's path is too long for a socket", () => {
    assert.throws(() => socketPathOf(path.join(folder, "x".repeat(100))), /too long for a socket/);
  });

  it("a program that is held still at any moment of its writes, and with questions under way, holds up no write", async () => {
    const child = spawn(
      process.execPath,
      ["--import", "tsx", path.join(PROJECT_ROOT, "test/support/writing-process.ts"), folder],
      { cwd: PROJECT_ROOT, stdio: ["ignore", "pipe", "inherit"] },
    );
    const ended = once(child, "exit");
    try {
      const count = async (): Promise<number> => Number((await engine.get("t", ["written"]))[0] ?? 0);
      let before = 0;
      for (let freeze = 0; freeze < FREEZES; freeze++) {
        await until("it to write", async () => (await count()) > before);
        child.kill("SIGSTOP");
        const release = spawn(
          "sh",
          ["-c", `sleep ${String(RELEASE_SECS)}; kill -CONT ${String(child.pid)}`],
          {
            ...{ detached: true, stdio: "ignore" },
          },
        );
        for (let write = 0; write < 3; write++) {
          const done = await engine.commit({ writes: [["add", "t", "ours", 1]] });
          assert.ok(done.done);
        }
        assert.equal(release.exitCode, null, "a write waited for the program that was held still");
        // The group of it: what it waits for, too.
        process.kill(-release.pid!);
        before = await count();
        child.kill("SIGCONT");
      }
      assert.deepEqual(await beside.get("t", ["ours"]), [String(FREEZES * 3)]);
      if (process.platform === "linux") {
        const maps = await readFile(`/proc/${String(child.pid)}/maps`, "utf8");
        assert.ok(!maps.includes("store.lmdb"), "it has the file open");
      }
    } finally {
      child.kill("SIGKILL");
      await ended;
    }
  });

  function post(to: string, body: string): Promise<{ readonly status: number; readonly body: string }> {
    return new Promise((resolve, reject) => {
      const headers = { "Content-Length": Buffer.byteLength(body) };
      request({ socketPath: socketPathOf(folder), path: to, method: "POST", headers }, (response) => {
        text(response).then((found) => resolve({ status: response.statusCode ?? 0, body: found }), reject);
      })
        .once("error", reject)
        .end(body);
    });
  }
});
