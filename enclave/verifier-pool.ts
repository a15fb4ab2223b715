/**
 * Claims to verdicts, by processes of a verifier's program, one per processor. A free one takes whatever
 * waits, as one batch, and where many come, waits a little for more: a batch shares the costly half of the work.
 * Claims that come one after another wait for nobody.
 * A process that exceeds its time, dies or answers what is no answer is replaced; what it had in hand is answered
 * BUSY, never accepted.
 */
import type { Platform } from "./platform.ts";
import { WEIGHT_BYTES, type VerifierKind } from "./stream.ts";

export type Verify<Claim, Verdict> = (claim: Claim) => Promise<Verdict | "BUSY">;

export interface PoolLimits {
  readonly processes: number;
  /** Claims verified together. Their weights fit one answer of the platform's randomness. */
  readonly batch: number;
  /** Where several come at once, those behind a batch are gathered for so long, or until they fill one. */
  readonly gatherMs: number;
  /** Claims that wait for a process; beyond it the answer is BUSY. */
  readonly waiting: number;
  /** For building tables, and for a batch from when it is sent. Both are some twenty times what they take. */
  readonly startMs: number;
  readonly batchMs: number;
  /** For the platform's randomness: a security module that keeps still is no fault of a verifier. */
  readonly randomnessMs: number;
  /** Before a process is replaced. */
  readonly pauseMs: number;
}

export const POOL_LIMITS: PoolLimits = {
  processes: 8,
  batch: 16,
  gatherMs: 20,
  waiting: 256,
  startMs: 60_000,
  batchMs: 10_000,
  randomnessMs: 1_000,
  pauseMs: 1_000,
};

interface Job<Claim, Verdict> {
  readonly claim: Claim;
  answer(verdict: Verdict | "BUSY"): void;
}

/** Resolves when every process is ready; rejects when one ends before it was. */
export async function startPool<Claim, Verdict>(
  platform: Platform,
  kind: VerifierKind<Claim, Verdict>,
  limits = POOL_LIMITS,
): Promise<Verify<Claim, Verdict>> {
  type Jobs = readonly Job<Claim, Verdict>[];
  const queue: Job<Claim, Verdict>[] = [];
  const free = new Set<(jobs: Jobs) => Promise<void>>();
  let living = 0;
  /** Claims without an answer. */
  let open = 0;
  /** Most that were open at once since the last batch was sent. */
  let crowd = 0;
  let isGathering = false;

  function assign(): void {
    for (const work of free) {
      if (queue.length === 0 || (isGathering && queue.length < limits.batch)) return;
      free.delete(work);
      void work(queue.splice(0, limits.batch));
      if (crowd > 1 && !isGathering) {
        isGathering = true;
        platform.after(limits.gatherMs, gathered);
      }
      crowd = 0;
    }
  }

  function gathered(): void {
    isGathering = false;
    assign();
  }

  /** Resolves when the process is ready; rejects when it ends before. One that was ready is replaced when it ends. */
  function startProcess(): Promise<void> {
    return new Promise((resolve, reject) => {
      let ready = false;
      let asked = false;
      let inHand: Jobs = [];

      const running = platform.startVerifier({
        answered(message) {
          const verdicts = readAnswer(message);
          // What nobody asked for counts as no answer: it could be meant for what is asked next.
          if (!asked || verdicts === undefined) {
            running.kill();
            return;
          }
          cancelDeadline();
          asked = false;
          inHand.forEach((job, i) => job.answer(verdicts[i]!));
          inHand = [];
          if (!ready) living += 1;
          ready = true;
          resolve();
          free.add(work);
          assign();
        },
        ended() {
          cancelDeadline();
          free.delete(work);
          if (ready) living -= 1;
          // Nobody waits for a successor when there is no other: it may never live.
          const unanswered = living === 0 ? [...inHand, ...queue.splice(0)] : inHand;
          for (const job of unanswered) job.answer("BUSY");
          inHand = [];
          if (ready) replace();
          else reject(new Error("a verifying process ended before it was ready"));
        },
      });

      function readAnswer(message: Uint8Array): readonly Verdict[] | undefined {
        if (ready) return kind.decode(message, claimsOf(inHand));
        return message.length === 0 ? [] : undefined;
      }

      function ask(message: Uint8Array, withinMs: number): void {
        asked = true;
        cancelDeadline = platform.after(withinMs, () => running.kill());
        running.send(message);
      }

      async function work(jobs: Jobs): Promise<void> {
        inHand = jobs;
        // Drawn now that the batch is fixed: weights known beforehand could be played against. Without
        // randomness the claims are verified one by one.
        const randomness = jobs.length > 1 ? await drawn(WEIGHT_BYTES * jobs.length) : undefined;
        // If it ended meanwhile, all of them have their answer.
        if (inHand === jobs) ask(kind.encode(claimsOf(jobs), randomness), limits.batchMs);
      }

      let cancelDeadline = (): void => undefined;
      ask(kind.setUp, limits.startMs);
    });
  }

  /** Undefined when the platform does not answer soon. */
  function drawn(length: number): Promise<Uint8Array | undefined> {
    return new Promise((resolve) => {
      const cancel = platform.after(limits.randomnessMs, () => resolve(undefined));
      void platform.randomBytes(length).then((randomness) => {
        cancel();
        resolve(randomness);
      });
    });
  }

  /** After a pause, so that whatever ends them cannot make a storm of starts. */
  function replace(): void {
    platform.after(limits.pauseMs, () => void startProcess().catch(replace));
  }

  const claimsOf = (jobs: Jobs): Claim[] => jobs.map(({ claim }) => claim);
  const count = Math.min(platform.processors, limits.processes);
  await Promise.all(Array.from({ length: count }, startProcess));

  return async (claim) => {
    if (queue.length >= limits.waiting) return "BUSY";
    crowd = Math.max(crowd, ++open);
    return new Promise<Verdict | "BUSY">((answer) => {
      queue.push({ claim, answer });
      assign();
    }).finally(() => open--);
  };
}
