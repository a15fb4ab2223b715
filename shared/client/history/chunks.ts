/**
 * The list of the history's chunks, and the chunks themselves, page by page with the next pages under way. A chunk is
 * handed on when it is the one that the list names; what is in it is not believed by that.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import type { History } from "../../api/data.ts";
import { HistoryChunk, NODE_LEAVES } from "../../api/history-chunk.ts";
import { equalBytes, mustFromHex } from "../../protocol/bytes.ts";
import { TREE_CAPACITY } from "../../protocol/tree.ts";
import { orAborted } from "../base/aborting.ts";
import type { Client } from "../service/client.ts";
import { ClientError, hasCode, isProblem } from "../base/errors.ts";

export interface CheckedChunk {
  readonly chunk: HistoryChunk;
  /** What it was read from. */
  readonly bytes: Uint8Array;
}

/** More would be no chunk of this pool: an output and all that can come with it has some 500 bytes. */
const MOST_BYTES_OF_OUTPUT = 1_024;
/** The largest chunk that a service may choose: 64 MiB, and one page of the tree's leaves. */
const MOST_OUTPUTS = 65_536;
/** In one request: some 4 MB, and a million outputs in 31 requests. */
const PAGE_CHUNKS = 8;
/** So many bytes at once, unless one chunk has more. */
const MOST_PAGE_BYTES = 16 << 20;
/** Beside the one that is being read. */
const PAGES_AHEAD = 1;

export function inconsistent(detail: string, cause?: unknown): ClientError {
  return new ClientError("HISTORY_INCONSISTENT", detail, cause === undefined ? undefined : { cause });
}

/** Undefined where the service has no chunks: an older release, or one whose index is not there yet. Throws HISTORY_INCONSISTENT. */
export async function readList(
  client: Pick<Client, "history">,
  signal: AbortSignal,
): Promise<History | undefined> {
  try {
    const list = await client.history({ signal });
    checkList(list);
    return list.chunks.length === 0 ? undefined : list;
  } catch (error) {
    // What it has in the place of an answer, the stream will say as well.
    if (isProblem(error)) return undefined;
    if (hasCode(error, "UNEXPECTED_ANSWER"))
      throw inconsistent("its list does not have the documented form", error);
    throw error;
  }
}

function checkList({ outputs_per_chunk: size, chunks, outputs, last_event_id: last }: History): void {
  if (size === 0 || size % NODE_LEAVES !== 0 || size > MOST_OUTPUTS)
    throw inconsistent("chunks of another size");
  if (outputs !== size * chunks.length || BigInt(outputs) >= TREE_CAPACITY || outputs > 0 !== (last !== null))
    throw inconsistent("its list contradicts itself");
  if (chunks.some(({ bytes }) => bytes > size * MOST_BYTES_OF_OUTPUT))
    throw inconsistent("a chunk has more bytes than its outputs can");
}

/** What a page asks for depends on the list alone. */
interface Page {
  readonly from: number;
  readonly chunks: History["chunks"];
}

/** Throws HISTORY_INCONSISTENT, and what the service answers instead: NOT_FOUND where its list has changed. */
export async function* readChunks(
  client: Pick<Client, "historyChunks">,
  list: History,
  signal: AbortSignal,
): AsyncGenerator<CheckedChunk, void, undefined> {
  const ending = new AbortController();
  const leave = (): void => ending.abort(signal.reason);
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  const asked: { readonly page: Page; readonly bytes: Promise<Uint8Array> }[] = [];
  const pages = pagesOf(list);
  const ask = (): void => {
    const page = pages.shift();
    if (page === undefined) return;
    const bytes = client.historyChunks(
      {
        ...{ from: page.from, limit: page.chunks.length, last: page.chunks.at(-1)!.sha256 },
        maxBytes: bytesOf(page.chunks),
      },
      { signal: ending.signal },
    );
    // Whoever leaves early asks nobody what became of it.
    bytes.catch(() => undefined);
    asked.push({ page, bytes });
  };
  try {
    for (let i = 0; i <= PAGES_AHEAD; i++) ask();
    for (let next = asked.shift(); next !== undefined; next = asked.shift()) {
      const bytes = await orAborted(next.bytes, signal).catch((error: unknown) => {
        throw hasCode(error, "UNEXPECTED_ANSWER") ? inconsistent("chunks of another length", error) : error;
      });
      ask();
      yield* checked(list, next.page, bytes);
    }
  } finally {
    ending.abort();
    signal.removeEventListener("abort", leave);
  }
}

function pagesOf({ chunks }: History): Page[] {
  const pages: Page[] = [];
  // From a multiple on, so that everybody asks for the same addresses.
  for (let from = 0; from < chunks.length; from += PAGE_CHUNKS) {
    const all = chunks.slice(from, from + PAGE_CHUNKS);
    if (bytesOf(all) <= MOST_PAGE_BYTES) pages.push({ from, chunks: all });
    else all.forEach((chunk, i) => pages.push({ from: from + i, chunks: [chunk] }));
  }
  return pages;
}

function bytesOf(chunks: History["chunks"]): number {
  return chunks.reduce((sum, { bytes }) => sum + bytes, 0);
}

async function* checked(
  list: History,
  { from, chunks }: Page,
  bytes: Uint8Array,
): AsyncGenerator<CheckedChunk, void, undefined> {
  if (bytes.length !== bytesOf(chunks)) throw inconsistent("chunks of another length");
  let at = 0;
  for (const [i, { sha256: sum, bytes: length }] of chunks.entries()) {
    const one = bytes.subarray(at, (at += length));
    if (!equalBytes(await sumOf(one), mustFromHex(sum)))
      throw inconsistent(`chunk ${from + i} does not have its checksum`);
    const chunk = HistoryChunk.read(one);
    const before = list.chunks[from + i - 1];
    const follows =
      chunk?.outputs === list.outputs_per_chunk &&
      chunk.number === from + i &&
      (before === undefined
        ? chunk.previous.every((byte) => byte === 0)
        : equalBytes(chunk.previous, mustFromHex(before.sha256)));
    if (!follows) throw inconsistent(`chunk ${from + i} is none, or another one`);
    yield { chunk, bytes: one };
  }
}

async function sumOf(bytes: Uint8Array): Promise<Uint8Array> {
  const subtle = (globalThis.crypto as Partial<Crypto> | undefined)?.subtle;
  if (subtle === undefined) return sha256(bytes);
  return new Uint8Array(await subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
}
