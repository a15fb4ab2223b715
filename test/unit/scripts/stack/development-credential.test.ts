import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { verifyApiKey } from "../../../../proxy/base/auth/api-keys.ts";
import { loadPepper } from "../../../../proxy/base/auth/secret-files.ts";
import { openDatabase } from "../../../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../../../proxy/base/store/instance.ts";
import { developmentCredential, pepperFile } from "../../../../scripts/stack/development-credential.ts";
import { StackFolder } from "../../../../scripts/stack/stack-folder.ts";

describe("scripts/stack/development-credential", () => {
  let folder: StackFolder;
  let stores: [string, string];

  beforeEach(async () => {
    folder = new StackFolder(await mkdtemp(path.join(tmpdir(), "cloister-credential-")));
    stores = [folder.network("first").inside("store"), folder.network("second").inside("store")];
  });
  afterEach(() => rm(folder.path, { recursive: true, force: true }));

  async function isGood(key: string, store: string): Promise<boolean> {
    const database = openDatabase(store);
    try {
      const pepper = await loadPepper(await pepperFile(folder.secrets));
      return (await verifyApiKey(embeddedStores(database).keys, pepper, key)) !== undefined;
    } finally {
      await database.close();
    }
  }

  it("is one key, good in every store, and the same at the next start", async () => {
    const key = await developmentCredential(folder.secrets, stores);
    for (const store of stores) {
      assert.ok(await isGood(key, store));
      assert.equal(await isGood(`${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`, store), false);
    }
    assert.equal(await developmentCredential(folder.secrets, stores), key);
  });

  it("has the limits of every developer, as the specification has them", async () => {
    await developmentCredential(folder.secrets, stores);
    for (const store of stores) {
      const database = openDatabase(store);
      const [developer] = await embeddedStores(database).keys.developers();
      await database.close();
      assert.deepEqual(developer?.limits, {});
    }
  });

  it("goes into a store that is made later or again", async () => {
    const [first, second] = stores;
    const key = await developmentCredential(folder.secrets, [first]);
    assert.equal(await developmentCredential(folder.secrets, [first, second]), key);
    assert.ok(await isGood(key, second));
    await rm(second, { recursive: true });
    assert.equal(await developmentCredential(folder.secrets, [second]), key);
    assert.ok(await isGood(key, second));
  });
});
