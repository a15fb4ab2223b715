/**
 * Which steps a request needs now, from the facts of the chains alone. Pure: nothing that was done before is remembered,
 * so a proxy that starts from nothing, or takes the lease over, comes to the same steps.
 */
import type { BridgeRecord } from "../../store/bridge-records.ts";
import { HOME_CHAIN } from "../../store/bridge-records.ts";
import { ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { PROTOCOLS, unpaddedAddress } from "../../../shared/protocol/host/forwarders.ts";
import type { Arrival, BridgeFacts, Burn, Place, VaultFacts } from "../watch/facts.ts";
import { burnTerms } from "./burn-terms.ts";
import type { Step, Vault, Verdict, View } from "./steps.ts";

/** The refund clock, as the contract has it. */
export const TIMEOUT_SECS = 86_400;
/** Money that lies so long for a reason that may pass has its refund clock started, so that a day later it is nobody's hostage. */
export const PATIENCE_SECS = 3_600;

export function planOf(record: BridgeRecord, facts: BridgeFacts, view: View): readonly Step[] {
  const { way } = record;
  const home =
    way.direction === "in"
      ? stepOfIn(record, way.home, facts.home, view)
      : stepOfOut(record, way.home, facts.home, view);
  const sources = way.kind === "from-evm" && way.source !== undefined ? way.source.terms : undefined;
  const steps = [
    home,
    ...facts.sources.map((vault) => sources && stepOfSource(record, sources, vault, view)),
    ...burnsOf(facts).map((burn) => deliveryOf(record, burn, view)),
  ];
  return steps.filter((step) => step !== undefined);
}

/** Its own, and those of others that are minted to its home address. */
function burnsOf({ home, sources, alt, incoming }: BridgeFacts): readonly Burn[] {
  return [
    ...[home, ...sources, ...(alt === undefined ? [] : [alt])].flatMap(({ burns }) => burns),
    ...incoming,
  ];
}

/** A message is carried and never believed: what it brings is measured where it arrives. */
function deliveryOf({ id, way }: BridgeRecord, burn: Burn, view: View): Step | undefined {
  const { protocol, delivery, to: chain } = burn;
  if (protocol !== 0 || delivery !== undefined || chain === undefined) return undefined;
  if (!view.isServed(chain) || view.tipOf(chain) === undefined) return undefined;
  const { status, message, attestation } = view.attestationOf(burn) ?? {};
  if (status !== "complete" || message === undefined || attestation === undefined) return undefined;
  // Of the exits alone: on the way in nobody is named.
  const caller = way.direction === "out" ? way.home.exit.caller : ZERO_BYTES32;
  const relay = unpaddedAddress(caller);
  if (caller !== ZERO_BYTES32 && relay === undefined) return undefined;
  const key = `message ${burn.id}`;
  if (view.isHeld(key, chain)) return undefined;
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
  view: View,
): Step | undefined {
  const vault: Vault = { kind: "in", terms };
  const lying: Lying = { record, vault, facts, counted: facts.finalBalance, minimum: terms.minimum };
  const verdict = record.screening?.isRefused === true ? "refused" : screened(lying, view);
  return stepAt(lying, view, isSkipped(facts, view) ? "unknown" : verdict, (of) => ({
    ...of,
    ...{ kind: "sweep", terms, amount: facts.finalBalance, developerId: record.owner.developerId },
  }));
}

function stepOfSource(
  record: BridgeRecord,
  terms: Extract<Vault, { kind: "source" }>["terms"],
  facts: VaultFacts,
  view: View,
): Step | undefined {
  const chainId = view.chainIdOf(facts.chain);
  const lane = terms.lanes.findIndex((one) => one.chainId === chainId);
  const ofLane = terms.lanes[lane];
  if (ofLane === undefined) return undefined;
  const { protocol, minimum, feeCeiling, domain } = ofLane;
  const vault: Vault = { kind: "source", terms, lane };
  const lying: Lying = { record, vault, facts, counted: facts.finalBalance, minimum };
  const from = view.domainOf(facts.chain);
  const table = from === undefined ? undefined : view.feesOf(from, domain);
  const burn = burnTerms(protocol, facts.balance, feeCeiling, table);
  const verdict = record.screening?.isRefused === true ? "refused" : screened(lying, view);
  return stepAt(lying, view, worse(verdict, burn), (of) => ({
    ...of,
    ...{ kind: "forward", terms, lane, burn: burn! },
  }));
}

function stepOfOut(
  record: BridgeRecord,
  terms: Extract<Vault, { kind: "out" }>["terms"],
  facts: VaultFacts,
  view: View,
): Step | undefined {
  const { exit, minimum, feeCeiling } = terms;
  const lying: Lying = { record, vault: { kind: "out", terms }, facts, counted: facts.balance, minimum };
  // A warp route numbers the chains in its own way, and asks the attester for nothing.
  const from = exit.protocol === PROTOCOLS.cctp ? view.domainOf(HOME_CHAIN) : undefined;
  const table = from === undefined ? undefined : view.feesOf(from, exit.domain);
  const burn = burnTerms(exit.protocol, facts.balance, feeCeiling, table);
  return stepAt(lying, view, worse(view.exitOf(record), burn), (of) => ({
    ...of,
    ...{ kind: "flush", terms, burn: burn! },
  }));
}

function screened({ facts }: Lying, view: View): Verdict {
  return view.screeningOf(facts.chain, lyingArrivals(facts));
}

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
  view: View,
  verdict: Verdict,
  onward: (of: { bridgeId: string; chain: string; key: string }) => Step,
): Step | undefined {
  const tip = view.tipOf(facts.chain);
  // Whoever sends us a grain of dust must not make us pay for a transaction.
  if (tip === undefined || counted === 0n || counted < minimum) return undefined;
  const of = { bridgeId: record.id, chain: facts.chain, key: `${facts.chain} ${facts.address}` };
  if (verdict === "open" && !view.isHeld(of.key, of.chain)) return onward(of);
  const key = `${of.key} clock`;
  const lastAt = lyingArrivals(facts).at(-1)?.place.at ?? tip.timestamp;
  const isLeft = verdict === "refused" || tip.timestamp - lastAt >= PATIENCE_SECS;
  if (!isLeft || view.isHeld(key, of.chain)) return undefined;
  if (facts.clock?.hasMinimum !== true) return { ...of, key, kind: "touch", vault };
  return facts.clock.at + TIMEOUT_SECS <= tip.timestamp ? { ...of, key, kind: "refund", vault } : undefined;
}

/**
 * Whether the contract has left it out and the pause for that is not over: 1, 2, 4 … blocks, as each try costs gas. What
 * was skipped before the last sweep, or before more came, says nothing of what lies there now.
 */
function isSkipped({ skips, sweeps, arrivals }: VaultFacts, view: View): boolean {
  const since = Math.max(sweeps.at(-1)?.place.block ?? 0, arrivals.at(-1)?.place.block ?? 0);
  const live = skips.filter(({ place }) => place.block >= since);
  const last = live.at(-1);
  const tip = view.tipOf(HOME_CHAIN);
  if (last === undefined || tip === undefined) return false;
  return tip.number < last.place.block + Math.min(2 ** live.length, MOST_BLOCKS);
}
const MOST_BLOCKS = 1_024;
