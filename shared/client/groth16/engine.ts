/**
 * The curve that proves: ffjavascript's, with our kernel in its WebAssembly. It is our own, so that nobody
 * else in the process gets it and ends its threads under a proof, and we never get one without the kernel.
 */
import { buildBn128, type Bn128 } from "ffjavascript";
import { addKernel } from "./kernel.ts";

const engines = new Map<boolean, Promise<Bn128>>();

/** The same at every call, until it is released. */
export function provingCurve(singleThread: boolean): Promise<Bn128> {
  const known = engines.get(singleThread);
  if (known !== undefined) return known;
  const building = singleThread ? buildBn128(true, addKernel) : buildWithThreads();
  engines.set(singleThread, building);
  building.catch(() => engines.delete(singleThread));
  return building;
}

/** Ends the worker threads; a Node process ends only after this. The next proof starts new ones. */
export async function releaseProvingCurve(): Promise<void> {
  const built = await Promise.allSettled(engines.values());
  engines.clear();
  for (const engine of built) {
    if (engine.status === "rejected") continue;
    // Ending clears the variable before it first waits.
    const theirs = holder.curve_bn128;
    const ending = engine.value.terminate();
    holder.curve_bn128 = theirs;
    await ending;
  }
}

/** Where ffjavascript 0.3 keeps the first curve with threads, for snarkjs and whoever else asks. */
const holder = globalThis as { curve_bn128?: Partial<Bn128> | null | undefined };

/**
 * Left alone, ffjavascript would answer with the curve in the variable instead of building ours, and would put
 * ours there. It looks at once; while it builds, the variable takes everybody's curve but ours.
 */
async function buildWithThreads(): Promise<Bn128> {
  let theirs = holder.curve_bn128;
  holder.curve_bn128 = null;
  const building = buildBn128(false, addKernel);
  const property = { configurable: true, enumerable: true };
  Object.defineProperty(holder, "curve_bn128", {
    ...property,
    get: () => theirs,
    set: (curve: typeof theirs) => {
      const isOurs = curve?.tm?.instance.exports.g1m_addPairs !== undefined;
      if (!isOurs) theirs = curve;
    },
  });
  try {
    return await building;
  } finally {
    Object.defineProperty(holder, "curve_bn128", { ...property, writable: true, value: theirs });
  }
}
