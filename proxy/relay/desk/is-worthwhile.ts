/** Which messages are worth their delivery. */
import { worthwhile } from "../../../shared/protocol/host/worthwhile.ts";
import { burnsOf, vaultsOf, type BridgeFacts, type Burn } from "../fold/facts.ts";
import type { Snapshot } from "./steps.ts";

/**
 * Of the attested ones of strangers. What our own addresses sent has been through a minimum there, by the contract, and
 * always is.
 */
export function worthwhileDeliveries(
  facts: BridgeFacts,
  snapshot: Pick<Snapshot, "attestationOf">,
): ReadonlySet<Burn> {
  const ours = vaultsOf(facts).filter(({ contract }) => contract !== undefined);
  const own = new Set<Burn>(ours.flatMap(({ burns }) => burns));
  const strange = burnsOf(facts)
    .filter((burn) => !own.has(burn) && burn.delivery === undefined)
    .filter((burn) => snapshot.attestationOf(burn)?.status === "complete");
  const { minimum, balance } = facts.home;
  return new Set([...own, ...worthwhile(strange, minimum, balance)]);
}

const ATTESTED = { status: "complete", message: undefined, attestation: undefined } as const;

/** Those that will be worth it once they are attested. Of others the attester is not asked: ten thousand grains would be as many questions a minute. */
export const worthAsking = (facts: BridgeFacts): ReadonlySet<Burn> =>
  worthwhileDeliveries(facts, { attestationOf: () => ATTESTED });
