// One proxy works on a data folder: a living process of this host keeps it, one that is gone or whose number is another's
// by now does not, and a copy of the folder is nobody's.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, STORE_FILE, type Database } from "../../../../../../proxy/base/store/lmdb/database.ts";
import {
  FolderTaken,
  HOLDER_KEY,
  holderOf,
  holdFolder,
  type Holder,
} from "../../../../../../proxy/base/store/lmdb/folder-holder.ts";

describe("base/store/lmdb/folder-holder", () => {
  let folder: string;
  let database: Database;
  let other: ChildProcess;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "cloister-held-"));
    database = openDatabase(folder);
    other = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1e6)"]);
    await once(other, "spawn");
  });
  afterEach(async () => {
    other.kill("SIGKILL");
    await database.close();
    rmSync(folder, { recursive: true });
  });

  const record = () => database.table<Holder, string>("instance");
  const hold = (at = folder, on = database) => holdFolder(on, at, () => assert.fail("lost"));
  async function isHeldByOther(change: Partial<Holder> = {}): Promise<void> {
    await database.transaction(() => {
      record().putSync(HOLDER_KEY, { ...holderOf(other.pid!, folder), ...change });
    });
  }

  it("is taken by one, who is named to the next, and free when that has left or was killed", async () => {
    const held = await hold();
    await held.leave();
    assert.equal(record().get(HOLDER_KEY), undefined);
    await isHeldByOther();
    await assert.rejects(hold(), (error: FolderTaken) => {
      assert.equal(error.exitCode, 4);
      return error.message.includes(`process ${String(other.pid)} on `);
    });
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    await (await hold()).leave();
  });

  it("of another host is free when that is not seen any more; and whoever was held still so long is told", async () => {
    await isHeldByOther({ host: "elsewhere" });
    let told: ((error: FolderTaken) => void) | undefined;
    const lost = new Promise<FolderTaken>((resolve) => (told = resolve));
    const held = await holdFolder(database, folder, (error) => told!(error), 1);
    await isHeldByOther({ host: "elsewhere" });
    assert.match((await lost).message, /on elsewhere$/);
    await held.leave();
    assert.equal(record().get(HOLDER_KEY)?.host, "elsewhere");
  });

  it("is free when the number is another process's by now, and when it is a copy of one that is held", async () => {
    await isHeldByOther({ began: "another boot 1" });
    await (await hold()).leave();
    await isHeldByOther();
    const copy = mkdtempSync(join(tmpdir(), "cloister-held-"));
    await database.transaction(() => undefined);
    copyFileSync(join(folder, STORE_FILE), join(copy, STORE_FILE));
    const copied = openDatabase(copy);
    await (await hold(copy, copied)).leave();
    await copied.close();
    rmSync(copy, { recursive: true });
    await assert.rejects(hold(), FolderTaken);
  });
});
