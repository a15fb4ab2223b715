// The curve that proves, with the threads of the built worker (`npm run build`) or without any.
import type { Bn128 } from "ffjavascript";
import {
  programOf,
  provingCurve,
  useThreads,
} from "../../../../../../shared/client/prover/groth16/engine.ts";
import { ThreadPool } from "../../../../../../shared/client/prover/groth16/pool.ts";
import type { WorkerFile } from "../../../../../../shared/client/prover/groth16/threads.ts";

export const WORKER = new URL("../../../../../../shared/client/dist/worker.js", import.meta.url);

/** As a Node program starts it. */
export const workerFile = (address: URL = WORKER): WorkerFile => ({
  address: () => address,
  startInBrowser: () => {
    throw new Error("this is no browser");
  },
});

export const startPool = async (curve: Bn128, threads: number): Promise<ThreadPool> =>
  ThreadPool.start(workerFile(), threads, await programOf(curve));

export async function curveFor(threads: number): Promise<{ curve: Bn128; end: () => Promise<void> }> {
  const curve = await provingCurve();
  if (threads === 0) return { curve, end: () => Promise.resolve() };
  const pool = await startPool(curve, threads);
  useThreads(curve, threads, () => pool);
  return { curve, end: () => pool.end(new Error("the test is over")) };
}
