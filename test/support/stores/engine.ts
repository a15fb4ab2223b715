// What every engine promises to the features that are kept in it.
import assert from "node:assert/strict";
import { retrying, type Committed, type Engine, type Follower } from "../../../proxy/base/store/engine.ts";
import { until } from "../until.ts";

/** Two processes' engines over one store, and the one whose followers learn what the first commits. */
export interface Engines {
  readonly one: Engine;
  readonly other: Engine;
  readonly following: Engine;
}

const EVERY_TEXT = ["", " ", "a:b", "é\u0000\n\u{1f600}\u2028", "x".repeat(100_000), '{"a":1}', "0", "=none"];

export function engineSuite(of: () => Engines): void {
  let one: Engine;
  let other: Engine;
  beforeEach(() => {
    ({ one, other } = of());
  });
  const put = (key: string, text: string): Promise<Committed> =>
    one.commit({ writes: [["put", "t", key, text]] });
  const found = async (key: string, table = "t"): Promise<string | undefined> =>
    (await other.get(table, [key]))[0];

  it("gives back every text as it was, and tells an empty one from none", async () => {
    for (const [i, text] of EVERY_TEXT.entries()) await put(String(i), text);
    const keys = [...EVERY_TEXT.keys(), "none"].map(String);
    assert.deepEqual(await other.get("t", keys), [...EVERY_TEXT, undefined]);
    assert.deepEqual(await other.get("t", []), []);
    assert.deepEqual(await other.get("t:u", ["0"]), [undefined]);
    for (const [i, text] of EVERY_TEXT.entries()) {
      const step = { checks: [["is", "t", String(i), text]], writes: [["drop", "t", String(i)]] } as const;
      assert.equal((await other.commit(step)).done, true);
      assert.equal(await found(String(i)), undefined);
    }
  });

  it("writes all when every check holds, and says which does not and what is there", async () => {
    await put("a", "1");
    await one.commit({ writes: [["add", "t", "count", 2]] });
    const writes = [["put", "t", "b", "2"] as const];
    const cases = [
      [["is", "t", "a", "0"], "1"],
      [["is", "t", "a", undefined], "1"],
      [["is", "t", "none", "1"], undefined],
      [["is", "t", "none", ""], undefined],
      [["below", "t", "count", 2], "2"],
      [["below", "t", "none", 0], undefined],
    ] as const;
    for (const [check, there] of cases) {
      const committed = await other.commit({
        checks: [["is", "t", "a", "1"], check],
        writes,
        number: ["t", "n"],
      });
      assert.deepEqual(committed, { done: false, failed: 1, found: there });
    }
    assert.deepEqual(await other.get("t", ["b", "n"]), [undefined, undefined]);
    const checks = [
      ["is", "t", "a", "1"],
      ["is", "t", "b", undefined],
      ["below", "t", "count", 3],
      ["below", "t", "none", 1],
    ] as const;
    assert.deepEqual(await other.commit({ checks, writes, thoughFull: true }), {
      done: true,
      number: undefined,
    });
    assert.equal(await found("b"), "2");
  });

  it("changes records, counts and places in one step, in several tables", async () => {
    await put("old", "1");
    await put("kept", "1");
    const committed = await one.commit({
      number: ["t:counts", "last"],
      writes: [
        ["put-numbered", "t", "new", "text"],
        ["put-new", "t", "kept", "2"],
        ["put-new", "u", "fresh", "3"],
        ["drop", "t", "old"],
        ["add", "t:counts", "waiting", 5],
        ["add", "t:counts", "waiting", -2],
        ["rank", "t:order", "number", "new"],
        ["rank", "t:order", 7, "late"],
      ],
    });
    assert.deepEqual(committed, { done: true, number: 1 });
    assert.deepEqual(await other.get("t", ["new", "kept", "old"]), ["1 text", "1", undefined]);
    assert.equal(await found("fresh", "u"), "3");
    assert.deepEqual(await other.get("t:counts", ["last", "waiting"]), ["1", "3"]);
    assert.deepEqual(await other.members("t:order"), ["new", "late"]);
  });

  it("draws each number once, and none for a step whose checks fail", async () => {
    const steps = Array.from({ length: 40 }, (_, i) => {
      const checks = i % 4 === 3 ? ([["is", "t", "none", "x"]] as const) : [];
      const writes = [["put-numbered", "t", String(i), "x"]] as const;
      return [one, other][i % 2]!.commit({ checks, writes, number: ["t:counts", "last"] });
    });
    const numbers = (await Promise.all(steps)).flatMap((step) => (step.done ? (step.number ?? []) : []));
    assert.deepEqual(
      numbers.sort((a, b) => a - b),
      Array.from({ length: 30 }, (_, i) => i + 1),
    );
  });

  // The second is one of those that are counted for each request.
  for (const order of ["t:order", "tickets:queued"]) {
    it(`keeps members by number, then by name, and counts them: ${order}`, async () => {
      const numbers = [5, 1, 3_000, 1_024, 1_023, 2_048, 5];
      for (const [i, at] of numbers.entries())
        await one.commit({ writes: [["rank", order, at, `m${String(i)}`]] });
      const sorted = ["m1", "m0", "m6", "m4", "m3", "m5", "m2"];
      assert.deepEqual(await other.members(order), sorted);
      assert.deepEqual(await other.members(order, { from: 5, before: 2_048 }), ["m0", "m6", "m4", "m3"]);
      assert.deepEqual(await other.members(order, { from: 5, skip: 1, limit: 2 }), ["m6", "m4"]);
      assert.deepEqual(await other.members(order, { before: 1_024, limit: 2 }), ["m1", "m0"]);
      assert.deepEqual(await other.members(order, { skip: 5, limit: 9 }), ["m5", "m2"]);
      assert.deepEqual(await other.members(order, { limit: 0 }), []);
      const backward = { isBackward: true };
      assert.deepEqual(await other.members(order, backward), [...sorted].reverse());
      assert.deepEqual(await other.members(order, { from: 5, before: 2_048, ...backward }), [
        ...["m3", "m4", "m6", "m0"],
      ]);
      assert.deepEqual(await other.members(order, { before: 1_024, skip: 1, limit: 2, ...backward }), [
        ...["m6", "m0"],
      ]);
      assert.deepEqual(await other.members(order, { from: 3_001, limit: 1, ...backward }), []);
      assert.deepEqual(await other.members(order, { limit: 0, ...backward }), []);
      assert.deepEqual(await other.members(`${order}s`, backward), []);
      assert.deepEqual(await other.members(`${order}s`), []);
      const count = async (at: number): Promise<void> =>
        assert.equal(
          await other.countBefore(order, at),
          (await other.members(order, { before: at })).length,
          String(at),
        );
      const places = [0, 1, 2, 5, 6, 1_023, 1_024, 1_025, 2_048, 2_049, 9_999];
      for (const at of places) await count(at);
      await one.commit({
        writes: [
          ["rank", order, 5, "m0"],
          ["unrank", order, 1_024, "m3"],
          ["unrank", order, 1_024, "never"],
        ],
      });
      await one.commit({ writes: [["unrank", order, 1_024, "m3"]] });
      assert.deepEqual(await other.members(order), ["m1", "m0", "m6", "m4", "m5", "m2"]);
      for (const at of places) await count(at);
    });
  }

  it("lists every record of a table, in order of key, and none of another", async () => {
    const keys = Array.from({ length: 1_100 }, (_, i) => `key${String(i).padStart(4, "0")}`);
    for (let from = 0; from < keys.length; from += 100)
      await one.commit({ writes: keys.slice(from, from + 100).map((key) => ["put", "t", key, `of ${key}`]) });
    await one.commit({
      writes: [
        ["put", "t:u", "key", "x"],
        ["put", "u", "key", "x"],
        ["rank", "t:order", 1, "key"],
      ],
    });
    assert.deepEqual(
      [...(await other.all("t"))],
      keys.map((key) => [key, `of ${key}`]),
    );
    assert.deepEqual([...(await other.all("none"))], []);
  });

  it("keeps a record with an end, until it is written over or dropped", async () => {
    const life = 3_600_000;
    await one.commit({ writes: [["put-for", "idempotency", "a", "1", life]] });
    await one.commit({ writes: [["put-for", "idempotency", "b", "2", life]] });
    assert.deepEqual(await other.get("idempotency", ["a", "b", "c"]), ["1", "2", undefined]);
    const checks = [
      ["is", "idempotency", "a", "1"],
      ["is", "idempotency", "c", undefined],
    ] as const;
    const again = { checks, writes: [["put-for", "idempotency", "a", "3", life]] } as const;
    assert.equal((await other.commit(again)).done, true);
    assert.deepEqual(await other.commit(again), { done: false, failed: 0, found: "3" });
    await other.commit({ writes: [["drop", "idempotency", "a"]] });
    assert.deepEqual(await one.get("idempotency", ["a", "b"]), [undefined, "2"]);
  });

  it("a record's end comes by itself", async () => {
    await one.commit({ writes: [["put-for", "idempotency", "short", "1", 1]] });
    await until("its end", async () => {
      await one.commit({ writes: [["put-for", "idempotency", "long", "2", 3_600_000]] });
      return (await found("short", "idempotency")) === undefined;
    });
    assert.equal(await found("long", "idempotency"), "2");
  });

  it("loses nobody's change of what many read and write", async () => {
    const raise = (engine: Engine): Promise<number> =>
      retrying(engine, async () => {
        const [text] = await engine.get("t", ["sum"]);
        const next = Number(text ?? 0) + 1;
        const step = {
          checks: [["is", "t", "sum", text]],
          writes: [["put", "t", "sum", String(next)]],
        } as const;
        return { step, result: next };
      });
    const seen = await Promise.all(Array.from({ length: 20 }, (_, i) => raise([one, other][i % 2]!)));
    assert.equal(new Set(seen).size, 20);
    assert.equal(await found("sum"), "20");
  });

  it("names members to those who follow, in order, and to nobody who has stopped", async () => {
    const { following } = of();
    const named: string[] = [];
    const others: string[] = [];
    const follower = (to: string[]): Follower => ({
      named: async (members) => void to.push(...members),
      missed: () => Promise.reject(new Error("nothing was missed")),
    });
    const tell = (...members: string[]): Promise<Committed> =>
      one.commit({ writes: members.map((member) => ["announce", member]) });
    await tell("before");
    const stop = following.follow(follower(named));
    const stopOther = following.follow(follower(others));
    // Who follows and then reads misses nothing from there on.
    await following.get("t", ["none"]);
    await tell("a", "b");
    await one.commit({ checks: [["is", "t", "none", "x"]], writes: [["announce", "never"]] });
    await tell("c");
    await until("the last", () => named.includes("c"));
    assert.deepEqual(named, ["a", "b", "c"]);
    stop();
    await tell("late");
    await until("the other to hear what is said after it", async () => {
      await tell("behind");
      return others.includes("late") && others.includes("behind");
    });
    stopOther();
    assert.ok(!named.includes("late"));
  });
}
