/** Chunks of a made-up history, from a seed: every list may be empty, every number may be the largest. */
import { createHash } from "node:crypto";
import {
  NODE_LEAVES,
  OUTPUT_SOURCES,
  type ChunkParts,
  type ChunkRun,
} from "../../shared/api/history-chunk.ts";
import { FIELD_ORDER, mustField, type Field } from "../../shared/protocol/brands.ts";
import { bytesToUint, toAddress, toBytes32 } from "../../shared/protocol/bytes.ts";

/** Numbers that follow from a seed: what failed once fails again. */
export class Draws {
  #state: Uint8Array;

  constructor(seed: string) {
    this.#state = sha256(seed);
  }

  bytes(length: number): Uint8Array {
    const drawn = new Uint8Array(length);
    for (let at = 0; at < length; at += 32) {
      this.#state = sha256(this.#state);
      drawn.set(this.#state.subarray(0, length - at), at);
    }
    return drawn;
  }

  /** From 0 to `below`, which it is not; now and then the largest. */
  below(below: number): number {
    const [choice = 0] = this.bytes(1);
    if (choice < 16) return below - 1;
    return Number(bytesToUint(this.bytes(8)) % BigInt(below));
  }

  field(): Field {
    return mustField((bytesToUint(this.bytes(32)) % (FIELD_ORDER - 1n)) + 1n);
  }

  list<T>(length: number, make: (place: number) => T): T[] {
    return Array.from({ length }, (_, place) => make(place));
  }
}

export function drawnChunk(draws: Draws, number = draws.below(2 ** 32)): ChunkParts {
  const outputs = NODE_LEAVES * (1 + draws.below(2));
  const transactions = draws.list(1 + draws.below(20), () => ({
    block: draws.below(2 ** 47),
    hash: toBytes32(draws.bytes(32)),
  }));
  const transaction = (): number => draws.below(transactions.length);
  const runs: ChunkRun[] = [];
  for (let left = outputs; left > 0;) {
    const output = draws.below(200);
    const count = Math.min(left, 1 + draws.below(56));
    const source = OUTPUT_SOURCES[draws.below(OUTPUT_SOURCES.length)]!;
    runs.push({ ephemeralKey: draws.bytes(32), transaction: transaction(), output, source, count });
    left -= count;
  }
  const openings = draws
    .list(draws.below(5), () => draws.below(outputs))
    .filter((output, i, all) => all.indexOf(output) === i)
    .sort((a, b) => a - b);
  const nullifiers = draws.list(draws.below(30), () => ({
    transaction: transaction(),
    nullifier: draws.field(),
  }));
  const befores = draws.list(draws.below(4), () => draws.below(nullifiers.length + 1)).sort((a, b) => a - b);
  return {
    ...{ number, previous: draws.bytes(32) },
    end: {
      block: draws.below(2 ** 47),
      blockHash: toBytes32(draws.bytes(32)),
      logIndex: draws.below(2 ** 32),
      part: draws.below(2 ** 32),
    },
    root:
      draws.below(4) === 0
        ? undefined
        : { root: draws.field(), leafCount: draws.below(2 ** 32), block: draws.below(2 ** 47) },
    nodes: draws.list(outputs / NODE_LEAVES, () => draws.field()),
    ...{ transactions, runs },
    ciphertexts: draws.list(outputs, () => draws.bytes(53)),
    commitments: draws.list(outputs, () => draws.field()),
    openings: openings.map((output) => ({
      ...{ output, npk: draws.field(), asset: toAddress(draws.bytes(20)) },
      value: bytesToUint(draws.bytes(16)),
    })),
    nullifiers,
    voids: befores.map((before) => ({
      ...{ transaction: transaction(), before, firstLeafIndex: draws.below(2 ** 32) },
      leafCount: draws.below(2 ** 16),
      nullifiers: draws.list(draws.below(10), () => draws.field()),
    })),
  };
}

function sha256(data: string | Uint8Array): Uint8Array {
  return createHash("sha256").update(data).digest();
}
