/** Threads that share the tasks of a proof. Ended in the middle of a task, it leaves nobody waiting. */
import { Fault } from "./fault.ts";
import { WORKER_FORM } from "./messages.ts";
import type { Task, TaskAnswer } from "./tasks.ts";
import { startThread, type Thread, type WorkerFile } from "./threads.ts";

interface Queued {
  readonly task: Task;
  resolve(out: Uint8Array[]): void;
  reject(error: Error): void;
}

export class ThreadPool {
  readonly #waiting: Queued[] = [];
  readonly #working = new Map<Thread, Queued>();
  readonly #idle: Thread[] = [];
  readonly #threads: Thread[] = [];
  #ended: Error | undefined;

  /** Resolves when all threads are ready. */
  static async start(file: WorkerFile, count: number, program: WebAssembly.Module): Promise<ThreadPool> {
    const pool = new ThreadPool();
    const starting = Array.from({ length: count }, () => pool.#start(file, program));
    // Those that come after a failure are ended as well.
    for (const one of starting) one.catch((error: unknown) => void pool.end(error as Error));
    await Promise.all(starting);
    return pool;
  }

  async #start(file: WorkerFile, program: WebAssembly.Module): Promise<void> {
    const thread = await startThread(
      file,
      { part: "thread", form: WORKER_FORM, program },
      {
        message: (said) => this.#answered(thread, said as TaskAnswer),
        failed: (error) => void this.end(error),
      },
    );
    this.#threads.push(thread);
    if (this.#ended !== undefined) await thread.end();
    else this.#next(thread);
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** The oldest task goes first. */
  queue(task: Task): Promise<Uint8Array[]> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended);
        return;
      }
      this.#waiting.push({ task, resolve, reject });
      const idle = this.#idle.shift();
      if (idle !== undefined) this.#next(idle);
    });
  }

  #next(thread: Thread): void {
    const queued = this.#waiting.shift();
    if (queued === undefined) {
      this.#idle.push(thread);
      return;
    }
    this.#working.set(thread, queued);
    thread.post(queued.task);
  }

  #answered(thread: Thread, answer: TaskAnswer): void {
    const queued = this.#working.get(thread);
    this.#working.delete(thread);
    // A phone may run out of memory in the middle of a task.
    if ("fault" in answer) queued?.reject(new Fault("PROOF_FAILED", answer.fault));
    else queued?.resolve(answer.out);
    this.#next(thread);
  }

  /** Whoever waits gets `reason`. */
  async end(reason: Error): Promise<void> {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    for (const queued of [...this.#working.values(), ...this.#waiting.splice(0)]) queued.reject(reason);
    this.#working.clear();
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}
