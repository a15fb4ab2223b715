import assert from "node:assert/strict";
import { Hub } from "../../../../../proxy/api/events/hub.ts";
import { idOf, parseId } from "../../../../../proxy/api/events/position.ts";
import { Money } from "../../../../support/money.ts";
import { StreamReader } from "../../../../support/stream-reader.ts";
import { until } from "../../../../support/until.ts";

describe("events/hub on a real chain", () => {
  let on: Money;
  let hub: Hub;

  beforeEach(async () => {
    on = await Money.start();
    await on.run();
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
    hub = new Hub(on.indexer, on.data, on.tickets, {
      chainId: on.anvil.chainId,
      pool: on.pool.address,
      checkEveryMs: 50,
      commentEveryMs: 60,
      aheadMs: 200,
      tickMs: 10,
      now: Date.now,
    });
  });
  afterEach(async () => {
    hub.close();
    await on.stop();
  });

  const spend = async () => on.reaches(await on.accept(on.spend(on.data.currentRoot()!.root)), "confirmed");

  it("replays the whole history without an id: ready, leaves, root, synced", async () => {
    const reader = new StreamReader(hub);
    await reader.synced();
    const kinds = reader.kinds().filter((kind) => kind !== "ticket");
    assert.deepEqual(kinds, ["ready", "leaf", "leaf", "leaf", "root", "synced"]);
  });

  it("resumes after any event with nothing lost and nothing twice", async () => {
    await spend();
    const whole = new StreamReader(hub);
    await whole.synced();
    const ids = whole.ids();
    assert.equal(new Set(ids).size, ids.length);
    for (const [i, from] of ids.entries()) {
      const rest = new StreamReader(hub, { from });
      await rest.synced();
      assert.deepEqual(rest.ids(), ids.slice(i + 1));
      assert.ok(!rest.kinds().includes("reorg"));
    }
  });

  it("tells what happens while it is open, and the caller's own tickets", async () => {
    const reader = new StreamReader(hub);
    const stranger = new StreamReader(hub, { owner: { developerId: "other", sub: undefined } });
    await reader.synced();
    const ticket = await spend();
    await until("the root of the spend", () => reader.kinds().filter((kind) => kind === "root").length === 2);
    const states = reader.events.flatMap((event) =>
      event.kind === "ticket" && event.data.ticket_id === ticket.id ? [event.data.state] : [],
    );
    await until("the confirmed ticket", () =>
      reader.events.some(
        (event) =>
          event.kind === "ticket" && event.data.ticket_id === ticket.id && event.data.state === "confirmed",
      ),
    );
    assert.equal(states[0], "queued");
    assert.equal(reader.kinds().filter((kind) => kind === "nullifier").length, 2);
    assert.ok(!stranger.kinds().includes("ticket"));
  });

  it("filters kinds, and always tells what it took back", async () => {
    const reader = new StreamReader(hub, { kinds: new Set(["root"]), from: "7-00000000-0.0" });
    await until("the root", () => reader.kinds().includes("root"));
    assert.deepEqual(reader.kinds(), ["reorg", "root"]);
  });

  it("takes back what a reorganisation took, and replays from the common ancestor", async () => {
    const reader = new StreamReader(hub);
    await reader.synced();
    const before = reader.ids();
    await spend();
    await until("the spend's root", () => reader.kinds().filter((kind) => kind === "root").length === 2);
    await on.sequencer.stop();
    const lost = reader.ids().at(-1)!;
    await on.rpc("anvil_reorg", [1, []]);
    await until("the reorg event", () => reader.kinds().includes("reorg"));
    const event = reader.events.find(({ kind }) => kind === "reorg")!;
    assert.deepEqual(event.data, { from_id: before.at(-1) });
    assert.equal(event.id, before.at(-1));
    // Who comes back later with an id of that branch receives the same.
    const late = new StreamReader(hub, { from: lost });
    await late.synced();
    const told = late.events.find(({ kind }) => kind === "reorg")!;
    assert.deepEqual(told.data, { from_id: before.at(-1) });
  });

  it("answers an id that it never gave with a replay from the beginning", async () => {
    const reader = new StreamReader(hub, { from: "3-abcdef01-0.0" });
    await reader.synced();
    const event = reader.events.find(({ kind }) => kind === "reorg")!;
    assert.deepEqual(event.data, { from_id: null });
    assert.equal(event.id, "");
    assert.equal(reader.kinds().filter((kind) => kind === "leaf").length, 3);
  });

  it("ends a reader whose credential is being looked up when the hub closes", async () => {
    // A clock that stands: without the end, the reader would sleep until an hour later.
    let clock = 0;
    const hour = 3_600_000;
    const slow = new Hub(on.indexer, on.data, on.tickets, {
      chainId: on.anvil.chainId,
      pool: on.pool.address,
      checkEveryMs: hour,
      commentEveryMs: 10 * hour,
      tickMs: 10,
      now: () => clock,
    });
    let answer: ((isGood: boolean) => void) | undefined;
    const stillGood = (): Promise<boolean> => new Promise((resolve) => (answer = resolve));
    const reader = new StreamReader(slow, { stillGood });
    await reader.synced();
    clock += hour;
    await on.mine();
    await until("the question", () => answer !== undefined);
    slow.close();
    assert.ok(reader.isOver);
    answer!(false);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(!reader.kinds().includes("session_expired"));
  });

  it("says nothing more to a reader that has left", async () => {
    const reader = new StreamReader(hub);
    const other = new StreamReader(hub);
    await Promise.all([reader.synced(), other.synced()]);
    reader.leave();
    const said = reader.events.length;
    await spend();
    await until("the other reader's root", () => other.count("root") === 2);
    assert.equal(reader.events.length, said);
  });

  it("ends with session_expired when the session ends, with credential_revoked when it was revoked", async () => {
    const timed = new StreamReader(hub, { endsAt: Date.now() + 100 });
    let isGood = true;
    const revoked = new StreamReader(hub, { stillGood: () => Promise.resolve(isGood) });
    await revoked.synced();
    assert.equal(revoked.isOver, false);
    isGood = false;
    await until("both ends", () => timed.isOver && revoked.isOver);
    assert.equal(timed.kinds().at(-1), "session_expired");
    assert.equal(revoked.kinds().at(-1), "credential_revoked");
  });
});

describe("events/position", () => {
  it("reads exactly what it writes", () => {
    const position = { block: 12, logIndex: 3, part: 4 };
    const id = idOf({ position, blockHash: `0x${"ab".repeat(32)}` as never });
    assert.equal(id, "12-abababab-3.4");
    assert.deepEqual(parseId(id), { position, hashPrefix: "abababab" });
    for (const text of [
      "",
      "12",
      "12-ABABABAB-3.4",
      "012-abababab-3.4",
      "12-abababab-3",
      "12-abababab-3.4 ",
      "-1-abababab-3.4",
    ]) {
      assert.equal(parseId(text), undefined, text);
    }
  });
});
