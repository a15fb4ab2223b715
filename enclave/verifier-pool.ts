/**
 * Proofs to verdicts, by processes of the verifier's program, one per processor. A free one takes whatever
 * waits, as one batch, so that a request alone waits for nobody and many share the costly half of the work.
 * A process that exceeds its time or dies is replaced; what it had in hand is answered BUSY, never accepted.
 */
import type { Field } from "../shared/protocol/brands.ts";
import type { Proof } from "../shared/protocol/proof.ts";
import type { Kind } from "../shared/protocol/statements.ts";
import {
  WEIGHT_BYTES,
  type Claim,
  type ProofFault,
  type Verdict,
  type VerifyBatch,
  type VerifyKeys,
} from "./claims.ts";
import type { Platform } from "./platform.ts";

export interface Verifier {
  /** Undefined: the proof holds. */
  verify(kind: Kind, proof: Proof, signals: readonly Field[]): Promise<ProofFault | "BUSY" | undefined>;
}

export interface PoolLimits {
  readonly processes: number;
  /** Claims verified together. Their weights fit one answer of the platform's randomness. */
  readonly batch: number;
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
  waiting: 256,
  startMs: 60_000,
  batchMs: 10_000,
  randomnessMs: 1_000,
  pauseMs: 1_000,
};

interface Job {
  readonly claim: Claim;
  answer(verdict: Verdict | "BUSY"): void;
}

type Work = (jobs: readonly Job[]) => Promise<void>;

const VERDICTS: ReadonlySet<unknown> = new Set<Verdict>([
  "PROOF_HOLDS",
  "PROOF_INVALID",
  "PROOF_AT_INFINITY",
  "PROOF_NOT_ON_CURVE",
  "PROOF_NOT_IN_SUBGROUP",
]);

/** Resolves when every process is ready; rejects when one ends before it was. */
export async function startVerifierPool(
  platform: Platform,
  keys: VerifyKeys,
  limits = POOL_LIMITS,
): Promise<Verifier> {
  const queue: Job[] = [];
  const free = new Set<Work>();
  let living = 0;

  function assign(): void {
    for (const work of free) {
      const jobs = queue.splice(0, limits.batch);
      if (jobs.length === 0) return;
      free.delete(work);
      void work(jobs);
    }
  }

  /** Resolves when the process is ready; rejects when it ends before. One that was ready is replaced when it ends. */
  function startProcess(): Promise<void> {
    return new Promise((resolve, reject) => {
      let ready = false;
      let inHand: readonly Job[] = [];

      const running = platform.startVerifier({
        answered(message) {
          cancelDeadline();
          const verdicts = message as readonly Verdict[];
          const complete = verdicts.length === inHand.length && verdicts.every((each) => VERDICTS.has(each));
          if (!complete) {
            running.kill();
            return;
          }
          inHand.forEach((job, i) => job.answer(verdicts[i]!));
          inHand = [];
          // The first answer, which is empty, says that its tables are built.
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

      async function work(jobs: readonly Job[]): Promise<void> {
        inHand = jobs;
        // Drawn now that the batch is fixed: weights known beforehand could be played against. Without
        // randomness the claims are verified one by one.
        const randomness = jobs.length > 1 ? await drawn(WEIGHT_BYTES * jobs.length) : undefined;
        // It ended meanwhile, and all of them have their answer.
        if (inHand !== jobs) return;
        cancelDeadline = platform.after(limits.batchMs, () => running.kill());
        running.send({ claims: jobs.map(({ claim }) => claim), randomness } satisfies VerifyBatch);
      }

      let cancelDeadline = platform.after(limits.startMs, () => running.kill());
      running.send(keys);
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

  const count = Math.min(platform.processors, limits.processes);
  await Promise.all(Array.from({ length: count }, startProcess));

  return {
    async verify(kind, proof, signals) {
      if (queue.length >= limits.waiting) return "BUSY";
      const verdict = await new Promise<Verdict | "BUSY">((answer) => {
        queue.push({ claim: { kind, proof, signals }, answer });
        assign();
      });
      return verdict === "PROOF_HOLDS" ? undefined : verdict;
    },
  };
}
