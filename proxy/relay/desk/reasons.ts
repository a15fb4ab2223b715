/**
 * Why a request's money waits, from the same facts and answers that planning has: what is said here is what keeps the
 * worker from its next step, and is gone with it.
 */
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { Wait, Waits } from "../requests.ts";
import { burnsOf, vaultsOf, type BridgeFacts, type Burn, type VaultFacts } from "../fold/facts.ts";
import { FAST, SAFE } from "./burn-terms.ts";
import { gasOf } from "./calls.ts";
import { burnAt, countedAt, feesAt, lastArrivalAt, PATIENCE_SECS, TIMEOUT_SECS, verdictAt } from "./plan.ts";
import { wordsOf, type Said } from "./reason-words.ts";
import type { Verdict, Snapshot } from "./steps.ts";
import { worthAsking, worthwhileDeliveries } from "./is-worthwhile.ts";

/** What the chains of these bridges take at most until a block is final, about. */
const SLOW_SECS = 1_800;

export function waitsOf(record: BridgeRecord, facts: BridgeFacts, snapshot: Snapshot): Waits {
  const vaults = vaultsOf(facts);
  const asked = worthAsking(facts);
  const worth = worthwhileDeliveries(facts, snapshot);
  const own = new Set(vaults.flatMap(({ burns }) => burns));
  const waits = [
    ...vaults.map((vault) => [vault.chain, atVault(record, vault, snapshot)] as const),
    ...burnsOf(facts)
      .filter(({ delivery }) => delivery === undefined)
      .map((burn) => {
        const wait = asked.has(burn)
          ? inMessage(burn, own.has(burn), worth.has(burn), snapshot)
          : wordsOf("DELIVERY_BELOW_MINIMUM");
        return [burn.id, wait] as const;
      }),
  ];
  return Object.fromEntries(waits.filter((one): one is [string, Wait] => one[1] !== undefined));
}

/** At an address, on its way to where it goes. */
function atVault(record: BridgeRecord, vault: VaultFacts, snapshot: Snapshot): Wait | undefined {
  const { chain, balance, contract, lane, minimum } = vault;
  if (balance === 0n) return undefined;
  if (snapshot.tipOf(chain) === undefined) return wordsOf("CHAIN_UNAVAILABLE");
  // On the other blockchain, under the user's own key.
  if (contract === undefined) return balance < minimum ? undefined : wordsOf("SIGNATURE_AWAITED");
  // Below the minimum, or not yet final, nothing is wanted.
  if (countedAt(vault) < minimum) return undefined;
  const stopped = stoppedBy(verdictAt(record, vault, snapshot), contract.kind === "out");
  if (stopped !== undefined) return { ...wordsOf(stopped), ...clockOf(vault) };
  const burn = burnAt(vault, snapshot);
  if (burn === "asking") return undefined;
  if (lane !== undefined && burn === undefined) return { ...wordsOf("FEE_ABOVE_CEILING"), ...clockOf(vault) };
  const fees = feesAt(vault, snapshot);
  const gas = gasOf(lane === undefined ? "sweep" : "flush");
  const undone = undoneStep(chain, gas, `${chain} ${vault.address}`, snapshot);
  // Only where there is a fast way is the slow one the ceiling's doing.
  const isSlow = burn?.finality === SAFE && typeof fees === "object" && fees.has(FAST);
  return undone ?? (isSlow ? wordsOf("SLOW_WAY") : undefined);
}

function inMessage(burn: Burn, isOwn: boolean, isWorth: boolean, snapshot: Snapshot): Wait | undefined {
  switch (snapshot.attestationOf(burn)?.status) {
    case "complete":
      break;
    case "expired":
      return wordsOf(snapshot.isAttesterAway() ? "ATTESTER_UNAVAILABLE" : "ATTESTATION_EXPIRED");
    case "pending":
    case undefined:
      if (snapshot.isAttesterAway()) return wordsOf("ATTESTER_UNAVAILABLE");
      // Of what others burned, how they asked for it is their own matter.
      if (!isOwn || burn.minFinality <= FAST) return wordsOf("ATTESTATION_PENDING");
      return { ...wordsOf("SLOW_WAY"), by: burn.place.at + SLOW_SECS };
  }
  const { to } = burn;
  if (!isWorth) return wordsOf("DELIVERY_BELOW_MINIMUM");
  if (to === undefined || !snapshot.isServed(to) || snapshot.tipOf(to) === undefined)
    return wordsOf("CHAIN_UNAVAILABLE");
  return undoneStep(to, gasOf("deliver"), `message ${burn.id}`, snapshot);
}

function stoppedBy(verdict: Verdict, isVenue: boolean): Said | undefined {
  switch (verdict) {
    case "refused":
      return isVenue ? "ACCOUNT_UNKNOWN" : "SCREENING_REFUSED";
    case "unknown":
      return isVenue ? "VENUE_UNAVAILABLE" : "SCREENING_UNAVAILABLE";
    case "paused":
      return "VENUE_PAUSED";
    case "open":
    case "asking":
      return undefined;
  }
}

function undoneStep(chain: string, gas: bigint, key: string, snapshot: Snapshot): Wait | undefined {
  const left = snapshot.gasOn(chain);
  if (typeof left === "bigint" && left < gas) return wordsOf("GAS_MISSING");
  if (!snapshot.isHeld(key, chain)) return undefined;
  const why = snapshot.refusalOf(key);
  const wait = wordsOf("STEP_REFUSED");
  return why === undefined ? wait : { ...wait, detail: `${wait.detail}: ${why}` };
}

/** Money that is stopped is nobody's hostage: when its clock is started, and when it may go back. */
function clockOf(vault: VaultFacts): Pick<Wait, "next" | "by"> {
  if (vault.clock?.hasMinimum === true)
    return {
      next: "goes on when this is over; from then on anybody may send it back",
      by: vault.clock.at + TIMEOUT_SECS,
    };
  const since = lastArrivalAt(vault);
  const next = "goes on when this is over; if it still lies there then, its refund clock is started";
  return since === undefined ? { next } : { next, by: since + PATIENCE_SECS };
}
