// A store's file that was cut, overwritten or is another one is refused with a line, before anything maps it.
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, STORE_FILE } from "../../../../../../proxy/base/store/lmdb/database.ts";

describe("base/store/lmdb/store-file", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "cloister-file-"));
    file = join(folder, STORE_FILE);
    const database = openDatabase(folder);
    const table = database.table<string, number>("things");
    await database.transaction(() => {
      for (let i = 0; i < 1_000; i++) table.putSync(i, "x".repeat(1_000));
    });
    await database.close();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function opens(): Promise<void> {
    const database = openDatabase(folder);
    assert.equal(database.table<string, number>("things").get(999)?.length, 1_000);
    await database.close();
  }
  const isRefused = (found: RegExp): void =>
    assert.throws(() => openDatabase(folder), { code: "STORE_DAMAGED", exitCode: 3, message: found });

  it("opens a whole one, a longer one, and one that is new", async () => {
    await opens();
    appendFileSync(file, Buffer.alloc(100_000));
    await opens();
    writeFileSync(file, "");
    await openDatabase(folder).close();
    await openDatabase(folder).close();
  });

  it("names the command that helps where it was cut, wherever", () => {
    const whole = readFileSync(file);
    for (const bytes of [1, 100, 4_096, 5_000, 8_192, 500_000]) {
      writeFileSync(file, whole);
      truncateSync(file, bytes);
      isRefused(/damaged.*operator -- restore/s);
    }
  });

  it("refuses what is another file, or has lost its beginning", () => {
    const whole = readFileSync(file);
    for (const damage of [
      Buffer.from("not a store".repeat(2_000)),
      whole.fill(0, 0, 4_096),
      whole.fill(0, 0, 8_192),
    ]) {
      writeFileSync(file, damage);
      isRefused(/no store's/);
    }
  });
});
