/**
 * Chunks of the history beside the log that they are made of. A chunk is believed as long as its bytes have the checksum that
 * it was kept under; where they have not, it is made again from the log.
 */
import { createHash } from "node:crypto";
import type { Bytes32 } from "../../../../shared/protocol/brands.ts";
import { equalBytes, mustFromHex, toBytes32 } from "../../../../shared/protocol/bytes.ts";
import type { ChunkEntry } from "../chain-data.ts";
import type { Key } from "./chain-rows.ts";
import type { Database } from "./database.ts";

const LAST = Number.MAX_SAFE_INTEGER;

interface EntryRow {
  readonly o: number;
  readonly l: number;
  readonly s: Uint8Array;
  /** Block, its hash, log and part of the event that it ends with. */
  readonly e: readonly [number, string, number, number];
}

export function openChunks(table: ReturnType<Database["table"]>) {
  const rows = (from: number): { number: number; row: EntryRow }[] =>
    [...table.getRange({ start: ["chunk-entry", from], end: ["chunk-entry", LAST] })].map(
      ({ key, value }) => ({ number: (key as Key)[1] as number, row: value as EntryRow }),
    );
  const remove = (number: number): void => {
    table.removeSync(["chunk-entry", number]);
    table.removeSync(["chunk", number]);
  };

  return {
    entries: (): ChunkEntry[] =>
      rows(0).map(({ number, row: { o: outputs, l: bytes, s, e } }) => {
        const [block, blockHash, logIndex, part] = e;
        const end = { position: { block, logIndex, part }, blockHash: blockHash as Bytes32 };
        return { number, outputs, bytes, checksum: toBytes32(s), end };
      }),
    find: (number: number): Uint8Array | undefined => {
      const row = table.get(["chunk-entry", number]) as EntryRow | undefined;
      const bytes: unknown = table.get(["chunk", number]);
      if (row === undefined || !(bytes instanceof Uint8Array)) return undefined;
      return equalBytes(createHash("sha256").update(bytes).digest(), row.s) ? bytes : undefined;
    },
    /** Within a transaction, as the next two. */
    write: (chunk: Uint8Array, { number, outputs, checksum, end }: ChunkEntry): void => {
      const { position, blockHash } = end;
      table.putSync(["chunk", number], Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
      table.putSync(["chunk-entry", number], {
        ...{ o: outputs, l: chunk.length, s: mustFromHex(checksum) },
        e: [position.block, blockHash, position.logIndex, position.part],
      } satisfies EntryRow);
    },
    removeFrom: (number: number): void => {
      for (const found of rows(number)) remove(found.number);
    },
    /** Those that end in a block above this one. */
    removeAbove: (block: number): void => {
      for (const { number, row } of rows(0)) if (row.e[0] > block) remove(number);
    },
  };
}
