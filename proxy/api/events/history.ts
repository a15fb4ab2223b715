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

/** New blocks wake it; this is for what failed, a full disk above all. */
const AGAIN_MS = 60_000;

export class HistoryChunks {
  readonly #indexer: Pick<Indexer, "state" | "onChange">;
  readonly #data: HistoryStore;
  readonly #logger: Logger;
  readonly #options: HistoryOptions;
  readonly #chunkOutputs: number;
  #entries: readonly ChunkEntry[];
  #listed: HistoryList | undefined;
  readonly #passing: ReturnType<typeof createPassing>;
  readonly #leave: () => void;

  constructor(
    indexer: Pick<Indexer, "state" | "onChange">,
    data: HistoryStore,
    logger: Logger,
    options: HistoryOptions,
  ) {
    this.#indexer = indexer;
    this.#data = data;
    this.#logger = logger;
    this.#options = options;
    this.#chunkOutputs = options.chunkOutputs ?? CHUNK_OUTPUTS;
    this.#entries = data.chunks();
    this.#passing = createPassing(
      () => this.#pass(),
      AGAIN_MS,
      (error) => this.#logger.error({ err: error }, "no chunk was made"),
    );
    this.#leave = indexer.onChange(({ type }) => {
      // A refutation may have emptied leaves.
      this.#listed = undefined;
      if (type === "reorg") this.#look();
      this.#passing.wake();
    });
  }

  start(): void {
    this.#passing.start();
  }

  async stop(): Promise<void> {
    this.#leave();
    await this.#passing.stop();
  }

  /** Resolves when what was final when it was called is in chunks. */
  sync(): Promise<void> {
    return this.#passing.sync();
  }

  /** The same object until something changes. */
  list(): HistoryList {
    this.#requireIndex();
    return (this.#listed ??= {
      outputsPerChunk: this.#chunkOutputs,
      entries: this.#entries,
      voids: this.#data.voids(),
    });
  }

  /** Throws NOT_FOUND unless the last one of these chunks has that checksum. */
  async page(from: number, limit: number, last: string): Promise<Buffer> {
    this.#requireIndex();
    const wanted = this.#entries.slice(from, from + limit);
    if (wanted.length < limit || wanted.at(-1)?.checksum !== last)
      throw new ApiError("NOT_FOUND", "there are no such chunks, or no more; see /history");
    const chunks: Uint8Array[] = [];
    for (const { number } of wanted) {
      const bytes = this.#data.chunk(number);
      if (bytes === undefined) {
        this.#logger.error({ chunk: number }, "a kept chunk is damaged; it is made again");
        await this.#drop(number);
        this.#passing.wake();
        throw new ApiError("CHAIN_UNAVAILABLE", "a part of the history is made again", {
          retryAfterSecs: 2,
        });
      }
      chunks.push(bytes);
      await yieldToEventLoop();
    }
    return Buffer.concat(chunks);
  }

  async #pass(): Promise<void> {
    // Of an earlier size.
    if (this.#entries.some(({ outputs }) => outputs !== this.#chunkOutputs)) await this.#drop(0);
    while (!this.#passing.isStopped() && this.#isNextFinal()) {
      const before = this.#entries.at(-1);
      const made = await makeChunk(this.#data, this.#chunkOutputs, before);
      if (made === undefined) {
        // Only a damaged predecessor is a reason to go back; a reorganisation has told of itself.
        if (before === undefined || this.#data.chunk(before.number) !== undefined) return;
        await this.#drop(before.number);
        continue;
      }
      if (!(await this.#data.keepChunk(made.bytes, made.entry))) return;
      this.#look();
    }
  }

  #look(): void {
    this.#entries = this.#data.chunks();
    this.#listed = undefined;
  }

  #isNextFinal(): boolean {
    const tip = this.#data.tip();
    const last = this.#data.leaf((this.#entries.length + 1) * this.#chunkOutputs - 1);
    return (
      tip !== undefined && last !== undefined && last.block <= finalBlockOf(tip, this.#options.confirmations)
    );
  }

  async #drop(number: number): Promise<void> {
    await this.#data.dropChunks(number);
    this.#look();
  }

  #requireIndex(): void {
    if (this.#indexer.state().fault !== undefined)
      throw new ApiError("CHAIN_UNAVAILABLE", "the pool's history is not known yet", { retryAfterSecs: 2 });
  }
}
