/**
 * Scans chunks in workers, as many as there are processors; in the caller's own thread, piece by piece, where there are none
 * or one of them ended.
 */
import type { HistoryChunk } from "../../api/history-chunk.ts";
import { processors, startThread, type Thread, type WorkerFile } from "../prover/groth16/threads.ts";
import { WORKER_FORM, type ScanAnswer, type ScanRequest } from "../prover/groth16/messages.ts";
import { Turns } from "../base/turns.ts";
import { chunkScan, type OpenedOutput, type ScanKeys } from "../prover/scan.ts";

/** More share a memory bus, and a phone's heat. */
const MOST_THREADS = 8;

interface Job {
  readonly chunk: HistoryChunk;
  readonly bytes: Uint8Array;
  resolve(opened: readonly OpenedOutput[]): void;
  reject(error: unknown): void;
}

export class ScanThreads {
  /** So many chunks are scanned at once. */
  readonly width: number;
  readonly #keys: ScanKeys;
  /** Undefined: in this thread. */
  readonly #file: WorkerFile | undefined;
  readonly #waiting: Job[] = [];
  readonly #scanners = new Set<Scanner>();
  #workers = 0;
  #idle: (() => void)[] = [];
  #isClosed = false;

  constructor(keys: ScanKeys, file: WorkerFile | undefined) {
    this.#keys = keys;
    this.#file = file;
    this.width = file === undefined ? 1 : Math.min(processors(), MOST_THREADS);
  }

  /** `bytes` are those of the chunk. */
  scan(chunk: HistoryChunk, bytes: Uint8Array): Promise<readonly OpenedOutput[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ chunk, bytes, resolve, reject });
      if (this.#workers < this.width) void this.#work();
      else this.#wake();
    });
  }

  /** Ends every thread in the middle of whatever it does; nobody may wait for an answer any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#wake();
    await Promise.all([...this.#scanners].map((scanner) => scanner.end()));
  }

  /** A function, because it changes while we wait. */
  #hasClosed(): boolean {
    return this.#isClosed;
  }

  #wake(): void {
    for (const wake of this.#idle.splice(0)) wake();
  }

  /** Takes one job after the other, in a thread of its own as long as that lives. */
  async #work(): Promise<void> {
    this.#workers += 1;
    const scanner = await this.#started();
    const turns = new Turns();
    const here = chunkScan(this.#keys, async () => {
      if (this.#hasClosed()) throw new Error("nobody waits any more");
      await turns.pause();
    });
    while (!this.#hasClosed()) {
      const job = this.#waiting.shift();
      if (job === undefined) {
        await new Promise<void>((resolve) => this.#idle.push(resolve));
        continue;
      }
      try {
        job.resolve((await scanner?.scan(job.bytes)) ?? (await here(job.chunk)));
      } catch (error) {
        if (!this.#hasClosed()) job.reject(error);
      }
    }
    await scanner?.end();
  }

  async #started(): Promise<Scanner | undefined> {
    if (this.#file === undefined) return undefined;
    try {
      const scanner = await Scanner.start(this.#file, this.#keys);
      this.#scanners.add(scanner);
      return scanner;
    } catch {
      // A policy that forbids it, a file that is not there: the work is the same here.
      return undefined;
    }
  }
}

/** One worker. */
class Scanner {
  #thread: Thread | undefined;
  /** What the last chunk was sent in. */
  #room = new ArrayBuffer(0);
  #answer: ((opened: readonly OpenedOutput[] | undefined) => void) | undefined;

  static async start(file: WorkerFile, keys: ScanKeys): Promise<Scanner> {
    const scanner = new Scanner();
    const said = ({ opened, chunk }: ScanAnswer): void => {
      scanner.#room = chunk.buffer;
      scanner.#say(opened);
    };
    scanner.#thread = await startThread(
      file,
      { part: "scanner", form: WORKER_FORM, ...keys },
      { message: (message) => said(message as ScanAnswer), failed: () => scanner.#ended() },
    );
    return scanner;
  }

  /** Undefined where the worker gives no answer. */
  scan(chunk: Uint8Array): Promise<readonly OpenedOutput[] | undefined> {
    return new Promise((resolve) => {
      this.#answer = resolve;
      if (this.#thread === undefined) {
        this.#say(undefined);
        return;
      }
      // A copy: the page that the chunk is in stays with the caller.
      if (this.#room.byteLength < chunk.length) this.#room = new ArrayBuffer(chunk.length);
      const bytes = new Uint8Array(this.#room, 0, chunk.length);
      bytes.set(chunk);
      this.#thread.post({ chunk: bytes } satisfies ScanRequest, [bytes.buffer]);
    });
  }

  async end(): Promise<void> {
    const thread = this.#thread;
    this.#ended();
    await thread?.end();
  }

  #ended(): void {
    this.#thread = undefined;
    this.#say(undefined);
  }

  #say(opened: readonly OpenedOutput[] | undefined): void {
    const resolve = this.#answer;
    this.#answer = undefined;
    resolve?.(opened);
  }
}
