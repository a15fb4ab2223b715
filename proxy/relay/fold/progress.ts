/**
 * What the facts of the chains mean for a user: state, sums, what happens next and by when, and what remains without
 * anybody's help. A pure function, so that every proxy says the same of the same blocks; nothing in it comes from our
 * own record of having done something.
 */
import type { BridgeReason } from "../../../shared/api/bridge-status.ts";
import { withoutHelp } from "../../base/bridge/unseen-status.ts";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { Facts, Message, Place, Progress, Trouble, Wait } from "../requests.ts";
import { traceDeposits, isOver, type DepositTrace } from "./deposit-trace.ts";

export interface ProgressOptions {
  /** Of the refund clock, as the forwarders' code has it. */
  readonly timeoutSecs: number;
  /** How long the way between the chains usually takes. */
  readonly bridgingSecs: number;
  /** Unix seconds. */
  readonly now: number;
}

/** Of a request that nobody has looked at yet. */
export const NOTHING_SEEN: Facts = {
  ...{ places: [], messages: [], waits: {}, isRefused: false, sign: undefined, isComplete: false },
};

export function progressFrom(record: BridgeRecord, facts: Facts, options: ProgressOptions): Progress {
  const flows = traceDeposits(facts, record.way.direction);
  const shown = flows.findLast(({ state }) => !isOver(state)) ?? flows.at(-1);
  const state = shown?.state ?? "awaiting_funds";
  const refundableAt = refundableAtOf(facts.places, options.timeoutSecs);
  const usual = nextOf(record, facts, shown, options, refundableAt);
  return {
    state,
    deposits: flows.map(({ state: its, amount, chain, since, transactions, leafIndex }) => ({
      ...{ state: its, amount, chain, since, transactions, leafIndex },
    })),
    ...sumsOf(record, facts),
    next: {
      text: waitOf(shown, facts)?.next ?? usual.text,
      by: waitOf(shown, facts)?.by ?? usual.by,
    },
    withoutHelp: isOver(state) ? "nothing is left to be done" : withoutHelp(record.way),
    refundableAt,
    sign: state === "awaiting_signature" ? facts.sign : undefined,
    ...reasonOf(shown, facts),
  };
}

function sumsOf(
  { way: { direction } }: BridgeRecord,
  { places, messages }: Facts,
): Pick<Progress, "received" | "credited" | "refunded"> {
  const own = new Set(places.flatMap(({ leavings }) => leavings.map(({ message }) => message)));
  const leavings = places.flatMap((place) => place.leavings);
  const left = (...kinds: readonly string[]): bigint[] =>
    leavings.filter(({ what }) => kinds.includes(what)).map(({ amount }) => amount);
  const reached = messages.flatMap(({ arrival, credit }) => {
    if (credit === "awaited" || arrival === undefined) return [];
    return [credit === undefined ? arrival.amount : credit.amount];
  });
  return {
    received: sum(
      places.flatMap(({ entries }) =>
        entries
          .filter(({ message }) => message === undefined || !own.has(message))
          .map(({ amount }) => amount),
      ),
    ),
    credited: sum(direction === "in" ? left("sweep") : reached),
    refunded: sum(left("refund", "return")),
  };
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, amount) => all + amount, 0n);

/** Of the first place whose money may go back: its clock has run, or will have. */
function refundableAtOf(places: readonly Place[], timeoutSecs: number): number | undefined {
  const times = places.flatMap(({ role, balance, minimum, clock }) => {
    // A grain of dust that somebody sent early must not make a whole deposit refundable at once.
    const counts = clock !== undefined && (clock.hasMinimum || balance < minimum);
    return role !== "deposit" && balance > 0n && counts ? [clock.at + timeoutSecs] : [];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** These pass by themselves, as ever: no error. */
const USUAL: readonly BridgeReason[] = [
  "ATTESTATION_PENDING",
  "SLOW_WAY",
  "ATTESTATION_EXPIRED",
  "SIGNATURE_AWAITED",
];

function reasonOf(shown: DepositTrace | undefined, facts: Facts): Pick<Progress, "reason" | "error"> {
  const trouble = troubleOf(shown, facts);
  if (trouble === undefined) return { reason: undefined, error: undefined };
  const reason = { code: trouble.code, detail: trouble.detail };
  return { reason, error: USUAL.includes(trouble.code) ? undefined : reason };
}

function troubleOf(shown: DepositTrace | undefined, facts: Facts): Trouble | undefined {
  if (shown?.state === "failed") return shown.inside?.failure;
  if (shown?.state !== "below_minimum") return waitOf(shown, facts);
  const least = shown.at?.place.minimum ?? 0n;
  return {
    code: "AMOUNT_TOO_SMALL",
    detail: `less than ${String(least)} is not moved on; it is refundable`,
  };
}

/** Where its money is now; undefined once it is at its end. */
function waitOf(shown: DepositTrace | undefined, { waits }: Facts): Wait | undefined {
  if (shown === undefined || isOver(shown.state)) return undefined;
  return waits[shown.inside?.id ?? shown.at?.place.chain ?? ""];
}

function nextOf(
  record: BridgeRecord,
  facts: Facts,
  shown: DepositTrace | undefined,
  options: ProgressOptions,
  refundableAt: number | undefined,
): Progress["next"] {
  const { direction } = record.way;
  const { now, bridgingSecs, timeoutSecs } = options;
  const place = shown?.at?.place;
  const entry = shown?.at?.entry;
  const say = (text: string, by?: number): Progress["next"] => ({ text, by });
  const isWithUser = place?.role === "deposit";
  switch (shown?.state ?? "awaiting_funds") {
    case "awaiting_funds":
      if (!facts.isComplete) return say("the chains are being looked at");
      return say(
        direction === "in"
          ? "waits for money at the address"
          : "waits for a withdrawal from the pool to the address",
      );
    case "detected":
    case "confirming": {
      const missing = Math.max(0, (place?.confirmations ?? 0) - (entry?.confirmations ?? 0));
      return say(`waits for ${String(missing)} more confirmations`, now + missing * (place?.blockSecs ?? 0));
    }
    case "awaiting_signature":
      return say(
        facts.sign === undefined
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
      return say(bridgingWords(shown?.inside, place), (shown?.since ?? now) + bridgingSecs);
    case "shielding":
      return say("is swept into the note", now + 2 * (facts.places.at(-1)?.blockSecs ?? 0));
    case "refunding":
      if (place === undefined) return say("the refund waits for its confirmations");
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
      return say(shown?.inside?.failure?.detail ?? "nothing");
  }
}

function bridgingWords(inside: Message | undefined, place: Place | undefined): string {
  if (place?.role === "home") return "is sent to the other side";
  if (place !== undefined) return "is burned here and minted to the forwarder on the pool's chain";
  if (inside === undefined) return "waits for its message";
  switch (inside.state) {
    case "unattested":
      return "waits for the attesters of the bridge";
    case "expired":
      return "the fast attestation has expired; another one is asked for";
    case "attested":
      return "is attested; anybody may deliver it";
    case "delivered":
      return "is delivered; the account is credited next";
  }
}
