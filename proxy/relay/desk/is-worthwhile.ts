/**
 * Which messages are worth their delivery. Anybody can burn a grain on another chain towards any address, as often as it
 * likes, and each delivery would be our gas. What a message says it brings is believed here and for this alone: a lie
 * could cost gas and never money, and the attesters sign what was burned.
 */
import { burnsOf, vaultsOf, type BridgeFacts, type Burn } from "../fold/facts.ts";
import type { Snapshot } from "./steps.ts";

/** So many at most are carried to make up one minimum: else a stranger could cut one minimum into a thousand deliveries. */
export const MOST_TOGETHER = 8;

/**
 * Of the attested ones: those that bring the minimum by themselves, and the fewest others that are enough together with
 * what lies there. What our own addresses sent has been through a minimum there, by the contract.
 */
export function worthwhileDeliveries(
  facts: BridgeFacts,
  snapshot: Pick<Snapshot, "attestationOf">,
): ReadonlySet<Burn> {
  const ours = vaultsOf(facts).filter(({ contract }) => contract !== undefined);
  const chosen = new Set<Burn>(ours.flatMap(({ burns }) => burns));
  const { minimum } = facts.home;
  const strange = burnsOf(facts)
    .filter((burn) => !chosen.has(burn) && burn.delivery === undefined)
    .filter((burn) => snapshot.attestationOf(burn)?.status === "complete")
    .sort((one, other) => (one.amount < other.amount ? 1 : one.amount > other.amount ? -1 : 0));
  const large = strange.filter(({ amount }) => amount >= minimum);
  for (const burn of large) chosen.add(burn);
  const few = large.length > 0 ? [] : fewest(strange, minimum - facts.home.balance);
  for (const burn of few) chosen.add(burn);
  return chosen;
}

const ATTESTED = { status: "complete", message: undefined, attestation: undefined } as const;

/** Those that will be worth it once they are attested. Of others the attester is not asked: ten thousand grains would be as many questions a minute. */
export const worthAsking = (facts: BridgeFacts): ReadonlySet<Burn> =>
  worthwhileDeliveries(facts, { attestationOf: () => ATTESTED });

/** The largest first, until nothing is missing; none at all where that would take too many. */
function fewest(largestFirst: readonly Burn[], missing: bigint): readonly Burn[] {
  let sum = 0n;
  for (const [at, { amount }] of largestFirst.slice(0, MOST_TOGETHER).entries()) {
    if (sum >= missing) return largestFirst.slice(0, at);
    sum += amount;
  }
  return sum >= missing ? largestFirst.slice(0, MOST_TOGETHER) : [];
}
