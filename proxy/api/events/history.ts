/**
 * The history in chunks, for wallets that begin from nothing: made behind the index, one after the other, once all of a
 * chunk is final, and kept. Nothing is made in a request.
 */
import { CHUNK_OUTPUTS } from "../../../shared/api/data.ts";
import { yieldToEventLoop } from "../../base/event-loop.ts";
import { createPassing } from "../../base/chain/passing.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { Logger } from "../../base/logging.ts";
import type { Indexer } from "../merkle/indexer.ts";
import { finalBlockOf } from "../sequencer/outcomes.ts";
import type { ChainDataStore, ChunkEntry, VoidLeaves } from "../../base/store/chain-data.ts";
import { makeChunk, type ChunkSource } from "./chunk.ts";

export interface HistoryOptions {
  /** A block is final with so many. */
  readonly confirmations: number;
  /** A multiple of 256; other than the API says only where a test has few outputs. */
  readonly chunkOutputs?: number;
}

export interface HistoryList {
  readonly outputsPerChunk: number;
  readonly entries: readonly ChunkEntry[];
  readonly voids: readonly VoidLeaves[];
}

export type HistoryStore = ChunkSource &
  Pick<ChainDataStore, "chunks" | "dropChunks" | "keepChunk" | "leaf" | "tip">;

export type HistoryChunks = ReturnType<typeof createHistory>;

/** New blocks wake it; this is for what failed, a full disk above all. */
const AGAIN_MS = 60_000;

export function createHistory(
  indexer: Pick<Indexer, "state" | "onChange">,
  data: HistoryStore,
  logger: Logger,
  { confirmations, chunkOutputs = CHUNK_OUTPUTS }: HistoryOptions,
) {
  let entries: readonly ChunkEntry[] = data.chunks();
  let listed: HistoryList | undefined;

  async function pass(): Promise<void> {
    // Of an earlier size.
    if (entries.some(({ outputs }) => outputs !== chunkOutputs)) await drop(0);
    while (!passing.isStopped() && isNextFinal()) {
      const before = entries.at(-1);
      const made = await makeChunk(data, chunkOutputs, before);
      if (made === undefined) {
        // Only a damaged predecessor is a reason to go back; a reorganisation has told of itself.
        if (before === undefined || data.chunk(before.number) !== undefined) return;
        await drop(before.number);
        continue;
      }
      if (!(await data.keepChunk(made.bytes, made.entry))) return;
      look();
    }
  }

  function look(): void {
    entries = data.chunks();
    listed = undefined;
  }

  function isNextFinal(): boolean {
    const tip = data.tip();
    const last = data.leaf((entries.length + 1) * chunkOutputs - 1);
    return tip !== undefined && last !== undefined && last.block <= finalBlockOf(tip, confirmations);
  }

  async function drop(number: number): Promise<void> {
    await data.dropChunks(number);
    look();
  }

  const passing = createPassing(pass, AGAIN_MS, (error) => logger.error({ err: error }, "no chunk was made"));
  const leave = indexer.onChange(({ type }) => {
    // A refutation may have emptied leaves.
    listed = undefined;
    if (type === "reorg") look();
    passing.wake();
  });

  function requireIndex(): void {
    if (indexer.state().fault !== undefined)
      throw new ApiError("CHAIN_UNAVAILABLE", "the pool's history is not known yet", { retryAfterSecs: 2 });
  }

  return {
    start: (): void => passing.start(),
    async stop(): Promise<void> {
      leave();
      await passing.stop();
    },
    /** Resolves when what was final when it was called is in chunks. */
    sync: (): Promise<void> => passing.sync(),
    /** The same object until something changes. */
    list(): HistoryList {
      requireIndex();
      return (listed ??= { outputsPerChunk: chunkOutputs, entries, voids: data.voids() });
    },
    /** Throws NOT_FOUND unless the last one of these chunks has that checksum. */
    async page(from: number, limit: number, last: string): Promise<Buffer> {
      requireIndex();
      const wanted = entries.slice(from, from + limit);
      if (wanted.length < limit || wanted.at(-1)?.checksum !== last)
        throw new ApiError("NOT_FOUND", "there are no such chunks, or no more; see /history");
      const chunks: Uint8Array[] = [];
      for (const { number } of wanted) {
        const bytes = data.chunk(number);
        if (bytes === undefined) {
          logger.error({ chunk: number }, "a kept chunk is damaged; it is made again");
          await drop(number);
          passing.wake();
          throw new ApiError("CHAIN_UNAVAILABLE", "a part of the history is made again", {
            retryAfterSecs: 2,
          });
        }
        chunks.push(bytes);
        await yieldToEventLoop();
      }
      return Buffer.concat(chunks);
    },
  };
}
