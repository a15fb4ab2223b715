// What every store promises of the audit log.
import assert from "node:assert/strict";
import {
  addDeveloper,
  changeLimits,
  changeOrigins,
  disableDeveloper,
  enableDeveloper,
  revokeSessions,
  revokeUserSessions,
} from "../../../proxy/base/auth/registration.ts";
import { removeRule, setRule } from "../../../proxy/base/fees/developer-rules.ts";
import { noted, type AuditEntry, type Author } from "../../../proxy/base/store/audit.ts";
import type { InstanceStores } from "../../../proxy/base/store/instance.ts";
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import { bridgeDraft } from "../bridges.ts";
import { anApp } from "./apps.ts";
import { aDeveloper, aKey } from "./keys.ts";

const OLGA: Author = { kind: "operator", name: "Olga" };
const ACCOUNT: Author = { kind: "account", id: "acc_1" };
const USDC = `0x${"11".repeat(20)}` as Address;
const SINK = { text: "cltest1secretsink", owner: mustField(7n), viewingKey: new Uint8Array(32) };

export function auditStoreSuite(stores: () => [InstanceStores, InstanceStores]): void {
  let [one, other]: [InstanceStores, InstanceStores] = [undefined as never, undefined as never];
  beforeEach(() => {
    [one, other] = stores();
  });
  const all = async (developerId?: string): Promise<readonly AuditEntry[]> => {
    const query = developerId === undefined ? {} : { developerId };
    return (await other.audit.page({ ...query, limit: 100 })).entries;
  };
  const newest = async (): Promise<unknown> => {
    const [entry] = await all();
    assert.ok(entry);
    assert.ok(Math.abs(entry.at - Date.now()) < 60_000);
    const { by, verb, target, developerId, before, after } = entry;
    return { by, verb, target: `${target.kind} ${target.id}`, developerId, before, after };
  };

  it("says of every change of a developer who made it, and from what to what", async () => {
    const { keys } = one;
    const said = (verb: string, before: unknown, after: unknown, by = OLGA): unknown => ({
      ...{ by, verb, target: "developer shop", developerId: "shop", before, after },
    });
    await addDeveloper(keys, { name: "Shop", id: "shop" }, OLGA);
    const made = { name: "Shop", sessionEpoch: 1, limits: {}, origins: [] };
    assert.deepEqual(await newest(), said("developer.add", null, made));
    await changeLimits(keys, "shop", { keyPerMinute: 7 }, OLGA);
    assert.deepEqual(
      await newest(),
      said("developer.limits", { limits: {} }, { limits: { keyPerMinute: 7 } }),
    );
    const origins = ["https://shop.example"];
    await changeOrigins(keys, "shop", origins, ACCOUNT);
    assert.deepEqual(await newest(), said("developer.origins", { origins: [] }, { origins }, ACCOUNT));
    await revokeSessions(keys, "shop", OLGA);
    assert.deepEqual(
      await newest(),
      said("developer.revoke-sessions", { sessionEpoch: 1 }, { sessionEpoch: 2 }),
    );
    const at = "2026-02-03T04:05:06.789Z";
    await disableDeveloper(keys, "shop", at, OLGA);
    const [open, shut] = [{ sessionEpoch: 2 }, { sessionEpoch: 3, disabledAt: at }];
    assert.deepEqual(await newest(), said("developer.disable", open, shut));
    await enableDeveloper(keys, "shop", OLGA);
    assert.deepEqual(await newest(), said("developer.enable", { disabledAt: at }, {}));
    assert.equal((await all("shop")).length, 6);
    assert.deepEqual(await all("sho"), []);
  });

  it("says so of keys, apps, users, fee rules and bridges, and shows none of their secrets", async () => {
    await one.keys.addKey(aKey("aa"), OLGA);
    const target = { by: OLGA, target: "key aa", developerId: "shop" };
    assert.deepEqual(await newest(), {
      ...target,
      verb: "key.create",
      before: null,
      after: { name: "main" },
    });
    await one.keys.revokeKey("aa", "2026-03-01", OLGA);
    assert.deepEqual(await newest(), {
      ...{ ...target, verb: "key.revoke", before: {}, after: { revokedAt: "2026-03-01" } },
    });
    await one.apps.addApp(anApp("app_a"), OLGA);
    await one.apps.removeApp("app_a", ACCOUNT);
    await one.keys.addDeveloper(aDeveloper("shop"));
    await revokeUserSessions(one.keys, "shop", "alice@example.org", OLGA);
    await setRule(
      one.feeRules,
      "shop",
      { asset: USDC, operation: "swap", flat: 5n, bps: 1, sink: SINK },
      0,
      OLGA,
    );
    await removeRule(one.feeRules, "shop", USDC, "swap", OLGA);
    const draft = bridgeDraft(1, {});
    await one.bridges.make(draft, { openPerUser: 9, openPerDeveloper: 9, openPerInstance: 9 });
    await one.bridges.screen(draft.id, true, 5, OLGA);
    await one.bridges.resend(draft.id, 6, OLGA);
    const entries = await all();
    assert.deepEqual(entries.map(({ verb }) => verb).reverse(), [
      ...["key.create", "key.revoke", "app.add", "app.remove", "developer.add", "user.revoke-sessions"],
      ...["fee.set", "fee.remove", "bridge.screen", "bridge.resend"],
    ]);
    assert.deepEqual(entries[1]?.after, { isRefused: true });
    assert.equal(entries[1].developerId, draft.owner.developerId);
    const text = JSON.stringify(entries);
    const secrets = [Buffer.from(aKey("aa").secretHash).toString("hex"), "alice", SINK.text, draft.address];
    for (const secret of secrets) assert.ok(!text.includes(secret), secret);
    assert.equal(entries[5]?.by.kind, "program", "nobody said who added the developer");
  });

  it("has an entry for each change, and none for what changed nothing or was refused", async () => {
    await addDeveloper(one.keys, { name: "Shop", id: "shop" }, OLGA);
    await assert.rejects(addDeveloper(other.keys, { name: "Thief", id: "shop" }, OLGA));
    await enableDeveloper(one.keys, "shop", OLGA);
    assert.equal(await one.keys.revokeKey("none", "2026-03-01", OLGA), false);
    assert.equal(await one.apps.removeApp("app_none", OLGA), false);
    assert.equal(await removeRule(one.feeRules, "shop", USDC, "swap", OLGA), false);
    await assert.rejects(changeLimits(one.keys, "nobody", {}, OLGA));
    assert.deepEqual(
      (await all()).map(({ verb }) => verb),
      ["developer.add"],
    );
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => revokeSessions((i % 2 === 0 ? one : other).keys, "shop", OLGA)),
    );
    const epochs = (await all()).map(({ after }) => after?.["sessionEpoch"]);
    assert.deepEqual(
      epochs,
      Array.from({ length: 21 }, (_, i) => 21 - i),
      "in the order of the changes, each from what the one before left",
    );
  });

  it("is read in pages, the newest first, which nothing moves that is written meanwhile", async () => {
    const target = { kind: "test", id: "x" };
    const note = (i: number): Promise<void> =>
      one.audit.append(noted(`test.n`, { kind: "api-key", id: String(i) }), {
        ...{ target, before: undefined, after: undefined },
        ...(i % 2 === 0 ? { developerId: "even" } : {}),
      });
    for (let i = 1; i <= 7; i++) await note(i);
    const idsOf = (entries: readonly AuditEntry[]): string[] =>
      entries.map(({ by }) => ("id" in by ? by.id : ""));
    const first = await other.audit.page({ limit: 3 });
    assert.deepEqual(idsOf(first.entries), ["7", "6", "5"]);
    await note(8);
    const second = await other.audit.page({ limit: 4, before: first.next ?? 0 });
    assert.deepEqual([idsOf(second.entries), second.next], [["4", "3", "2", "1"], undefined]);
    const even = await other.audit.page({ limit: 4, developerId: "even" });
    assert.deepEqual([idsOf(even.entries), even.next], [["8", "6", "4", "2"], undefined]);
    await assert.rejects(
      one.audit.append(noted("not a verb"), { target, before: undefined, after: undefined }),
    );
  });
}
