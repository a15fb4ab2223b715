import assert from "node:assert/strict";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import type { LimitOverrides, Principal } from "../../../../../proxy/base/http/state.ts";
import { Limits, type Counted } from "../../../../../proxy/base/limits/limits.ts";
import { LocalWindows } from "../../../../../proxy/base/limits/local-windows.ts";

const defaults = {
  sessionPerMinute: 2,
  keyPerMinute: 2,
  keyPerDay: 3,
  streamsPerUser: 2,
  streamsPerDeveloper: 3,
  failuresPerMinute: 2,
  exchangesPerMinute: 2,
  badProofsPerMinute: 2,
};
const key = (developerId = "d"): Principal => ({
  kind: "api-key",
  developerId,
  developerName: "D",
  keyId: "k",
});
const session = (sub: string, developerId = "d"): Principal => ({
  kind: "session",
  developerId,
  developerName: "D",
  sub,
  perms: ["read"],
  exp: 0,
});
const limitsAt = (now: () => number): Limits => new Limits(defaults, new LocalWindows(now));
/** The policy that was hit, undefined when the request may go on. */
const hit = async (
  limits: Limits,
  who: Counted,
  overrides: LimitOverrides = {},
): Promise<string | undefined> => (await limits.take(who, overrides)).refusal?.policy;
const isPolicy = (policy: string) => (error: unknown) => error instanceof ApiError && error.policy === policy;

