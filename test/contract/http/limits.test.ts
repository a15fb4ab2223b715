// Limits as a client meets them: exact windows, their headers, and the policy that was hit.
import assert from "node:assert/strict";
import { startEdge, type Answer, type Edge } from "../../support/edge.ts";

describe("limits", () => {
  let edge: Edge;
  before(async () => {
    edge = await startEdge();
  });
  after(() => edge.stop());

  const withKey = (key: string): Promise<Answer> =>
    edge.call("GET", "/whoami", { credential: false, headers: { "X-API-Key": key } });

  it("lets 60 requests a minute pass with an API key, refuses the 61st, and says when to come back", async () => {
    const { key } = await edge.newDeveloper();
    for (let i = 0; i < 60; i++) {
      const answer = await withKey(key);
      assert.equal(answer.status, 200);
      if (i === 0) {
        assert.equal(
          answer.headers.get("ratelimit-policy"),
          '"key-minute";q=60;w=60, "key-day";q=10000;w=86400',
        );
        assert.match(
          answer.headers.get("ratelimit") ?? "",
          /^"key-minute";r=59;t=60, "key-day";r=9999;t=86400$/,
        );
      }
    }
    const refused = await withKey(key);
    assert.equal(refused.status, 429);
    assert.equal(refused.body.code, "RATE_LIMITED");
    assert.equal(refused.body.policy, "key-minute");
    assert.equal(refused.body.retryable, true);
    const wait = Number(refused.headers.get("retry-after"));
    assert.ok(wait >= 1 && wait <= 60);
    assert.match(refused.headers.get("ratelimit") ?? "", /"key-minute";r=0;/);
    // The same key of another developer is untouched; two keys of one developer share.
    assert.equal((await withKey((await edge.newDeveloper()).key)).status, 200);
    edge.advance(wait * 1000);
    assert.equal((await withKey(key)).status, 200);
  });

  it("counts a day exactly, and /whoami shows how the caller stands", async () => {
    const { key } = await edge.newDeveloper({ name: "Small", limits: { keyPerDay: 3, keyPerMinute: 2 } });
    assert.equal((await withKey(key)).status, 200);
    const { body } = await withKey(key);
    assert.deepEqual(
      body.limits.map(({ policy, quota, remaining }: Record<string, unknown>) => ({
        policy,
        quota,
        remaining,
      })),
      [
        { policy: "key-minute", quota: 2, remaining: 0 },
        { policy: "key-day", quota: 3, remaining: 1 },
      ],
    );
    edge.advance(61_000);
    assert.equal((await withKey(key)).status, 200);
    edge.advance(61_000);
    assert.equal((await withKey(key)).body.policy, "key-day");
    edge.advance(86_400_000);
    assert.equal((await withKey(key)).status, 200);
  });

  it("counts sessions per user: 120 a minute each, apart from the developer's key", async () => {
    const { key } = await edge.newDeveloper();
    const mint = async (sub: string): Promise<string> =>
      (
        await edge.call("POST", "/session", {
          credential: false,
          headers: { "X-API-Key": key },
          json: { sub, perms: ["read"], ttl_secs: 60 },
        })
      ).body.token;
    const [one, again, other] = [await mint("one"), await mint("one"), await mint("two")];
    const ask = (session: string): Promise<Answer> => edge.call("GET", "/whoami", { session });
    for (let i = 0; i < 120; i++) assert.equal((await ask(i % 2 === 0 ? one : again)).status, 200);
    const refused = await ask(one);
    assert.equal(refused.body.policy, "session-minute");
    assert.equal(refused.headers.get("ratelimit-policy"), '"session-minute";q=120;w=60');
    assert.equal((await ask(other)).status, 200);
  });

  it("charges nothing for requests whose credential was refused", async () => {
    const { key } = await edge.newDeveloper();
    await edge.call("GET", "/whoami", {
      credential: false,
      headers: { "X-API-Key": `${key.slice(0, 20)}${"A".repeat(43)}` },
    });
    assert.match((await withKey(key)).headers.get("ratelimit") ?? "", /"key-minute";r=59;/);
  });
});
