// Keys and developers on a real LMDB: what is stored, what is refused, what a second process would see.
import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiKey, verifyApiKey } from "../../../../../proxy/base/auth/api-keys.ts";
import { createAuth } from "../../../../../proxy/api/auth/auth.ts";
import { FELT_MS } from "../../../../../proxy/base/auth/developers.ts";
import {
  addDeveloper,
  changeLimits,
  changeOrigins,
  disableDeveloper,
  enableDeveloper,
  revokeSessions,
  revokeUserSessions,
} from "../../../../../proxy/base/auth/registration.ts";
import {
  createKeyRing,
  createPepper,
  loadKeyRing,
  loadPepper,
} from "../../../../../proxy/base/auth/secret-files.ts";
import type { KeyStore } from "../../../../../proxy/base/store/keys.ts";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { embeddedStores } from "../../../../../proxy/base/store/instance.ts";

const pepper = new Uint8Array(32).fill(7);

describe("auth on its store", () => {
  let folder: string;
  let database: Database;
  let store: KeyStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "cloister-auth-"));
    database = openDatabase(join(folder, "data"));
    store = embeddedStores(database).keys;
  });
  afterEach(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  it("stores no secret: the file holds neither the key nor its secret part", async () => {
    const { id } = await addDeveloper(store, { name: "D" });
    const { key, record } = await createApiKey(store, pepper, id, "main");
    assert.match(key, /^ck_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/);
    const secret = key.slice(20);
    const bytes = await readFile(join(folder, "data", "store.lmdb"));
    assert.ok(bytes.includes(record.id));
    assert.ok(!bytes.includes(secret));
    assert.ok(!bytes.includes(Buffer.from(secret, "base64url")));
    assert.equal((await stat(join(folder, "data", "store.lmdb"))).mode & 0o077, 0);
  });

  it("a key is good with its own pepper only", async () => {
    const { id } = await addDeveloper(store, { name: "D" });
    const { key } = await createApiKey(store, pepper, id, "main");
    assert.equal((await verifyApiKey(store, pepper, key))?.developerId, id);
    assert.equal(await verifyApiKey(store, new Uint8Array(32), key), undefined);
  });

  it("two keys of one developer live side by side, and one is revoked alone, once", async () => {
    const { id } = await addDeveloper(store, { name: "D" });
    const one = await createApiKey(store, pepper, id, "one");
    const two = await createApiKey(store, pepper, id, "two");
    const at = "2026-01-01T00:00:00.000Z";
    assert.deepEqual(
      [await store.revokeKey(one.record.id, at), await store.revokeKey(one.record.id, at)],
      [true, false],
    );
    assert.equal(await verifyApiKey(store, pepper, one.key), undefined);
    assert.ok(await verifyApiKey(store, pepper, two.key));
    await store.touchKey(one.record.id, at);
    assert.equal((await store.key(one.record.id))?.revokedAt, at);
  });

  it("notes the last use, at most once a minute, and everything survives closing", async () => {
    let now = Date.parse("2026-01-01T00:00:00Z");
    const { id } = await addDeveloper(store, { name: "D" });
    const { key, record } = await createApiKey(store, pepper, id, "main");
    const auth = createAuth({
      store,
      pepper,
      keyRing: { current: "k", keys: new Map() },
      chainId: 1,
      now: () => now,
    });
    const used = async (): Promise<string | undefined> => {
      const caller = await auth.apiKey(key);
      assert.notEqual(typeof caller, "string");
      // Nobody waits for the note of the use; what is asked for later is done later.
      await database.transaction(() => undefined);
      return (await store.key(record.id))?.lastUsedAt;
    };
    const first = await used();
    now += 59_000;
    assert.equal(await used(), first);
    now += 2_000;
    assert.notEqual(await used(), first);
    await database.close();
    database = openDatabase(join(folder, "data"));
    store = embeddedStores(database).keys;
    assert.ok((await store.key(record.id))?.lastUsedAt);
    assert.ok(await verifyApiKey(store, pepper, key));
  });

  it("remembers for a second what was good, each credential for its own way in, and nothing refused", async () => {
    let now = 1_800_000_000_000;
    const { id } = await addDeveloper(store, { name: "D" });
    const { key, record } = await createApiKey(store, pepper, id, "main");
    const keyRing = { current: "k", keys: new Map([["k", pepper]]) };
    let looked = 0;
    const counting = { ...store, key: (keyId: string) => (looked++, store.key(keyId)) };
    const auth = createAuth({ store: counting, pepper, keyRing, chainId: 1, now: () => now });
    const { token } = (await auth.mint(id, "u", ["read"], 1))!;
    for (let i = 0; i < 3; i++) {
      assert.notEqual(typeof (await auth.apiKey(key)), "string");
      assert.notEqual(typeof (await auth.session(token)), "string");
      assert.equal(await auth.session(key), "INVALID_CREDENTIAL");
      assert.equal(await auth.apiKey(token), "INVALID_CREDENTIAL");
      assert.equal(await auth.apiKey(`${key.slice(0, -2)}AA`), "INVALID_CREDENTIAL");
    }
    // Once for the good key, each time for the other.
    assert.equal(looked, 4);
    await store.revokeKey(record.id, new Date(now).toISOString());
    now += 999;
    assert.notEqual(typeof (await auth.apiKey(key)), "string");
    assert.notEqual(typeof (await auth.session(token)), "string");
    now += 1;
    assert.equal(await auth.apiKey(key), "INVALID_CREDENTIAL");
    // Never past its own end.
    assert.equal(await auth.session(token), "SESSION_EXPIRED");
  });

  it("stillGood turns false for a revoked key, a revoked session and an expired one", async () => {
    let now = 1_800_000_000_000;
    const { id } = await addDeveloper(store, { name: "D" });
    const { key, record } = await createApiKey(store, pepper, id, "main");
    const keyRing = { current: "k", keys: new Map([["k", pepper]]) };
    const auth = createAuth({ store, pepper, keyRing, chainId: 1, now: () => now });
    const session = async () => {
      const minted = await auth.mint(id, "u", ["read"], 60);
      const caller = await auth.session(minted?.token ?? "");
      assert.ok(typeof caller !== "string");
      return caller;
    };
    const byKey = await auth.apiKey(key);
    assert.ok(typeof byKey !== "string");
    assert.equal(await byKey.stillGood(), true);
    await store.revokeKey(record.id, "2026-01-01T00:00:00.000Z");
    assert.equal(await byKey.stillGood(), false);

    const expiring = await session();
    assert.equal(await expiring.stillGood(), true);
    now += 60_000;
    assert.equal(await expiring.stillGood(), false);

    const revoked = await session();
    await revokeSessions(store, id);
    now += 5_000;
    assert.equal(await revoked.stillGood(), false);
    assert.equal(await (await session()).stillGood(), true);
  });

  it("takes no credential of a disabled developer, ends its streams, and leaves others alone", async () => {
    let now = 1_800_000_000_000;
    const keyRing = { current: "k", keys: new Map([["k", pepper]]) };
    const auth = createAuth({ store, pepper, keyRing, chainId: 1, now: () => now });
    const of = async (name: string) => {
      const { id } = await addDeveloper(store, { name, origins: [`https://${name}.example`] });
      const { key } = await createApiKey(store, pepper, id, "main");
      const { token } = (await auth.mint(id, "u", ["read"], 600))!;
      const [byKey, bySession] = [await auth.apiKey(key), await auth.session(token)];
      assert.ok(typeof byKey !== "string" && typeof bySession !== "string");
      return { id, key, token, byKey, bySession };
    };
    const [one, other] = [await of("one"), await of("other")];

    await disableDeveloper(store, one.id, new Date(now).toISOString());
    // At once, and not only when memory is refreshed: nothing new comes into the world.
    assert.equal(await auth.mint(one.id, "u", ["read"], 60), undefined);
    now += FELT_MS;
    assert.equal(await auth.apiKey(one.key), "INVALID_CREDENTIAL");
    assert.equal(await auth.session(one.token), "INVALID_CREDENTIAL");
    assert.deepEqual([await one.byKey.stillGood(), await one.bySession.stillGood()], [false, false]);
    assert.equal(await auth.allowsOrigin(one.id, "https://one.example"), true);

    assert.notEqual(typeof (await auth.apiKey(other.key)), "string");
    assert.notEqual(typeof (await auth.session(other.token)), "string");
    assert.deepEqual([await other.byKey.stillGood(), await other.bySession.stillGood()], [true, true]);

    await enableDeveloper(store, one.id);
    now += FELT_MS;
    assert.notEqual(typeof (await auth.apiKey(one.key)), "string");
    assert.equal(await auth.session(one.token), "INVALID_CREDENTIAL");
    const { token } = (await auth.mint(one.id, "u", ["read"], 60))!;
    assert.notEqual(typeof (await auth.session(token)), "string");
  });

  it("revokes one user's sessions, within a second and nobody else's", async () => {
    const { id } = await addDeveloper(store, { name: "D" });
    const other = await addDeveloper(store, { name: "E" });
    const keyRing = { current: "k", keys: new Map([["k", pepper]]) };
    let now = 1_800_000_000_000;
    const auth = createAuth({ store, pepper, keyRing, chainId: 1, now: () => now });
    const longSub = "\u4e2d".repeat(256);
    const token = async (developerId: string, sub: string): Promise<string> =>
      (await auth.mint(developerId, sub, ["read"], 60))!.token;
    const theirs = await token(id, longSub);
    const neighbours = [
      await token(id, `${longSub.slice(1)}x`),
      await token(other.id, longSub),
      await token(id, "u"),
    ];
    const open = await auth.session(theirs);
    assert.ok(typeof open !== "string");
    await revokeUserSessions(store, id, longSub);
    now += 1_000;
    assert.equal(await auth.session(theirs), "INVALID_CREDENTIAL");
    assert.equal(await open.stillGood(), false);
    for (const neighbour of neighbours) assert.notEqual(typeof (await auth.session(neighbour)), "string");
    assert.notEqual(typeof (await auth.session(await token(id, longSub))), "string");
    await revokeUserSessions(store, id, longSub);
    assert.equal(await auth.session(theirs), "INVALID_CREDENTIAL");
    await assert.rejects(revokeUserSessions(store, "nobody", "u"), /no developer nobody/);
  });

  it("registers developers under checked names, ids, limits and origins", async () => {
    await addDeveloper(store, {
      name: "D",
      id: "one",
      origins: ["https://app.example"],
      limits: { keyPerDay: 5 },
    });
    await assert.rejects(addDeveloper(store, { name: "D", id: "one" }), /already/);
    for (const id of ["", "a", "A b", "x/y", "a".repeat(64)])
      await assert.rejects(addDeveloper(store, { name: "D", id }), /id is/);
    for (const origin of [
      "https://app.example/",
      "app.example",
      "data:text/html,x",
      "https://a.example/path",
    ]) {
      await assert.rejects(changeOrigins(store, "one", [origin]), /an origin looks like/);
    }
    assert.deepEqual((await changeLimits(store, "one", { keyPerMinute: 9 })).limits, {
      keyPerDay: 5,
      keyPerMinute: 9,
    });
    await assert.rejects(changeLimits(store, "two", {}), /no developer two/);
    assert.equal((await store.developers()).length, 1);
  });

  it("secret files: made once, readable by their owner only, refused otherwise", async () => {
    const ring = join(folder, "ring.json");
    const peppers = join(folder, "pepper");
    await createKeyRing(ring);
    await createPepper(peppers);
    assert.equal((await loadKeyRing(ring)).keys.get("k1")?.length, 32);
    assert.equal((await loadPepper(peppers)).length, 32);
    await assert.rejects(createPepper(peppers), /EEXIST/);
    await chmod(peppers, 0o640);
    await assert.rejects(loadPepper(peppers), /others may read it/);
    await writeFile(ring, '{"current":"k2","keys":{"k1":"0xsecret"}}');
    await assert.rejects(loadKeyRing(ring), (error: Error) => !error.message.includes("0xsecret"));
    await writeFile(ring, "{0xsecret");
    await assert.rejects(loadKeyRing(ring), (error: Error) => !error.message.includes("0xsecret"));
  });
});
