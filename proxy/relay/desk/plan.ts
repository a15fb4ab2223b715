/**
 * Which steps a request needs now, from the facts of the chains alone. Pure: nothing that was done before is remembered,
 * so a proxy that starts from nothing, or takes the lease over, comes to the same steps.
 */
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import { HOME_CHAIN } from "../../base/store/bridge-records.ts";
import { ZERO_BYTES32, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { unpaddedAddress } from "../../../shared/protocol/host/forwarders.ts";
import type { Arrival, BridgeFacts, Burn, Place, VaultFacts } from "../fold/facts.ts";
import { burnTerms } from "./burn-terms.ts";
import type { BurnTerms, Step, Vault, Verdict, Snapshot } from "./steps.ts";
import { burnsOf, worthwhileDeliveries } from "./is-worthwhile.ts";

/** The refund clock, as the contract has it. */
export const TIMEOUT_SECS = 86_400;
/** Money that lies so long for a reason that may pass has its refund clock started, so that a day later it is nobody's hostage. */
export const PATIENCE_SECS = 3_600;

export function planOf(record: BridgeRecord, facts: BridgeFacts, snapshot: Snapshot): readonly Step[] {
  const { way } = record;
  const home =
    way.direction === "in"
      ? stepOfIn(record, way.home, facts.home, snapshot)
      : stepOfOut(record, way.home, facts.home, snapshot);
  const sources = way.kind === "from-evm" && way.source !== undefined ? way.source.terms : undefined;
  const worth = worthwhileDeliveries(record, facts, snapshot);
  const steps = [
    home,
    ...facts.sources.map((vault) => sources && stepOfSource(record, sources, vault, snapshot)),
    ...burnsOf(facts)
      .filter((burn) => worth.has(burn))
      .map((burn) => deliveryOf(record, burn, callerOf(record, burn, facts), snapshot)),
  ];
  return steps.filter((step) => step !== undefined);
}

/**
 * Who alone may deliver it; zero: anybody. Of what our exits send alone: what a stranger burned towards an address of ours
 * is not for the exit's contract, and a call to where no contract stands would succeed and do nothing, permanently.
 */
const callerOf = ({ way }: BridgeRecord, burn: Burn, { home }: BridgeFacts): Bytes32 =>
  way.direction === "out" && home.burns.includes(burn) ? way.home.exit.caller : ZERO_BYTES32;

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

/** Money at one of our addresses, and what is known of what may be done with it. */
interface Lying {
  readonly record: BridgeRecord;
  readonly vault: Vault;
  readonly facts: VaultFacts;
  /** Of the balance what is counted on. */
  readonly counted: bigint;
  readonly minimum: bigint;
}

function stepOfIn(
  record: BridgeRecord,
  terms: Extract<Vault, { kind: "in" }>["terms"],
  facts: VaultFacts,
  snapshot: Snapshot,
): Step | undefined {
  const vault: Vault = { kind: "in", terms };
  const lying: Lying = { record, vault, facts, counted: facts.finalBalance, minimum: terms.minimum };
  const verdict = verdictAt(record, facts, snapshot);
  return stepAt(lying, snapshot, isSkipped(facts, snapshot) ? "unknown" : verdict, (of) => ({
    ...of,
    ...{ kind: "sweep", terms, amount: facts.finalBalance, developerId: record.owner.developerId },
  }));
}

function stepOfSource(
  record: BridgeRecord,
  terms: Extract<Vault, { kind: "source" }>["terms"],
  facts: VaultFacts,
  snapshot: Snapshot,
): Step | undefined {
  const chainId = snapshot.chainIdOf(facts.chain);
  const lane = terms.lanes.findIndex((one) => one.chainId === chainId);
  const ofLane = terms.lanes[lane];
  if (ofLane === undefined) return undefined;
  const vault: Vault = { kind: "source", terms, lane };
  const { minimum } = ofLane;
  const lying: Lying = { record, vault, facts, counted: facts.finalBalance, minimum };
  const burn = burnAt(record, facts, snapshot);
  const verdict = verdictAt(record, facts, snapshot);
  return stepAt(lying, snapshot, worse(verdict, burn), (of) => ({
    ...of,
    ...{ kind: "forward", terms, lane, burn: burn! },
  }));
}

function stepOfOut(
  record: BridgeRecord,
  terms: Extract<Vault, { kind: "out" }>["terms"],
  facts: VaultFacts,
  snapshot: Snapshot,
): Step | undefined {
  const { minimum } = terms;
  const lying: Lying = { record, vault: { kind: "out", terms }, facts, counted: facts.balance, minimum };
  const burn = burnAt(record, facts, snapshot);
  return stepAt(lying, snapshot, worse(verdictAt(record, facts, snapshot), burn), (of) => ({
    ...of,
    ...{ kind: "flush", terms, burn: burn! },
  }));
}

/** Whether what lies there may go on, as those say who have a say in it. */
export function verdictAt(record: BridgeRecord, facts: VaultFacts, snapshot: Snapshot): Verdict {
  if (record.way.direction === "out") return snapshot.exitOf(record);
  if (record.screening?.isRefused === true) return "refused";
  return snapshot.screeningOf(facts.chain, lyingArrivals(facts));
}

/** How it would be burned now; undefined where no way fits under the ceiling, or fees are being asked for. */
export function burnAt({ way }: BridgeRecord, facts: VaultFacts, snapshot: Snapshot): BurnTerms | undefined {
  const lane = laneAt(way, facts.chain, snapshot);
  if (lane === undefined) return undefined;
  return burnTerms(facts.balance, lane.feeCeiling, feesAt(way, facts.chain, snapshot));
}

/** The attester's, of burns there; undefined where nobody tells. */
export function feesAt(
  way: BridgeRecord["way"],
  chain: string,
  snapshot: Snapshot,
): ReturnType<Snapshot["feesOf"]> {
  const from = snapshot.domainOf(chain);
  const lane = laneAt(way, chain, snapshot);
  if (from === undefined || lane === undefined) return undefined;
  return snapshot.feesOf(from, lane.domain);
}

/** What bounds a burn there; undefined where nothing is burned. */
export function laneAt(way: BridgeRecord["way"], chain: string, snapshot: Snapshot) {
  if (way.direction === "out") {
    const { minimum, feeCeiling, exit } = way.home;
    return { minimum, feeCeiling, domain: exit.domain };
  }
  const lanes = way.kind === "from-evm" ? way.source?.terms.lanes : undefined;
  return chain === HOME_CHAIN
    ? undefined
    : lanes?.find(({ chainId }) => chainId === snapshot.chainIdOf(chain));
}

export const lastArrivalAt = (facts: VaultFacts): number | undefined => lyingArrivals(facts).at(-1)?.place.at;

/** Of what has left since nobody asks any more. */
function lyingArrivals({
  arrivals,
  sweeps,
  departures,
  refunds,
  returns,
  token,
}: VaultFacts): readonly Arrival[] {
  const own = refunds.filter((refund) => refund.token === token);
  const left = [...sweeps, ...departures, ...own, ...returns].map(({ place }) => place);
  return arrivals.filter(({ place }) => left.every((one) => isBefore(one, place)));
}

function isBefore(one: Place, other: Place): boolean {
  return one.block === other.block ? one.logIndex < other.logIndex : one.block < other.block;
}

const worse = (verdict: Verdict, burn: unknown): Verdict =>
  verdict === "open" && burn === undefined ? "unknown" : verdict;

/** On its way where it may go; else towards the refund, which needs nobody's consent. */
function stepAt(
  { record, vault, facts, counted, minimum }: Lying,
  snapshot: Snapshot,
  verdict: Verdict,
  onward: (of: { bridgeId: string; chain: string; key: string }) => Step,
): Step | undefined {
  const tip = snapshot.tipOf(facts.chain);
  // Whoever sends us a grain of dust must not make us pay for a transaction.
  if (tip === undefined || counted === 0n || counted < minimum) return undefined;
  const of = { bridgeId: record.id, chain: facts.chain, key: `${facts.chain} ${facts.address}` };
  if (verdict === "open" && !snapshot.isHeld(of.key, of.chain)) return onward(of);
  const key = `${of.key} clock`;
  const lastAt = lastArrivalAt(facts) ?? tip.timestamp;
  const isLeft = verdict === "refused" || tip.timestamp - lastAt >= PATIENCE_SECS;
  if (!isLeft || snapshot.isHeld(key, of.chain)) return undefined;
  if (facts.clock?.hasMinimum !== true) return { ...of, key, kind: "touch", vault };
  return facts.clock.at + TIMEOUT_SECS <= tip.timestamp ? { ...of, key, kind: "refund", vault } : undefined;
}

/**
 * Whether the contract has left it out and the pause for that is not over: 1, 2, 4 … blocks, as each try costs gas. What
 * was skipped before the last sweep, or before more came, says nothing of what lies there now.
 */
function isSkipped({ skips, sweeps, arrivals }: VaultFacts, snapshot: Snapshot): boolean {
  const since = Math.max(sweeps.at(-1)?.place.block ?? 0, arrivals.at(-1)?.place.block ?? 0);
  const live = skips.filter(({ place }) => place.block >= since);
  const last = live.at(-1);
  const tip = snapshot.tipOf(HOME_CHAIN);
  if (last === undefined || tip === undefined) return false;
  return tip.number < last.place.block + Math.min(2 ** live.length, MOST_BLOCKS);
}
const MOST_BLOCKS = 1_024;
