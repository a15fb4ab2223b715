/**
 * What the facts of the chains mean for a user: state, sums, what happens next and by when, and what remains without
 * anybody's help. A pure function, so that every proxy says the same of the same blocks; nothing in it comes from our
 * own record of having done something.
 */
import { MOST_DEPOSITS_SHOWN, type BridgeReason } from "../../../shared/api/bridge-status.ts";
import { withoutHelp } from "../../base/bridge/unseen-status.ts";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { Attested } from "../chains/attestations.ts";
import { COIN } from "../chains/events.ts";
import type { Progress, Remark, Trouble, Wait, Waits } from "../requests.ts";
import { arrivalsFromOutside, isOver, traceDeposits, type DepositTrace } from "./deposit-trace.ts";
import { burnsOf, vaultsOf, type BridgeFacts, type Burn, type VaultFacts } from "./facts.ts";

export interface ProgressOptions {
  /** Of the refund clock, as the forwarders' code has it. */
  readonly timeoutSecs: number;
  /** How long the way between the chains usually takes. */
  readonly bridgingSecs: number;
  /** Unix seconds. */
  readonly now: number;
}

/** What a request's progress is made of. */
export interface Seen {
  /** Undefined of a request that nobody watches. */
  readonly facts: BridgeFacts | undefined;
  readonly remark: Remark;
  readonly attestationOf: (burn: Burn) => Pick<Attested, "status"> | undefined;
  /** Until all of this was looked at once, what is missing is not known to be missing. */
  readonly isComplete: boolean;
}

export function progressFrom(record: BridgeRecord, seen: Seen, options: ProgressOptions): Progress {
  const { facts } = seen;
  const { waits = {}, sign } = seen.remark;
  const isRefused = record.screening?.isRefused ?? false;
  const flows = facts === undefined ? [] : traceDeposits(facts, { waits, isRefused });
  const shown = flows.findLast(({ state }) => !isOver(state)) ?? flows.at(-1);
  const state = shown?.state ?? "awaiting_funds";
  const refundableAt = facts && refundableAtOf(vaultsOf(facts), options.timeoutSecs);
  const usual = nextOf(record, seen, shown, options, refundableAt);
  // Of what is on its way more is said by what it waits for.
  const misplaced = isOver(state) || state === "awaiting_funds" ? misplacedIn(record, facts) : undefined;
  return {
    state,
    deposits: largest(flows, shown).map(({ state: its, amount, chain, since, transactions, leafIndex }) => ({
      ...{ state: its, amount, chain, since, transactions, leafIndex },
    })),
    ...(facts === undefined ? NOTHING : sumsOf(record, facts)),
    next: { text: waitOf(shown, waits)?.next ?? usual.text, by: waitOf(shown, waits)?.by ?? usual.by },
    withoutHelp:
      isOver(state) && misplaced === undefined ? "nothing is left to be done" : withoutHelp(record.way),
    refundableAt,
    sign: state === "awaiting_signature" ? sign : undefined,
    ...reasonOf(misplaced ?? troubleOf(shown, waits)),
  };
}

/** Anybody can send a grain to any address, and again and again. The sums count all of them. */
function largest(flows: readonly DepositTrace[], shown: DepositTrace | undefined): readonly DepositTrace[] {
  if (flows.length <= MOST_DEPOSITS_SHOWN) return flows;
  const amountOf = ({ amount, inside }: DepositTrace): bigint => amount ?? inside?.amount ?? 0n;
  const others = flows.filter((flow) => flow !== shown);
  others.sort((one, other) => (amountOf(one) < amountOf(other) ? 1 : -1));
  const kept = new Set([shown, ...others.slice(0, MOST_DEPOSITS_SHOWN - 1)]);
  return flows.filter((flow) => kept.has(flow));
}

type Sums = Pick<Progress, "received" | "credited" | "refunded">;
const NOTHING: Sums = { received: 0n, credited: 0n, refunded: 0n };

function sumsOf({ way: { direction } }: BridgeRecord, facts: BridgeFacts): Sums {
  const leavings = vaultsOf(facts).flatMap((vault) => vault.leavings);
  const left = (...kinds: readonly string[]): bigint[] =>
    leavings.filter(({ what }) => kinds.includes(what)).map(({ amount }) => amount);
  const reached = burnsOf(facts).flatMap(({ delivery }) => {
    const end = facts.isCredited ? delivery?.credit : delivery;
    return end === undefined ? [] : [end.amount];
  });
  return {
    received: sum(arrivalsFromOutside(facts).map(({ arrival }) => arrival.amount)),
    credited: sum(direction === "in" ? left("sweep") : reached),
    refunded: sum(left("refund", "return")),
  };
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, amount) => all + amount, 0n);

