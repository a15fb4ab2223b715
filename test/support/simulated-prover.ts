/** Lets wallets of the client library prove by simulation, on a stack that was started with the keys of scripts/lab/bench/trapdoor/keys.ts. */
import type { Prover } from "../../shared/client/index.ts";
import { toSnarkjsProof } from "../../shared/protocol/host/proofs.ts";
import type { Simulator } from "../../scripts/lab/bench/trapdoor/simulator.ts";

/** Looks at no witness and holds nothing, so there is nothing to prepare, to compare or to close. */
export function simulatedProver(simulator: Simulator): Prover {
  return {
    prepare: () => Promise.resolve(),
    prove: ({ kind, signals }) => Promise.resolve(toSnarkjsProof(simulator.prove(kind, signals))),
    checkInfo: () => undefined,
    close: () => Promise.resolve(),
  };
}
