/**
 * Which steps a request needs now, from the facts of the chains alone. Pure: nothing that was done before is remembered,
 * so a proxy that starts from nothing, or takes the lease over, comes to the same steps.
 */
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import { HOME_CHAIN } from "../../base/store/bridge-records.ts";
import { ZERO_BYTES32, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { unpaddedAddress } from "../../../shared/protocol/host/forwarders.ts";
import { burnsOf } from "../fold/facts.ts";
import type { Arrival, BridgeFacts, Burn, Vault, VaultFacts } from "../fold/facts.ts";
import { leavingsOf } from "../fold/deposit-trace.ts";
import { burnTerms } from "./burn-terms.ts";
import type { BurnTerms, Step, Verdict, Snapshot } from "./steps.ts";
import { worthwhileDeliveries } from "./is-worthwhile.ts";

/** The refund clock, as the contract has it. */
export const TIMEOUT_SECS = 86_400;
/** Money that lies so long for a reason that may pass has its refund clock started, so that a day later it is nobody's hostage. */
export const PATIENCE_SECS = 3_600;

export function planOf(record: BridgeRecord, facts: BridgeFacts, snapshot: Snapshot): readonly Step[] {
  const worth = worthwhileDeliveries(facts, snapshot);
  const steps = [
    ...[facts.home, ...facts.before].map((vault) => stepAt(record, vault, snapshot)),
    ...burnsOf(facts)
      .filter((burn) => worth.has(burn))
      .map((burn) => deliveryOf(record, burn, callerOf(burn, facts), snapshot)),
  ];
  return steps.filter((step) => step !== undefined);
}

/**
 * Who alone may deliver it; zero: anybody. Of what our exits send alone: what a stranger burned towards an address of ours
 * is not for the exit's contract, and a call to where no contract stands would succeed and do nothing, permanently.
 */
const callerOf = (burn: Burn, { home }: BridgeFacts): Bytes32 =>
  home.contract?.kind === "out" && home.burns.includes(burn) ? home.contract.terms.exit.caller : ZERO_BYTES32;

/** A message is carried and never believed: what it brings is measured where it arrives. */
function deliveryOf({ id }: BridgeRecord, burn: Burn, caller: Bytes32, snapshot: Snapshot): Step | undefined {
  const { delivery, to: chain } = burn;
  if (delivery !== undefined || chain === undefined) return undefined;
  if (!snapshot.isServed(chain) || snapshot.tipOf(chain) === undefined) return undefined;
  const { status, message, attestation } = snapshot.attestationOf(burn) ?? {};
  if (status !== "complete" || message === undefined || attestation === undefined) return undefined;
  const relay = unpaddedAddress(caller);
  if (caller !== ZERO_BYTES32 && relay === undefined) return undefined;
  const key = `message ${burn.id}`;
  if (snapshot.isHeld(key, chain)) return undefined;
  return { kind: "deliver", bridgeId: id, chain, key, message, attestation, relay };
}

/** Whether what lies there may go on, as those say who have a say in it. */
export function verdictAt(record: BridgeRecord, facts: VaultFacts, snapshot: Snapshot): Verdict {
  if (record.way.direction === "out") return snapshot.exitOf(record);
  if (record.screening?.isRefused === true) return "refused";
  return snapshot.screeningOf(facts.chain, lyingArrivals(facts));
}

/** How it would be burned now; undefined where no way fits under the ceiling. */
export function burnAt(vault: VaultFacts, snapshot: Snapshot): BurnTerms | "asking" | undefined {
  const { chain, lane, balance } = vault;
  if (lane === undefined) return undefined;
  const taken = snapshot.leastFeeOf(chain, lane.messenger, balance);
  return burnTerms(balance, lane.feeCeiling, feesAt(vault, snapshot), taken);
}

/** The attester's, of burns there; undefined where nobody tells. */
export function feesAt({ chain, lane }: VaultFacts, snapshot: Snapshot): ReturnType<Snapshot["feesOf"]> {
  const from = snapshot.domainOf(chain);
  return from === undefined || lane === undefined ? undefined : snapshot.feesOf(from, lane.domain);
}

export const lastArrivalAt = (vault: VaultFacts): number | undefined => lyingArrivals(vault).at(-1)?.place.at;

/** Of what has left since nobody asks any more. */
function lyingArrivals(vault: VaultFacts): readonly Arrival[] {
  const left = leavingsOf(vault);
  return vault.arrivals.filter((arrival) => !left.has(arrival));
}

/** Of the balance what is counted on: what the pool itself has paid out need not be final. */
export const countedAt = ({ contract, balance, finalBalance }: VaultFacts): bigint =>
  contract?.kind === "out" ? balance : finalBalance;

/** On its way where it may go; else towards the refund, which needs nobody's consent. */
function stepAt(record: BridgeRecord, vault: VaultFacts, snapshot: Snapshot): Step | undefined {
  const { contract, minimum, chain, clock } = vault;
  const tip = snapshot.tipOf(chain);
  const counted = countedAt(vault);
  // Whoever sends us a grain of dust must not make us pay for a transaction.
  if (contract === undefined || tip === undefined || counted === 0n || counted < minimum) return undefined;
  const of = { bridgeId: record.id, chain, key: `${chain} ${vault.address}` };
  const verdict = verdictAt(record, vault, snapshot);
  const onward = onwardFrom(contract, vault, record, snapshot);
  if (verdict === "open" && onward !== undefined && !snapshot.isHeld(of.key, chain))
    return { ...of, ...onward };
  const key = `${of.key} clock`;
  const lastAt = lastArrivalAt(vault) ?? tip.timestamp;
  const isLeft = verdict === "refused" || tip.timestamp - lastAt >= PATIENCE_SECS;
  if (!isLeft || snapshot.isHeld(key, chain)) return undefined;
  if (clock?.hasMinimum !== true) return { ...of, key, kind: "touch", vault: contract };
  return clock.at + TIMEOUT_SECS <= tip.timestamp
    ? { ...of, key, kind: "refund", vault: contract }
    : undefined;
}

/** Undefined where it cannot go on now. */
function onwardFrom(contract: Vault, vault: VaultFacts, { owner }: BridgeRecord, snapshot: Snapshot) {
  if (contract.kind === "in") {
    if (isSkipped(vault, snapshot)) return undefined;
    const { terms } = contract;
    return { kind: "sweep", terms, amount: vault.finalBalance, developerId: owner.developerId } as const;
  }
  const burn = burnAt(vault, snapshot);
  if (typeof burn !== "object") return undefined;
  return contract.kind === "out"
    ? ({ kind: "flush", terms: contract.terms, burn } as const)
    : ({ kind: "forward", terms: contract.terms, lane: contract.lane, burn } as const);
}

/**
 * Whether the contract has left it out and the pause for that is not over: 1, 2, 4 … blocks, as each try costs gas. What
 * was skipped before the last sweep, or before more came, says nothing of what lies there now.
 */
function isSkipped({ skips, leavings, arrivals }: VaultFacts, snapshot: Snapshot): boolean {
  const swept = leavings.findLast(({ what }) => what === "sweep");
  const since = Math.max(swept?.place.block ?? 0, arrivals.at(-1)?.place.block ?? 0);
  const live = skips.filter(({ place }) => place.block >= since);
  const last = live.at(-1);
  const tip = snapshot.tipOf(HOME_CHAIN);
  if (last === undefined || tip === undefined) return false;
  return tip.number < last.place.block + Math.min(2 ** live.length, MOST_BLOCKS);
}
const MOST_BLOCKS = 1_024;
