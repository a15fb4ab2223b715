// What each kind's logs become, and which gaps between them are noticed.
import assert from "node:assert/strict";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { RawLog } from "../../../../../proxy/base/chain/provider.ts";
import { Expansion } from "../../../../../proxy/api/merkle/expansion.ts";
import type { ChainEvent } from "../../../../../proxy/base/store/chain-data.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";
import { KIND_NAMES, KINDS } from "../../../../../shared/protocol/statements.ts";
import { ciphertext, credited, EPHEMERAL_KEY, executed, hash, logReader, noteHashed } from "./pool-log.ts";

const WETH = `0x${"22".repeat(20)}` as Address;
const BIG = 2n ** 127n + 1n;

function expand(...logs: RawLog[]): ChainEvent[] {
  const expansion = new Expansion(logReader(), () => undefined);
  const events = logs.flatMap((log) => expansion.take(log)).map(({ event }) => event);
  expansion.done();
  return events;
}
const leavesOf = (events: readonly ChainEvent[]) => events.filter((event) => event.kind === "leaf");
const isRefused = (...logs: RawLog[]): void => assert.throws(() => expand(...logs), ChainUnreachable);

describe("merkle/expansion", () => {
  for (const kind of KIND_NAMES) {
    if (kind === "private-swap") continue;
    it(`${kind}: statement, nullifiers, and one leaf a ciphertext`, () => {
      const { inputs, leaves } = KINDS[kind];
      const events = expand(executed(kind, 1, 8, { logIndex: 0 }));
      assert.deepEqual(
        events.map((event) => event.kind),
        ["executed", ...Array<string>(inputs).fill("nullifier"), ...Array<string>(leaves).fill("leaf")],
      );
      const found = leavesOf(events);
      assert.deepEqual(
        found.map(({ index, commitment, source, isLast, opening }) => [
          index,
          commitment,
          source,
          isLast,
          opening,
        ]),
        found.map((_, i) => [
          8 + i,
          BigInt(108 + i),
          kind === "deposit-shield" ? "deposit" : "spend",
          i === leaves - 1,
          undefined,
        ]),
      );
      for (const [i, leaf] of found.entries())
        assert.deepEqual(leaf.sealed, {
          ephemeralKey: EPHEMERAL_KEY,
          output: i,
          ciphertext: ciphertext(9 + i),
        });
    });
  }

  it("private-swap: three leaves, and the pool's own behind them with what is in it", () => {
    const events = expand(
      executed("private-swap", 1, 8, { logIndex: 0 }),
      noteHashed(1, 11, WETH, BIG, { logIndex: 3 }),
    );
    const [statement] = events;
    assert.ok(statement?.kind === "executed");
    assert.equal(statement.leafCount, 4);
    const found = leavesOf(events);
    assert.deepEqual(
      found.map(({ index, source, isLast }) => [index, source, isLast]),
      [
        [8, "swap", false],
        [9, "swap", false],
        [10, "swap", false],
        [11, "swap", true],
      ],
    );
    assert.deepEqual(found.at(-1)?.opening, { npk: 7n, asset: WETH, value: BIG });
    assert.equal(found.at(-1)?.commitment, 111n);
    assert.deepEqual(found.at(-1)?.sealed, {
      ...{ ephemeralKey: EPHEMERAL_KEY, output: 3, ciphertext: ciphertext(12) },
    });
    assert.equal(found[2]?.opening, undefined);
  });

  it("gives each event the chain's own position, so that every proxy gives it the same id", () => {
    const expansion = new Expansion(logReader(), () => undefined);
    const logged = [
      executed("private-swap", 1, 0, { logIndex: 4 }),
      noteHashed(1, 3, WETH, 5n, { logIndex: 9 }),
    ].flatMap((log) => expansion.take(log));
    assert.deepEqual(
      logged.map(({ position }) => [position.logIndex, position.part]),
      [
        [4, 0],
        [4, 1],
        [4, 2],
        [4, 3],
        [4, 4],
        [4, 5],
        [9, 0],
      ],
    );
    assert.equal(logged.at(-1)?.txHash, hash(2_001));
  });

  it("takes two swaps of one call", () => {
    const events = expand(
      executed("private-swap", 1, 0, { logIndex: 0 }),
      noteHashed(1, 3, WETH, 5n, { logIndex: 1 }),
      executed("private-swap", 2, 4, { logIndex: 2 }),
      noteHashed(2, 7, WETH, 6n, { logIndex: 3 }),
    );
    assert.deepEqual(
      leavesOf(events).map(({ index }) => index),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
  });

  it("credited notes: a leaf each, alone and last, with what is in it and its own key", () => {
    const events = expand(credited(8, WETH, BIG, { logIndex: 2 }), credited(9, WETH, 1n, { logIndex: 3 }));
    const leaf = (index: number, value: bigint) => ({
      ...{ kind: "leaf", index, commitment: BigInt(100 + index), source: "forwarder", isLast: true },
      sealed: { ephemeralKey: EPHEMERAL_KEY, output: 0, ciphertext: ciphertext(index + 1) },
      opening: { npk: 7n, asset: WETH, value },
    });
    const plain = events.map((event) =>
      event.kind === "leaf"
        ? {
            ...event,
            sealed: {
              ...event.sealed,
              ephemeralKey: new Uint8Array(event.sealed.ephemeralKey),
              ciphertext: new Uint8Array(event.sealed.ciphertext),
            },
          }
        : event,
    );
    assert.deepEqual(plain, [leaf(8, BIG), leaf(9, 1n)]);
  });

  it("notices a credited note between a swap and its own", () => {
    const swap = executed("private-swap", 1, 0, { logIndex: 0 });
    const own = noteHashed(1, 3, WETH, 5n, { logIndex: 2 });
    isRefused(swap, credited(3, WETH, 5n, { logIndex: 1 }), own);
    assert.equal(leavesOf(expand(swap, own, credited(4, WETH, 5n, { logIndex: 3 }))).length, 5);
  });

  it("notices a swap whose note is missing, at the next statement and at the end", () => {
    const swap = executed("private-swap", 1, 0, { logIndex: 0 });
    isRefused(swap);
    isRefused(swap, executed("spend", 2, 4, { logIndex: 1 }));
  });

  it("notices a note without its swap, of another one, of another call, or at another place", () => {
    const swap = executed("private-swap", 1, 0, { logIndex: 0 });
    isRefused(noteHashed(1, 3, WETH, 5n, { logIndex: 1 }));
    isRefused(executed("spend", 1, 0, { logIndex: 0 }), noteHashed(1, 4, WETH, 5n, { logIndex: 1 }));
    isRefused(swap, noteHashed(2, 3, WETH, 5n, { logIndex: 1 }));
    isRefused(swap, noteHashed(1, 3, WETH, 5n, { logIndex: 1, tx: 2 }));
    isRefused(swap, noteHashed(1, 4, WETH, 5n, { logIndex: 1 }));
    isRefused(swap, noteHashed(1, 3, WETH, 5n, { logIndex: 1 }), noteHashed(1, 3, WETH, 5n, { logIndex: 2 }));
  });
});
