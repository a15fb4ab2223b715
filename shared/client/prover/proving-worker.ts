/**
 * The page's side of the proving worker: starts it when it is first needed, asks it, and gives up on an answer when
 * the caller does. One that ended by itself is replaced at the next question.
 */
import { orAborted } from "../base/aborting.ts";
import { ClientError } from "../base/errors.ts";
import { Fault } from "./groth16/fault.ts";
import { WORKER_FORM, type Answer, type LoadRequest, type ProveRequest } from "./groth16/messages.ts";
import { processors, startThread, type Thread, type WorkerFile } from "./groth16/threads.ts";
import type { SnarkjsProof } from "../../protocol/host/proofs.ts";

export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  readonly progress?: ((fraction: number) => void) | undefined;
  /** Handed over instead of copied. */
  readonly transfer?: readonly ArrayBuffer[];
}

type Question = Omit<LoadRequest, "id"> | Omit<ProveRequest, "id">;

interface Pending {
  readonly progress: ((fraction: number) => void) | undefined;
  resolve(proof: SnarkjsProof | undefined): void;
  reject(error: unknown): void;
}

/** Each thread has a copy of what it works on. */
const MOST_THREADS = 64;

export class ProvingWorker {
  readonly #file: WorkerFile;
  readonly #threads: number;
  /** It ended by itself, with all that it had loaded. */
  readonly #lost: () => void;
  readonly #pending = new Map<number, Pending>();
  #thread: Promise<Thread> | undefined;
  #last = 0;

  constructor(file: WorkerFile, threads: number | undefined, lost: () => void) {
    this.#file = file;
    this.#threads = Math.min(threads ?? processors(), MOST_THREADS);
    this.#lost = lost;
  }

  /** Rejects with the signal's reason as soon as it is aborted. */
  async ask(question: Question, options: AskOptions = {}): Promise<SnarkjsProof | undefined> {
    const { signal, progress, transfer } = options;
    signal?.throwIfAborted();
    const id = ++this.#last;
    let thread: Thread | undefined;
    try {
      const proof = new Promise<SnarkjsProof | undefined>((resolve, reject) => {
        this.#running().then((running) => {
          if (signal?.aborted === true) return;
          thread = running;
          this.#pending.set(id, { progress, resolve, reject });
          running.post({ ...question, id }, transfer);
        }, reject);
      });
      return await orAborted(proof, signal);
    } catch (error) {
      if (signal?.aborted === true && this.#pending.has(id)) thread?.post({ type: "abort", id });
      throw error instanceof Fault ? new ClientError(error.code, error.message, { cause: error }) : error;
    } finally {
      this.#pending.delete(id);
    }
  }

  /** Ends it in the middle of whatever it does. */
  async close(): Promise<void> {
    const ending = this.#thread;
    this.#forget(new Fault("PROOF_FAILED", "the prover was closed"));
    await (await ending?.catch(() => undefined))?.end();
  }

  #running(): Promise<Thread> {
    if (this.#thread !== undefined) return this.#thread;
    const beginning = { part: "prover", form: WORKER_FORM, threads: this.#threads } as const;
    const starting = startThread(this.#file, beginning, {
      message: (said) => this.#answered(said as Answer),
      failed: (fault) => {
        if (this.#thread === starting) this.#forget(fault);
      },
    });
    this.#thread = starting;
    // Started again by the next question: the user may have come back online.
    starting.catch(() => {
      if (this.#thread === starting) this.#thread = undefined;
    });
    return starting;
  }

  #forget(reason: Fault): void {
    this.#thread = undefined;
    this.#lost();
    for (const pending of [...this.#pending.values()]) pending.reject(reason);
    this.#pending.clear();
  }

  #answered(answer: Answer): void {
    const pending = this.#pending.get(answer.id);
    if (answer.type === "progress") pending?.progress?.(answer.fraction);
    else if (answer.type === "done") pending?.resolve(answer.proof);
    else pending?.reject(new Fault(answer.code, answer.detail));
  }
}
