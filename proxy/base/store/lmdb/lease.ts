/**
 * A lease in LMDB, where one process does each work: whoever opens it last has the lease at once, and a second process
 * for the same work can then no longer write what the first does not know of.
 */
import { retrying, type Engine } from "../engine.ts";
import { FENCE, REPORT, type Fence, type Lease, type LeaseName } from "../lease.ts";

const HOLDER = "holder";

export function openLmdbLease(engine: Engine, name: LeaseName): Lease {
  let hasTaken = false;

  const raise = (holder: string): Promise<Fence> =>
    retrying(engine, async () => {
      const [found] = await engine.get(name, [FENCE]);
      const fence = Number(found ?? 0) + 1;
      const step = {
        checks: [["is", name, FENCE, found]],
        writes: [
          ["put", name, FENCE, String(fence)],
          ["put", name, HOLDER, holder],
          // What another said of itself.
          ["drop", name, REPORT],
        ],
        thoughFull: true,
      } as const;
      return { step, result: fence };
    });

  return {
    isShared: false,
    // Who asks for that writes in the process that has the file, where nothing is ever on its way.
    async take(holder) {
      const [known, fence] = await engine.get(name, [HOLDER, FENCE]);
      if (known === holder) return Number(fence);
      if (hasTaken) return undefined;
      const raised = await raise(holder);
      hasTaken = true;
      return raised;
    },
    giveBack: () => Promise.resolve(),
    async report() {
      const [text] = await engine.get(name, [REPORT]);
      return text ?? "";
    },
  };
}
