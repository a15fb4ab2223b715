import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { HistoryChunk, writeHistoryChunk, type ChunkParts } from "../../../../shared/api/history-chunk.ts";
import { FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";
import { Draws, drawnChunk } from "../../../support/history-chunks.ts";

/** Everything that a reader can ask of it. */
function partsOf(bytes: Uint8Array): Record<keyof ChunkParts, unknown> | undefined {
  const chunk = HistoryChunk.read(bytes);
  if (chunk === undefined) return undefined;
  const each = <T>(count: number, read: (place: number) => T): T[] =>
    Array.from({ length: count }, (_, place) => read(place));
  const runs = each(chunk.runCount, (place) => chunk.run(place));
  const nullifiers = each(chunk.nullifierCount, (place) => chunk.nullifier(place));
  const voids = chunk.voids();
  const named = [...runs, ...nullifiers, ...voids].map(({ transaction }) => transaction);
  return {
    number: chunk.number,
    previous: toHex(chunk.previous),
    end: chunk.end,
    root: chunk.root,
    nodes: toHex(chunk.nodes),
    transactions: [...new Set(named)].sort((a, b) => a - b).map((place) => chunk.transaction(place)),
    runs: runs.map((run) => ({ ...run, ephemeralKey: toHex(run.ephemeralKey) })),
    ciphertexts: each(chunk.outputs, (place) => toHex(chunk.ciphertext(place))),
    commitments: each(chunk.outputs, (place) => chunk.commitment(place)),
    openings: chunk.openings(),
    nullifiers,
    voids,
  };
}

/** The same, from what was written. */
function expectedOf(parts: ChunkParts): ReturnType<typeof partsOf> {
  const named = [...parts.runs, ...parts.nullifiers, ...parts.voids].map(({ transaction }) => transaction);
  return {
    ...parts,
    previous: toHex(parts.previous),
    nodes: `0x${parts.nodes.map((node) => toHex(word(node)).slice(2)).join("")}`,
    transactions: [...new Set(named)].sort((a, b) => a - b).map((place) => parts.transactions[place]),
    runs: parts.runs.map((run) => ({ ...run, ephemeralKey: toHex(run.ephemeralKey) })),
    ciphertexts: parts.ciphertexts.map(toHex),
  };
}

describe("api/history-chunk", () => {
  const seed = randomBytes(8).toString("hex");
  const draws = new Draws(seed);

  it(`reads what was written, whatever it is (seed ${seed})`, () => {
    for (let round = 0; round < 40; round++) {
      const parts = drawnChunk(draws);
      assert.deepEqual(partsOf(writeHistoryChunk(parts)), expectedOf(parts));
    }
  });

  it(`takes nothing that is shorter, longer, or of another form (seed ${seed})`, () => {
    const bytes = writeHistoryChunk(drawnChunk(draws));
    for (const length of [0, 1, 100, 152, 153, bytes.length - 1]) {
      assert.equal(HistoryChunk.read(bytes.subarray(0, length)), undefined, String(length));
    }
    assert.equal(HistoryChunk.read(Uint8Array.of(...bytes, 0)), undefined);
    assert.equal(HistoryChunk.read(Uint8Array.of(2, ...bytes.subarray(1))), undefined);
  });

  it(`takes bytes that a changed bit has made wrong, or gives the parts that they say: it never throws but RangeError (seed ${seed})`, () => {
    const bytes = writeHistoryChunk(drawnChunk(draws));
    let refused = 0;
    for (let round = 0; round < 400; round++) {
      const bent = bytes.slice();
      // Half of them in the head, where the lengths are.
      const at = draws.below(round % 2 === 0 ? 153 : bent.length);
      bent[at]! ^= 1 << draws.below(8);
      try {
        if (partsOf(bent) === undefined) refused += 1;
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
    }
    assert.ok(refused > 20, `${String(refused)} were refused`);
  });

  it("refuses a count of thousands of millions without making anything of that size", () => {
    const bytes = writeHistoryChunk(drawnChunk(draws));
    for (let count = 0; count < 7; count++) {
      const bent = bytes.slice();
      bent.fill(0xff, 125 + 4 * count, 129 + 4 * count);
      assert.equal(HistoryChunk.read(bent), undefined, String(count));
    }
  });

  const first = drawnChunk(new Draws("fixed"), 0);
  const refusals: Readonly<Record<string, ChunkParts>> = {
    "a run of no outputs": { ...first, runs: [...first.runs, { ...first.runs[0]!, count: 0 }] },
    "runs that are not as many as the outputs": { ...first, runs: first.runs.slice(1) },
    "a run of a transaction that is not there": {
      ...first,
      runs: first.runs.map((run) => ({ ...run, transaction: first.transactions.length })),
    },
    "a place that one byte cannot name": {
      ...first,
      runs: first.runs.map((run) => ({ ...run, output: 255, count: run.count + (run.count === 1 ? 1 : 0) })),
    },
    "openings out of order": {
      ...first,
      openings: [5, 4].map((output) => ({
        ...{ output, npk: first.nodes[0]!, asset: `0x${"ab".repeat(20)}` as never },
        value: 1n,
      })),
    },
    "two openings of one output": {
      ...first,
      openings: [5, 5].map((output) => ({
        ...{ output, npk: first.nodes[0]!, asset: `0x${"ab".repeat(20)}` as never },
        value: 1n,
      })),
    },
    "a nullifier of a transaction that is not there": {
      ...first,
      nullifiers: [{ transaction: first.transactions.length, nullifier: first.nodes[0]! }],
    },
    "a refutation behind nullifiers that are not there": {
      ...first,
      voids: [
        {
          ...{ transaction: 0, before: first.nullifiers.length + 1, firstLeafIndex: 0, leafCount: 1 },
          nullifiers: [],
        },
      ],
    },
    "refutations out of order": {
      ...first,
      nullifiers: [{ transaction: 0, nullifier: first.nodes[0]! }],
      voids: [1, 0].map((before) => ({
        ...{ transaction: 0, before, firstLeafIndex: 0, leafCount: 1, nullifiers: [] },
      })),
    },
  };
  for (const [what, parts] of Object.entries(refusals)) {
    it(`refuses ${what}`, () => {
      assert.equal(HistoryChunk.read(writeHistoryChunk(parts)), undefined);
    });
  }

  it("refuses a number that is not below the field order when it is asked for", () => {
    const bytes = writeHistoryChunk(first);
    const root = bytes.slice();
    root.set(word(FIELD_ORDER), 83);
    assert.throws(() => HistoryChunk.read(root)!.root, RangeError);
    const chunk = HistoryChunk.read(bytes)!;
    const at = bytes.length - (bytes.length - chunk.commitments.byteOffset);
    bytes.set(word(FIELD_ORDER + 1n), at);
    assert.throws(() => chunk.commitment(0), RangeError);
  });

  it("throws where parts do not fit together: a fault of ours", () => {
    assert.throws(() => writeHistoryChunk({ ...first, nodes: [] }), RangeError);
    assert.throws(() => writeHistoryChunk({ ...first, ciphertexts: first.ciphertexts.slice(1) }), RangeError);
  });
});