describe("Limits", () => {
  it("charges no policy when one is used up", async () => {
    let now = 0;
    const limits = limitsAt(() => now);
    assert.equal(await hit(limits, key()), undefined);
    assert.equal(await hit(limits, key()), undefined);
    assert.equal(await hit(limits, key()), "key-minute");
    const day = (await limits.standings(key(), {})).find(({ policy }) => policy === "key-day");
    assert.equal(day?.remaining, 1);
    now += 60_000;
    assert.equal(await hit(limits, key()), undefined);
    assert.equal(await hit(limits, key()), "key-day");
  });

  it("tells how the caller stands, and to come back when all that is used up has places again", async () => {
    const limits = limitsAt(() => 0);
    const { standings } = await limits.take(key(), {});
    assert.deepEqual(standings, [
      { policy: "key-minute", quota: 2, windowSecs: 60, remaining: 1, resetSecs: 60 },
      { policy: "key-day", quota: 3, windowSecs: 86_400, remaining: 2, resetSecs: 86_400 },
    ]);
    await limits.take(key(), {});
    const { refusal } = await limits.take(key(), { keyPerDay: 2 });
    assert.deepEqual([refusal?.policy, refusal?.retryAfterSecs], ["key-day", 86_400]);
  });

  it("obeys a developer's own limits at once", async () => {
    const limits = limitsAt(() => 0);
    for (let i = 0; i < 10; i++)
      assert.equal(await hit(limits, key(), { keyPerMinute: 10, keyPerDay: 10 }), undefined);
    assert.equal(await hit(limits, key(), { keyPerMinute: 10, keyPerDay: 11 }), "key-minute");
    assert.equal(await hit(limits, key(), { keyPerMinute: 11, keyPerDay: 11 }), undefined);
  });

  it("no choice of sub reaches another user's window", async () => {
    const limits = limitsAt(() => 0);
    await limits.take(session("x y", "d"), {});
    await limits.take(session("x y", "d"), {});
    const left = async (who: Principal): Promise<number | undefined> =>
      (await limits.standings(who, {}))[0]?.remaining;
    assert.equal(await left(session("y", "d")), 2);
    assert.equal(await left(session("x y", "e")), 2);
    assert.equal(await left(session("x y", "d")), 0);
  });

  it("opens so many streams per user and per developer's keys, and frees each once", async () => {
    const limits = limitsAt(() => 0);
    try {
      const close = await limits.openStream(session("u"));
      await limits.openStream(session("u"));
      await assert.rejects(limits.openStream(session("u")), isPolicy("streams-user"));
      await limits.openStream(session("v"));
      close();
      close();
      await limits.openStream(session("u"));
      await assert.rejects(limits.openStream(session("u")), ApiError);
      for (let i = 0; i < 3; i++) await limits.openStream(key());
      await assert.rejects(limits.openStream(key()), isPolicy("streams-developer"));
    } finally {
      limits.close();
    }
  });

  it("one developer's users, however many it names, have no more streams than their share", async () => {
    const limits = limitsAt(() => 0);
    try {
      const share = 2 * 1_000;
      const names = Array.from({ length: share }, (_, i) => `u${String(i)}`);
      const closes = await Promise.all(names.map((sub) => limits.openStream(session(sub, "d"))));
      await assert.rejects(limits.openStream(session("late", "d")), isPolicy("streams-users"));
      await limits.openStream(session("late", "e"));
      assert.equal(limits.openStreams(), share + 1);
      closes[0]!();
      await limits.openStream(session("late", "d"));
      await assert.rejects(limits.openStream(session("later", "d")), isPolicy("streams-users"));
    } finally {
      limits.close();
    }
  });

  it("counts failures by address and lets them fade", async () => {
    let now = 0;
    const limits = limitsAt(() => now);
    const failed: boolean[] = [];
    for (const address of ["a", "a", "a", "b"]) failed.push(await limits.failed(address));
    assert.deepEqual(failed, [false, false, true, false]);
    now += 60_000;
    assert.equal(await limits.failed("a"), false);
  });

  it("counts a request without a credential by its address", async () => {
    const limits = limitsAt(() => 0);
    const from = (address: string): Counted => ({ kind: "address", address });
    assert.deepEqual(
      [await hit(limits, from("a")), await hit(limits, from("a")), await hit(limits, from("a"))],
      [undefined, undefined, "exchange-address"],
    );
    assert.equal(await hit(limits, from("b")), undefined);
  });

  describe("bad proofs", () => {
    const bad = async (limits: Limits, who: Principal): Promise<void> => {
      const attempt = await limits.beginProof(who);
      await attempt.bad();
      attempt.end();
    };
    const good = async (limits: Limits, who: Principal): Promise<void> =>
      (await limits.beginProof(who)).end();

    it("put off a developer whose users, each a new one, send them together, and no other developer", async () => {
      const limits = limitsAt(() => 0);
      for (let i = 0; i < 2 * 50; i++) await bad(limits, session(`u${String(i)}`, "d"));
      await assert.rejects(good(limits, session("new", "d")), isPolicy("bad-proofs-users"));
      await assert.rejects(good(limits, { ...key(), developerId: "d" }), isPolicy("bad-proofs-users"));
      await good(limits, session("new", "e"));
    });

    it("put off the user who sends them, for the rest of the window, and nobody else", async () => {
      let now = 0;
      const limits = limitsAt(() => now);
      for (let i = 0; i < 9; i++) await good(limits, session("u"));
      await bad(limits, session("u"));
      now += 10_000;
      await bad(limits, session("u"));
      await assert.rejects(good(limits, session("u")), isPolicy("bad-proofs"));
      await assert.rejects(
        good(limits, session("u")),
        (error) => error instanceof ApiError && error.retryAfterSecs === 50,
      );
      for (const other of [session("v"), session("u", "e"), key()]) await good(limits, other);
      now += 50_000;
      await good(limits, session("u"));
    });

    it("are not outrun by a user's burst, and a shop's key may have many under way", async () => {
      const limits = limitsAt(() => 0);
      const [one, two] = [await limits.beginProof(session("u")), await limits.beginProof(session("u"))];
      await assert.rejects(limits.beginProof(session("u")), isPolicy("bad-proofs"));
      await good(limits, session("v"));
      await two.bad();
      for (const attempt of [one, two]) attempt.end();
      await good(limits, session("u"));
      for (let i = 0; i < 10; i++) assert.ok(await limits.beginProof(key()));
      await bad(limits, key());
      await bad(limits, key());
      await assert.rejects(limits.beginProof(key()), isPolicy("bad-proofs"));
    });
  });
});
