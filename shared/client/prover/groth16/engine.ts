/**
 * The curve that proves: ffjavascript's, with our kernel in its WebAssembly. It is built for one thread and given
 * our own threads: those of ffjavascript come from a `blob:` address, which a strict content security policy
 * forbids, say nothing when they fail, and are shared with whoever else is in the process.
 */
import { buildBn128, type Bn128 } from "ffjavascript";
import { addKernel } from "./kernel.ts";
import type { ThreadPool } from "./pool.ts";

/** In the calling thread alone, until it is given threads. */
export function provingCurve(): Promise<Bn128> {
  return buildBn128(true, addKernel);
}

/** The program that threads of this curve run. */
export function programOf({ tm }: Bn128): Promise<WebAssembly.Module> {
  return WebAssembly.compile(tm.code.slice());
}

/** From now on the curve's tasks go to what `pool` gives. */
export function useThreads({ tm }: Bn128, count: number, pool: () => ThreadPool): void {
  tm.concurrency = count;
  tm.queueAction = (task) => pool().queue(task);
}
