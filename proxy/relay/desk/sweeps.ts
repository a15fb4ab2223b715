/** Which sweeps go into one call: of one pool and asset, as many as gas, calldata and the pool's notes of a credit allow. */
import type { Errand } from "../../base/chain/errands.ts";
import { sweepCall, type CalledContracts } from "./calls.ts";
import type { StepOf } from "./steps.ts";
import { withFeeNotes, type FeesInForce, type SweepFeeParts, type SweepWithFees } from "./sweep-fees.ts";

/** Within EIP-7825 and some 100 KiB of calldata: a sweep is under 240,000 gas and 1.2 KB. */
const MOST_SWEEPS = 50;
/** Of one credit at the pool. */
const MOST_NOTES = 64;

export interface SweepParts extends SweepFeeParts {
  readonly contracts: Pick<CalledContracts, "forwarders">;
  readonly feesOf: (step: StepOf<"sweep">) => Promise<FeesInForce>;
}

/** The first of these, and what may go with it. Undefined when there is none. */
export async function nextSweep(
  steps: readonly StepOf<"sweep">[],
  parts: SweepParts,
): Promise<{ readonly errand: Errand; readonly steps: readonly StepOf<"sweep">[] } | undefined> {
  const [first] = steps;
  if (first === undefined) return undefined;
  const chosen: SweepWithFees[] = [];
  const sinks = new Set<string>();
  for (const step of steps) {
    const { pool, asset } = step.terms;
    if (pool !== first.terms.pool || asset !== first.terms.asset) continue;
    const inForce = await parts.feesOf(step);
    const more = [inForce.service, inForce.developer].flatMap((terms) =>
      terms === undefined ? [] : [terms.sink],
    );
    const all = new Set([...sinks, ...more]);
    if (chosen.length >= MOST_SWEEPS || chosen.length + 1 + all.size > MOST_NOTES) break;
    for (const sink of more) sinks.add(sink);
    chosen.push({ step, inForce });
  }
  const { sweeps, collectors } = withFeeNotes(chosen, parts);
  return { errand: sweepCall(parts.contracts, sweeps, collectors), steps: chosen.map(({ step }) => step) };
}
