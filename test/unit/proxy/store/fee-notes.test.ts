// Openings of fee notes on a real LMDB, and how those of statements that came to nothing go again.
import assert from "node:assert/strict";
import { createFeeNotes } from "../../../../proxy/fees/fee-notes.ts";
import type { FeeNote, FeeNoteStore } from "../../../../proxy/store/fee-notes.ts";
import { openFeeNoteStore } from "../../../../proxy/store/lmdb/fee-notes.ts";
import { openPriceStore } from "../../../../proxy/store/lmdb/prices.ts";
import { asAddress, asBytes32, mustField, FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";
import { temporaryDatabase } from "../../../support/fees.ts";

const DAY = 24 * 3600;
const USDC = asAddress(`0x${"11".repeat(20)}`) as Address;
const statement = (index: number): Bytes32 => asBytes32(toHex(word(BigInt(index + 1)))) as Bytes32;

function note(index: number, change: Partial<FeeNote> = {}): FeeNote {
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

describe("store of fee notes", () => {
  let store: FeeNoteStore;
  beforeEach(() => {
    store = openFeeNoteStore(temporaryDatabase());
  });

  it("gives back what was kept, for each receiver, in order and in pages", async () => {
    const kept = Array.from({ length: 25 }, (_, index) => note(index));
    const service = note(0, { receiver: undefined, output: 2 });
    await store.keep([kept[0]!, service]);
    for (const one of kept.slice(1)) await store.keep([one]);
    assert.deepEqual(await store.notesOf("shop", 0, 100), kept);
    assert.deepEqual(await store.notesOf("shop", 10, 5), kept.slice(10, 15));
    assert.deepEqual(await store.notesOf(undefined, 0, 100), [service]);
    assert.deepEqual(await store.notesOf("sho", 0, 100), []);
    assert.deepEqual(await store.notesOf("shops", 0, 100), []);
  });

  it("keeps a note once, however often its statement is posted", async () => {
    await store.keep([note(1)]);
    await store.keep([note(1, { receiver: "thief" }), note(2)]);
    assert.deepEqual(await store.notesOf("shop", 0, 100), [note(1), note(2)]);
    assert.deepEqual(await store.notesOf("thief", 0, 100), []);
  });

  it("forgets a statement that came to nothing and keeps an executed one for good", async () => {
    const executed = new Set([statement(1)]);
    let timestamp = 1_000 + DAY;
    const notes = createFeeNotes(store, {
      tip: () => ({ timestamp }) as never,
      execution: (hash) => (executed.has(hash) ? ({} as never) : undefined),
    });
    await notes.keep([note(1), note(1, { receiver: undefined, output: 2 })]);
    await notes.keep([note(2)]);
    await notes.keep([note(3, { deadline: 5_000 })]);
    assert.equal((await store.notesOf("shop", 0, 100)).length, 3, "not a day after the deadline yet");
    timestamp += 1;
    await notes.keep([note(4, { deadline: 5_000 })]);
    const left = [note(1), note(3, { deadline: 5_000 }), note(4, { deadline: 5_000 })];
    assert.deepEqual(await store.notesOf("shop", 0, 100), left);
    assert.equal((await store.notesOf(undefined, 0, 100)).length, 1);
    assert.deepEqual(await store.doubtful(4_000, 100), []);
    assert.deepEqual(await store.doubtful(6_000, 100), [statement(3), statement(4)]);
  });

  it("forgets nothing while the index knows no time", async () => {
    const notes = createFeeNotes(store, { tip: () => undefined, execution: () => undefined });
    await notes.keep([note(1)]);
    await notes.keep([note(2)]);
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
      await notes.keep([note(index, { deadline: timestamp })]);
    }
    assert.ok((await store.notesOf("shop", 0, 100)).length <= 3);
  });
});

describe("store of prices", () => {
  it("keeps the newest, whatever comes late", async () => {
    const store = openPriceStore(temporaryDatabase());
    assert.equal(await store.price(USDC), undefined);
    const price = { answer: 2n ** 200n, decimals: 18, updatedAt: 20 };
    await store.keepPrice(USDC, price);
    await store.keepPrice(USDC, { answer: 1n, decimals: 8, updatedAt: 19 });
    assert.deepEqual(await store.price(USDC), price);
    await store.keepPrice(USDC, { answer: 1n, decimals: 8, updatedAt: 21 });
    assert.deepEqual(await store.price(USDC), { answer: 1n, decimals: 8, updatedAt: 21 });
  });
});
