// What every store of developers and keys promises, asked through two views of it.
import assert from "node:assert/strict";
import { disableDeveloper, enableDeveloper } from "../../../proxy/base/auth/registration.ts";
import type { ApiKey, Developer, KeyStore } from "../../../proxy/base/store/keys.ts";

export function aDeveloper(id: string, change: Partial<Developer> = {}): Developer {
  const createdAt = "2026-01-02T03:04:05.678Z";
  return { id, name: `Näme "${id}"`, createdAt, sessionEpoch: 1, limits: {}, origins: [], ...change };
}

export function aKey(id: string, change: Partial<ApiKey> = {}): ApiKey {
  const secretHash = Uint8Array.from({ length: 32 }, (_, i) => (i * 37 + 200) % 256);
  const never = { lastUsedAt: undefined, revokedAt: undefined };
  return { id, developerId: "shop", name: "main", secretHash, createdAt: "2026-01-02", ...never, ...change };
}

/** Bytes are bytes, whether a store hands them out as a Buffer or not. */
function plain(key: ApiKey | undefined): unknown {
  return key === undefined ? undefined : { ...key, secretHash: [...key.secretHash] };
}
const plainly = (keys: readonly ApiKey[]): unknown[] => keys.map(plain);

export function keyStoreSuite(of: () => [KeyStore, KeyStore]): void {
  it("gives back developers as they were added, each id once", async () => {
    const [one, other] = of();
    const limits = { sessionPerMinute: 1, keyPerMinute: 2, keyPerDay: 3 };
    const shop = aDeveloper("shop", { limits, origins: ["https://a.example", "https://b.example"] });
    assert.equal(await one.addDeveloper(shop), true);
    assert.equal(await other.addDeveloper(aDeveloper("shop", { name: "thief" })), false);
    assert.equal(await other.addDeveloper(aDeveloper("bank")), true);
    assert.deepEqual(await other.developer("shop"), shop);
    assert.deepEqual(await one.developers(), [aDeveloper("bank"), shop]);
    assert.equal(await one.developer("sho"), undefined);
    assert.equal(await one.updateDeveloper("sho", (now) => now), undefined);
  });

  it("changes a developer with nobody's change lost", async () => {
    const [one, other] = of();
    await one.addDeveloper(aDeveloper("shop"));
    const raise = (now: Developer): Developer => ({ ...now, sessionEpoch: now.sessionEpoch + 1 });
    const changed = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : other).updateDeveloper("shop", raise)),
    );
    assert.equal((await one.developer("shop"))?.sessionEpoch, 21);
    assert.equal(new Set(changed.map((developer) => developer?.sessionEpoch)).size, 20);
  });

  it("keeps that a developer is disabled, and since when, until it is enabled", async () => {
    const [one, other] = of();
    await one.addDeveloper(aDeveloper("shop"));
    const at = "2026-02-03T04:05:06.789Z";
    await disableDeveloper(one, "shop", at);
    const disabled = aDeveloper("shop", { disabledAt: at, sessionEpoch: 2 });
    assert.deepEqual(await other.developer("shop"), disabled);
    // A second time changes neither the time nor the epoch.
    assert.deepEqual(await disableDeveloper(other, "shop", "2027-01-01T00:00:00.000Z"), disabled);
    await enableDeveloper(other, "shop");
    assert.deepEqual(await one.developers(), [aDeveloper("shop", { sessionEpoch: 2 })]);
    await assert.rejects(disableDeveloper(one, "nobody", at), /no developer nobody/);
    await assert.rejects(enableDeveloper(one, "nobody"), /no developer nobody/);
  });

  it("a change that throws changes nothing and is passed on", async () => {
    const [one] = of();
    await one.addDeveloper(aDeveloper("shop"));
    const thrown = new Error("no");
    await assert.rejects(
      one.updateDeveloper("shop", () => {
        throw thrown;
      }),
      (error) => error === thrown,
    );
    assert.deepEqual(await one.developer("shop"), aDeveloper("shop"));
  });

  it("adds a developer once, however many ask together", async () => {
    const [one, other] = of();
    const added = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 === 0 ? one : other).addDeveloper(aDeveloper("shop", { name: String(i) })),
      ),
    );
    assert.equal(added.filter(Boolean).length, 1);
    assert.equal((await one.developer("shop"))?.name, String(added.indexOf(true)));
  });

  it("counts the epochs of each user of each developer, whatever the user is called", async () => {
    const [one, other] = of();
    const subs = ["a", "a/b", "x".repeat(4_000), "\u0000{}*é"];
    for (const sub of subs) {
      assert.equal(await one.userEpoch("shop", sub), 0);
      assert.equal(await one.raiseUserEpoch("shop", sub), 1);
      assert.equal(await other.raiseUserEpoch("shop", sub), 2);
      assert.equal(await one.userEpoch("shop", sub), 2);
      assert.equal(await one.userEpoch("shop/a", sub), 0);
    }
  });

  it("gives back keys byte for byte, all or a developer's", async () => {
    const [one, other] = of();
    const [first, second, foreign] = [aKey("aa"), aKey("bb"), aKey("cc", { developerId: "bank" })];
    for (const key of [foreign, second, first]) await one.addKey(key);
    assert.deepEqual(plain(await other.key("aa")), plain(first));
    assert.deepEqual(plainly(await other.keys("shop")), plainly([first, second]));
    assert.deepEqual(plainly(await other.keys()), plainly([first, second, foreign]));
    assert.deepEqual(await other.keys("sho"), []);
    assert.equal(await other.key("a"), undefined);
  });

  it("revokes a key once and permanently, also against a use that is noted at that moment", async () => {
    const [one, other] = of();
    await one.addKey(aKey("aa"));
    assert.equal(await one.revokeKey("bb", "2026-03-01"), false);
    const [, revoked] = await Promise.all([
      one.touchKey("aa", "2026-02-01"),
      other.revokeKey("aa", "2026-03-01"),
      one.touchKey("aa", "2026-02-01"),
    ]);
    assert.equal(revoked, true);
    assert.equal(await one.revokeKey("aa", "2026-04-01"), false);
    const last = aKey("aa", { lastUsedAt: "2026-02-01", revokedAt: "2026-03-01" });
    assert.deepEqual(plain(await one.key("aa")), plain(last));
    await one.touchKey("bb", "2026-02-01");
    assert.equal(await one.key("bb"), undefined);
  });
}
