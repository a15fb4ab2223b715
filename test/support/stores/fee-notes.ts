// What every store of fee-note openings promises, and how those of statements that came to nothing go again.
import assert from "node:assert/strict";
import { createFeeNotes } from "../../../proxy/api/fees/fee-notes.ts";
import type { FeeNote, FeeNoteStore } from "../../../proxy/base/store/fee-notes.ts";
import { mustField, FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";

const DAY = 24 * 3600;
const USDC = asAddress(`0x${"11".repeat(20)}`) as Address;
const statement = (index: number): Bytes32 => asBytes32(toHex(word(BigInt(index + 1)))) as Bytes32;

export function aFeeNote(index: number, change: Partial<FeeNote> = {}): FeeNote {
  return {
    receiver: "shop",
    statement: statement(index),
    output: 3,
    asset: USDC,
    value: 2n ** 127n + BigInt(index),
    blinding: mustField(FIELD_ORDER - 1n),
    npk: mustField(FIELD_ORDER - 2n),
    deadline: 1_000,
    ...change,
  };
}

export function feeNoteStoreSuite(of: () => [FeeNoteStore, FeeNoteStore]): void {
  let store: FeeNoteStore;
  let other: FeeNoteStore;
  beforeEach(() => {
    [store, other] = of();
  });

  it("gives back what was kept, for each receiver, in order and in pages", async () => {
    const kept = Array.from({ length: 25 }, (_, index) => aFeeNote(index));
    const service = aFeeNote(0, { receiver: undefined, output: 2 });
    await store.keep([kept[0]!, service]);
    for (const one of kept.slice(1)) await store.keep([one]);
    assert.deepEqual(await store.notesOf("shop", 0, 100), kept);
    assert.deepEqual(await store.notesOf("shop", 10, 5), kept.slice(10, 15));
    assert.deepEqual(await store.notesOf(undefined, 0, 100), [service]);
    assert.deepEqual(await store.notesOf("sho", 0, 100), []);
    assert.deepEqual(await store.notesOf("shops", 0, 100), []);
  });

  it("keeps a note once, however often its statement is posted", async () => {
    await store.keep([aFeeNote(1)]);
    await store.keep([aFeeNote(1, { receiver: "thief" }), aFeeNote(2)]);
    assert.deepEqual(await store.notesOf("shop", 0, 100), [aFeeNote(1), aFeeNote(2)]);
    assert.deepEqual(await store.notesOf("thief", 0, 100), []);
  });

  it("forgets a statement that came to nothing and keeps an executed one permanently", async () => {
    const executed = new Set([statement(1)]);
    let timestamp = 1_000 + DAY;
    const notes = createFeeNotes(store, {
      tip: () => ({ timestamp }) as never,
      execution: (hash) => (executed.has(hash) ? ({} as never) : undefined),
    });
    await notes.keep([aFeeNote(1), aFeeNote(1, { receiver: undefined, output: 2 })]);
    await notes.keep([aFeeNote(2)]);
    await notes.keep([aFeeNote(3, { deadline: 5_000 })]);
    assert.equal((await store.notesOf("shop", 0, 100)).length, 3, "not a day after the deadline yet");
    timestamp += 1;
    await notes.keep([aFeeNote(4, { deadline: 5_000 })]);
    const left = [aFeeNote(1), aFeeNote(3, { deadline: 5_000 }), aFeeNote(4, { deadline: 5_000 })];
    assert.deepEqual(await store.notesOf("shop", 0, 100), left);
    assert.equal((await store.notesOf(undefined, 0, 100)).length, 1);
    assert.deepEqual(await store.unsettled(4_000, 100), []);
    assert.deepEqual(await store.unsettled(6_000, 100), [statement(3), statement(4)]);
  });

  it("forgets nothing while the index knows no time", async () => {
    const notes = createFeeNotes(store, { tip: () => undefined, execution: () => undefined });
    await notes.keep([aFeeNote(1)]);
    await notes.keep([aFeeNote(2)]);
    assert.equal((await store.notesOf("shop", 0, 100)).length, 2);
  });

  it("cannot be filled by statements that come to nothing", async () => {
    let timestamp = 0;
    const notes = createFeeNotes(store, {
      tip: () => ({ timestamp }) as never,
      execution: () => undefined,
    });
    for (let index = 0; index < 60; index += 1) {
      timestamp = index * DAY;
      await notes.keep([aFeeNote(index, { deadline: timestamp })]);
    }
    assert.ok((await store.notesOf("shop", 0, 100)).length <= 3);
  });

  it("keeps each of many notes that two proxies accept together once, in one order", async () => {
    const batches = Array.from({ length: 10 }, (_, i) => [aFeeNote(i), aFeeNote(i, { output: 4 })]);
    await Promise.all(batches.flatMap((batch) => [store.keep(batch), other.keep(batch)]));
    const kept = await store.notesOf("shop", 0, 100);
    assert.equal(kept.length, 20);
    assert.deepEqual(await other.notesOf("shop", 0, 100), kept);
    assert.equal(new Set(kept.map((note) => `${note.statement}/${String(note.output)}`)).size, 20);
  });

  it("settles what it is told of, whoever tells it and however often", async () => {
    await store.keep([
      aFeeNote(1),
      aFeeNote(1, { output: 4, receiver: undefined }),
      aFeeNote(2),
      aFeeNote(3),
    ]);
    const outcomes = [
      { statement: statement(1), executed: false },
      { statement: statement(2), executed: true },
      { statement: statement(9), executed: false },
    ];
    await Promise.all([store.settle(outcomes), other.settle(outcomes)]);
    await store.settle(outcomes);
    assert.deepEqual(await other.notesOf("shop", 0, 100), [aFeeNote(2), aFeeNote(3)]);
    assert.deepEqual(await other.notesOf(undefined, 0, 100), []);
    assert.deepEqual(await other.unsettled(1_001, 100), [statement(3)]);
    assert.deepEqual(await other.unsettled(1_000, 100), []);
    await store.keep([aFeeNote(1)]);
    assert.deepEqual(await other.notesOf("shop", 0, 100), [aFeeNote(2), aFeeNote(3), aFeeNote(1)]);
  });

  it("shows the oldest doubts first, so many as were asked for", async () => {
    for (const deadline of [30, 10, 20]) await store.keep([aFeeNote(deadline, { deadline })]);
    assert.deepEqual(await other.unsettled(30, 1), [statement(10)]);
    assert.deepEqual(await other.unsettled(31, 9), [10, 20, 30].map(statement));
  });
}
