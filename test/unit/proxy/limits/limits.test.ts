import assert from "node:assert/strict";
import { ApiError } from "../../../../proxy/http/errors.ts";
import type { Principal } from "../../../../proxy/http/state.ts";
import { Limits } from "../../../../proxy/limits/limits.ts";

const defaults = {
  sessionPerMinute: 2,
  keyPerMinute: 2,
  keyPerDay: 3,
  streamsPerUser: 2,
  streamsPerDeveloper: 3,
  failuresPerMinute: 2,
  exchangesPerMinute: 2,
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

describe("Limits", () => {
  it("charges no policy when one is used up", () => {
    let now = 0;
    const limits = new Limits(defaults, () => now);
    assert.equal(limits.take(key(), {}), undefined);
    assert.equal(limits.take(key(), {}), undefined);
    assert.equal(limits.take(key(), {})?.policy, "key-minute");
    const day = limits.standings(key(), {}).find(({ policy }) => policy === "key-day");
    assert.equal(day?.remaining, 1);
    now += 60_000;
    assert.equal(limits.take(key(), {}), undefined);
    assert.equal(limits.take(key(), {})?.policy, "key-day");
  });

  it("obeys a developer's own limits at once", () => {
    const limits = new Limits(defaults, () => 0);
    for (let i = 0; i < 10; i++)
      assert.equal(limits.take(key(), { keyPerMinute: 10, keyPerDay: 10 }), undefined);
    assert.equal(limits.take(key(), { keyPerMinute: 10, keyPerDay: 11 })?.policy, "key-minute");
  });

  it("no choice of sub reaches another user's window", () => {
    const limits = new Limits(defaults, () => 0);
    limits.take(session("x y", "d"), {});
    limits.take(session("x y", "d"), {});
    assert.equal(limits.standings(session("y", "d"), {})[0]?.remaining, 2);
    assert.equal(limits.standings(session("x y", "e"), {})[0]?.remaining, 2);
    assert.equal(limits.standings(session("x y", "d"), {})[0]?.remaining, 0);
  });

  it("opens so many streams per user and per developer's keys, and frees each once", () => {
    const limits = new Limits(defaults, () => 0);
    const close = limits.openStream(session("u"));
    limits.openStream(session("u"));
    assert.throws(
      () => limits.openStream(session("u")),
      (error) => error instanceof ApiError && error.policy === "streams-user",
    );
    limits.openStream(session("v"));
    close();
    close();
    limits.openStream(session("u"));
    assert.throws(() => limits.openStream(session("u")), ApiError);
    for (let i = 0; i < 3; i++) limits.openStream(key());
    assert.throws(
      () => limits.openStream(key()),
      (error) => error instanceof ApiError && error.policy === "streams-developer",
    );
  });

  it("counts failures by address and lets them fade", () => {
    let now = 0;
    const limits = new Limits(defaults, () => now);
    assert.deepEqual(
      [limits.failed("a"), limits.failed("a"), limits.failed("a"), limits.failed("b")],
      [false, false, true, false],
    );
    now += 60_000;
    assert.equal(limits.failed("a"), false);
  });
});
