/**
 * The sequencer lease in LMDB, which belongs to one process: whoever opens it last has the lease at once, and a
 * second process on the same folder can then no longer write what the first does not know of.
 */
import { retrying, type Engine } from "../engine.ts";
import { FENCE, LEASE, REPORT, type Fence, type SequencerLease } from "../sequencer-lease.ts";

const HOLDER = "holder";

export function openSequencerLease(engine: Engine): SequencerLease {
  let hasTaken = false;

  const raise = (holder: string): Promise<Fence> =>
    retrying(engine, async () => {
      const [found] = await engine.get(LEASE, [FENCE]);
      const fence = Number(found ?? 0) + 1;
      const step = {
        checks: [["is", LEASE, FENCE, found]],
        writes: [
          ["put", LEASE, FENCE, String(fence)],
          ["put", LEASE, HOLDER, holder],
          // What another said of itself.
          ["drop", LEASE, REPORT],
        ],
        thoughFull: true,
      } as const;
      return { step, result: fence };
    });

  return {
    isShared: false,
    // Nothing is ever on its way here, so no fence is raised for it.
    async take(holder) {
      const [known, fence] = await engine.get(LEASE, [HOLDER, FENCE]);
      if (known === holder) return Number(fence);
      if (hasTaken) return undefined;
      const raised = await raise(holder);
      hasTaken = true;
      return raised;
    },
    giveBack: () => Promise.resolve(),
    async report() {
      const [text] = await engine.get(LEASE, [REPORT]);
      return text ?? "";
    },
  };
}
