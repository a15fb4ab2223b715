/**
 * The history of the pool in chunks, for a wallet that begins from nothing: read, scanned in workers, and made into the state
 * that the stream would have given up to the last chunk. What is asked for depends on the service's list alone, so it
 * tells nothing of whose outputs are looked for.
 */
import type { FullViewingKey } from "../../notes/keys.ts";
import { orAborted } from "../base/aborting.ts";
import type { Client } from "../service/client.ts";
import { ClientError, hasCode, isProblem } from "../base/errors.ts";
import type { WorkerFile } from "../prover/groth16/threads.ts";
import type { WalletState } from "../state/state.ts";
import { Turns } from "../base/turns.ts";
import { HistoryAssembly } from "./assembly.ts";
import { readChunks, readList, type CheckedChunk } from "./chunks.ts";
import type { OpenedOutput } from "../prover/scan.ts";
import { ScanThreads } from "./scan-threads.ts";

export interface ReadHistoryOptions {
  readonly client: Pick<Client, "history" | "historyChunks">;
  readonly keys: FullViewingKey;
  readonly worker: WorkerFile;
  /** Makes the state that is filled, one for each try. */
  readonly newState: () => WalletState;
  readonly signal: AbortSignal;
  /** Told the part that is done, from 0 to 1. */
  readonly progress?: (fraction: number) => void;
}

/** Below it a worker takes longer to start than to be done without. */
const LEAST_FOR_WORKERS = 16_384;

/**
 * Undefined where the service has nothing in chunks, or no more. Throws HISTORY_INCONSISTENT where it does not fit together, NETWORK, and
 * the signal's reason.
 */
export async function readHistory(options: ReadHistoryOptions): Promise<WalletState | undefined> {
  const { client, signal } = options;
  // The list may change while chunks are read: a reorganisation deeper than what is final, a chunk that is made again.
  for (let tries = 2; tries > 0; tries--) {
    const list = await readList(client, signal);
    if (list === undefined) return undefined;
    try {
      return await readListed(options, list);
    } catch (error) {
      if (!isProblem(error)) throw error;
    }
  }
  return undefined;
}

async function readListed(
  { client, keys, worker, signal, progress, newState }: ReadHistoryOptions,
  list: NonNullable<Awaited<ReturnType<typeof readList>>>,
): Promise<WalletState> {
  const assembly = new HistoryAssembly(keys, list);
  const threads = new ScanThreads(
    { viewingSecret: keys.exportSecret(), viewingKey: keys.viewingKey },
    list.outputs < LEAST_FOR_WORKERS ? undefined : worker,
  );
  const turns = new Turns();
  const pause = async (): Promise<void> => {
    signal.throwIfAborted();
    await turns.pause();
  };
  const scanned: { readonly one: CheckedChunk; readonly opened: Promise<readonly OpenedOutput[]> }[] = [];
  let taken = 0;
  const takeNext = async (): Promise<void> => {
    const next = scanned.shift();
    if (next === undefined) return;
    assembly.take(next.one.chunk, await orAborted(next.opened, signal));
    progress?.(++taken / list.chunks.length);
    await pause();
  };
  try {
    for await (const one of readChunks(client, list, signal)) {
      scanned.push({ one, opened: threads.scan(one.chunk, one.bytes) });
      if (scanned.length > 2 * threads.width) await takeNext();
    }
    while (scanned.length > 0) await takeNext();
    return await assembly.finish(newState(), pause);
  } catch (error) {
    throw hasCode(error, "STREAM_INCONSISTENT")
      ? new ClientError("HISTORY_INCONSISTENT", "its parts contradict each other", { cause: error })
      : error;
  } finally {
    await threads.close();
  }
}