/** Of the first place whose money may go back: its clock has run, or will have. */
function refundableAtOf(vaults: readonly VaultFacts[], timeoutSecs: number): number | undefined {
  const times = vaults.flatMap(({ role, balance, minimum, clock }) => {
    // A grain of dust that somebody sent early must not make a whole deposit refundable at once.
    const counts = clock !== undefined && (clock.hasMinimum || balance < minimum);
    return role !== "deposit" && balance > 0n && counts ? [clock.at + timeoutSecs] : [];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** A thousandth of a coin: it costs a stranger next to nothing to send less to every address. */
const LEAST_COINS = 10n ** 15n;

/** These pass by themselves, as ever: no error. */
const USUAL: readonly BridgeReason[] = [
  "ATTESTATION_PENDING",
  "SLOW_WAY",
  "ATTESTATION_EXPIRED",
  "SIGNATURE_AWAITED",
];

/** Of a grain that a stranger sends nothing is said. */
function misplacedIn({ way }: BridgeRecord, facts: BridgeFacts | undefined): Trouble | undefined {
  const found = (facts?.misplaced ?? []).filter(
    ({ balance, token }) => balance >= (token === COIN ? LEAST_COINS : way.home.minimum),
  );
  if (found.length === 0) return undefined;
  const lie = found.map(({ balance, token, address, chain }) => {
    const of = token === COIN ? "chain's coin" : `token ${token}`;
    return `${String(balance)} units of the ${of} lie at ${address} on ${chain}`;
  });
  const whose = way.direction === "in" ? "to the refund address" : "to where its terms say";
  const coins = found.filter(({ token }) => token === COIN).length;
  // An account at the exchange need not be anybody's on the pool's chain: the contract pays coins to no one.
  const staying = way.kind === "to-exchange" ? coins : 0;
  const how = coins > staying ? ` (coins with --token <chain>=${COIN})` : "";
  const ways: string[] = [];
  if (found.length > staying) ways.push(`npm run recover with your key sends them ${whose}${how}`);
  if (staying > 0) ways.push("coins stay: an address for the exchange has no way back for them");
  return {
    code: "MONEY_MISPLACED",
    detail: `${lie.join(", ")}; they are not awaited there and not moved on: ${ways.join("; ")}`,
  };
}

function reasonOf(trouble: Trouble | undefined): Pick<Progress, "reason" | "error"> {
  if (trouble === undefined) return { reason: undefined, error: undefined };
  const reason = { code: trouble.code, detail: trouble.detail };
  return { reason, error: USUAL.includes(trouble.code) ? undefined : reason };
}

function troubleOf(shown: DepositTrace | undefined, waits: Waits): Trouble | undefined {
  if (shown?.state !== "below_minimum") return waitOf(shown, waits);
  const least = shown.at?.vault.minimum ?? 0n;
  return {
    code: "AMOUNT_TOO_SMALL",
    detail: `less than ${String(least)} is not moved on; it is refundable`,
  };
}

/** Where its money is now; undefined once it is at its end. */
function waitOf(shown: DepositTrace | undefined, waits: Waits): Wait | undefined {
  if (shown === undefined || isOver(shown.state)) return undefined;
  return waits[shown.inside?.id ?? shown.at?.vault.chain ?? ""];
}

function nextOf(
  record: BridgeRecord,
  { facts, remark, attestationOf, isComplete }: Seen,
  shown: DepositTrace | undefined,
  options: ProgressOptions,
  refundableAt: number | undefined,
): Progress["next"] {
  const { direction } = record.way;
  const { now, bridgingSecs, timeoutSecs } = options;
  const vault = shown?.at?.vault;
  const say = (text: string, by?: number): Progress["next"] => ({ text, by });
  const isWithUser = vault?.role === "deposit";
  switch (shown?.state ?? "awaiting_funds") {
    case "awaiting_funds":
      if (!isComplete) return say("the chains are being looked at");
      return say(
        direction === "in"
          ? "waits for money at the address"
          : "waits for a withdrawal from the pool to the address",
      );
    case "detected":
    case "confirming": {
      const { confirmations = 0 } = shown?.at?.arrival.place ?? {};
      const missing = Math.max(0, (vault?.confirmations ?? 0) - confirmations);
      return say(`waits for ${String(missing)} more confirmations`, now + missing * (vault?.blockSecs ?? 0));
    }
    case "awaiting_signature":
      return say(
        remark.sign === undefined
          ? "the burn to be signed is being prepared"
          : "the client signs the burn with its deposit key when it is next online",
      );
    case "below_minimum":
      return say(
        isWithUser
          ? "stays in the deposit account, which the client's key opens; more may be sent"
          : direction === "in"
            ? "waits for more; the refund address may take it back at once"
            : "waits for more; after the timeout anybody may return it to the note",
        refundableAt,
      );
    case "bridging":
      return say(bridgingWords(shown?.inside, vault, attestationOf), (shown?.since ?? now) + bridgingSecs);
    case "shielding":
      return say("is swept into the note", now + 2 * (facts?.home.blockSecs ?? 0));
    case "refunding":
      if (vault === undefined) return say("the refund waits for its confirmations");
      return say(
        refundableAt === undefined
          ? `anybody may start the refund clock; ${String(timeoutSecs / 3600)} hours later anybody may send the money back`
          : "anybody may send the money back once the time has come",
        refundableAt,
      );
    case "completed":
      return say(
        direction === "in"
          ? "nothing: the note is in the tree; more money may be sent to the address"
          : "nothing: the money has arrived; more may be sent to the address",
      );
    case "refunded":
      return say(direction === "in" ? "nothing: the money went back" : "nothing: the money is a note again");
    case "failed":
      return say("nothing");
  }
}

function bridgingWords(
  inside: Burn | undefined,
  vault: VaultFacts | undefined,
  attestationOf: Seen["attestationOf"],
): string {
  if (vault?.role === "home") return "is sent to the other side";
  if (vault !== undefined) return "is burned here and minted to the forwarder on the pool's chain";
  if (inside === undefined) return "waits for its message";
  if (inside.delivery !== undefined) return "is delivered; the account is credited next";
  switch (attestationOf(inside)?.status) {
    case "complete":
      return "is attested; anybody may deliver it";
    case "expired":
      return "the fast attestation has expired; another one is asked for";
    case "pending":
    case undefined:
      return "waits for the attesters of the bridge";
  }
}
