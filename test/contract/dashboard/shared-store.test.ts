// The dashboard over a Redis that several proxies share, in a process of its own: the same accounts, changes and limits.
import assert from "node:assert/strict";
import { addDeveloper } from "../../../proxy/base/auth/registration.ts";
import {
  aPress,
  Browser,
  refusedWith,
  startDashboard,
  type RunningDashboard,
} from "../../support/dashboard.ts";
import { startDurableRedis, startRedis, type RedisServer } from "../../support/redis.ts";

describe("the dashboard over a shared store", function () {
  let durable: RedisServer;
  let volatile: RedisServer;
  let dashboard: RunningDashboard;
  before(async () => {
    [durable, volatile] = await Promise.all([startDurableRedis(), startRedis()]);
    dashboard = await startDashboard({
      CLOISTER_STORE_REDIS_URL: durable.url,
      CLOISTER_LIMITS_REDIS_URL: volatile.url,
    });
    await addDeveloper(dashboard.stores.keys, { id: "shop", name: "Shop" });
  });
  after(async () => {
    await dashboard.stop();
    await Promise.all([durable.kill(), volatile.kill()]);
  });

  it("signs up once with an invitation, changes what is shared, and shows the use of limits", async () => {
    const token = await dashboard.invite({ purpose: "sign-up", role: "developer", developerId: "shop" });
    const [one, two] = [new Browser(dashboard), new Browser(dashboard)];
    const outcomes = await Promise.allSettled([one.signUp(token), two.signUp(token)]);
    const refused = outcomes.filter((outcome) => outcome.status === "rejected");
    assert.equal(refused.length, 1);
    assert.ok(refusedWith("INVITATION_INVALID")(refused[0]!.reason));
    const browser = outcomes[0].status === "fulfilled" ? one : two;
    const { record } = await browser.call("createKey", { client_id: aPress(), name: "main" });
    assert.equal((await dashboard.stores.keys.key(record.id))?.developerId, "shop");
    const { limits } = await browser.call("overview");
    assert.deepEqual(
      limits.map(({ policy, used }) => [policy, used]),
      [
        ["session-minute", null],
        ["key-minute", 0],
        ["key-day", 0],
      ],
    );
    const { entries } = await browser.call("audit");
    assert.deepEqual(
      entries.map(({ verb }) => verb),
      ["key.create", "account.sign-up", "invitation.create", "developer.add"],
    );
  });
});
