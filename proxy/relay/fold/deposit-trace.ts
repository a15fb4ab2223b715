/**
 * Follows each deposit from place to place: a forwarder is emptied as a whole, so everything that came before it was
 * emptied went on together; a deposit account loses what was signed for, the oldest first; and what a message brought
 * continues what had sent it.
 */
import type { BridgeState } from "../../../shared/api/bridge-status.ts";
import type { Entry, Facts, Leaving, Message, Place, Position, ProgressTransaction } from "../requests.ts";

/** A deposit, and where it stands. */
export interface DepositTrace {
  readonly state: BridgeState;
  readonly amount: bigint | undefined;
  /** Where it came in, and when (Unix seconds). */
  readonly chain: string;
  readonly since: number | undefined;
  readonly transactions: readonly ProgressTransaction[];
  readonly leafIndex: number | undefined;
  /** Where it lies now, if it lies anywhere. */
  readonly at: { readonly place: Place; readonly entry: Entry } | undefined;
  /** What it is in now, if it is under way between chains. */
  readonly inside: Message | undefined;
}

type End = Pick<DepositTrace, "state" | "leafIndex" | "at" | "inside"> & {
  readonly transactions: readonly ProgressTransaction[];
};

export function isOver(state: BridgeState): boolean {
  return state === "completed" || state === "refunded" || state === "failed";
}

/** Oldest first. */
export function traceDeposits(facts: Facts, direction: "in" | "out"): readonly DepositTrace[] {
  const messages = new Map(facts.messages.map((message) => [message.id, message]));
  /** Messages that a place of this request has sent. */
  const own = new Set(facts.places.flatMap(({ leavings }) => leavings.map(({ message }) => message)));

  const flows = facts.places.flatMap((place) =>
    place.entries
      .filter(({ message }) => message === undefined || !own.has(message))
      .map((entry): DepositTrace => {
        const brought = entry.message === undefined ? undefined : messages.get(entry.message);
        const end = endOf(place, entry);
        const burn: ProgressTransaction[] =
          brought?.sentBy === undefined ? [] : [{ chain: brought.from, hash: brought.sentBy, what: "burn" }];
        const what = entry.message === undefined ? "deposit" : "delivery";
        return {
          ...end,
          amount: entry.amount,
          chain: brought?.from ?? place.chain,
          since: brought?.sentAt ?? entry.time,
          transactions: [...burn, { chain: place.chain, hash: entry.hash, what }, ...end.transactions],
        };
      }),
  );
  // Told of by the attester and not here yet: nobody believes how much it is.
  const announced = facts.messages
    .filter(({ id, to }) => !own.has(id) && !hasArrivedAt(facts.places, to, id))
    .map((message): DepositTrace => ({
      ...{ state: "bridging", amount: undefined, chain: message.from, since: message.sentAt },
      ...{ leafIndex: undefined, at: undefined, inside: message },
      transactions:
        message.sentBy === undefined ? [] : [{ chain: message.from, hash: message.sentBy, what: "burn" }],
    }));
  return [...flows, ...announced].sort((one, other) => (one.since ?? 0) - (other.since ?? 0));

  function endOf(place: Place, entry: Entry): End {
    const leaving = leavingAfter(place, entry);
    if (leaving === undefined) {
      const state = standing(facts, direction, place, entry);
      return { state, leafIndex: undefined, at: { place, entry }, inside: undefined, transactions: [] };
    }
    const { what, hash, leafIndex } = leaving;
    const isFinal = leaving.confirmations >= place.confirmations;
    const step: ProgressTransaction = { chain: place.chain, hash, what };
    const here = { leafIndex, at: undefined, inside: undefined, transactions: [step] };
    switch (what) {
      case "sweep":
        return { ...here, state: isFinal ? "completed" : "shielding" };
      case "refund":
      case "return":
        return { ...here, state: isFinal ? "refunded" : "refunding" };
      case "burn":
      case "flush": {
        const after = afterMessage(leaving.message === undefined ? undefined : messages.get(leaving.message));
        return { ...after, transactions: [step, ...after.transactions] };
      }
    }
  }

  function afterMessage(message: Message | undefined): End {
    const onTheWay: End = {
      ...{ state: "bridging", leafIndex: undefined, at: undefined, inside: message },
      transactions: [],
    };
    if (message === undefined) return onTheWay;
    for (const place of facts.places) {
      const entry = place.entries.find((one) => one.message === message.id);
      if (entry === undefined) continue;
      const end = endOf(place, entry);
      const delivery: ProgressTransaction = { chain: place.chain, hash: entry.hash, what: "delivery" };
      return { ...end, transactions: [delivery, ...end.transactions] };
    }
    return facts.places.some(({ chain }) => chain === message.to) ? onTheWay : endAbroad(message, onTheWay);
  }
}

/** Of a message to a chain where this request has no place. */
function endAbroad({ arrival, credit, failure, to }: Message, onTheWay: End): End {
  if (arrival === undefined) return onTheWay;
  const delivery: ProgressTransaction = { chain: to, hash: arrival.hash, what: "delivery" };
  const delivered = { ...onTheWay, transactions: [delivery] };
  if (credit === undefined) return { ...delivered, state: "completed", inside: undefined };
  if (credit !== "awaited") {
    const credited: ProgressTransaction = { chain: to, hash: credit.hash, what: "credit" };
    // The exchange's chain credits in the delivery itself; its hash is not said twice.
    const steps = credit.hash === arrival.hash ? [credited] : [delivery, credited];
    return { ...delivered, state: "completed", inside: undefined, transactions: steps };
  }
  return failure === undefined ? delivered : { ...delivered, state: "failed" };
}

/** A message that has sent its money to one of our places is the money there. */
function hasArrivedAt(places: readonly Place[], to: string, id: string): boolean {
  return places.some(({ chain, entries }) => chain === to && entries.some(({ message }) => message === id));
}

function leavingAfter(place: Place, entry: Entry): Leaving | undefined {
  const leavings = [...place.leavings].sort((one, other) =>
    isBefore(one.position, other.position) ? -1 : 1,
  );
  return place.role === "deposit"
    ? leavingOfAmount(place, leavings, entry)
    : leavings.find((leaving) => isBefore(entry.position, leaving.position));
}

/** A burn that was signed before more came does not take that along: it would be said to be gone, and lie there unsigned for. */
function leavingOfAmount(
  { entries }: Place,
  leavings: readonly Leaving[],
  entry: Entry,
): Leaving | undefined {
  const older = entries.filter((other) => isBefore(other.position, entry.position));
  let missing = sumOf(older) + entry.amount;
  return leavings.find(({ amount }) => (missing -= amount) <= 0n);
}

const sumOf = (entries: readonly Entry[]): bigint => entries.reduce((all, { amount }) => all + amount, 0n);

const isBefore = (one: Position, other: Position): boolean =>
  one.block < other.block || (one.block === other.block && one.index < other.index);

/** Of money that lies at a place. */
function standing(
  { isRefused, waits }: Facts,
  direction: "in" | "out",
  place: Place,
  entry: Entry,
): BridgeState {
  if (entry.confirmations < place.confirmations) return entry.confirmations <= 1 ? "detected" : "confirming";
  if (place.balance < place.minimum) return "below_minimum";
  const code = waits[place.chain]?.code;
  if (isRefused || code === "SCREENING_REFUSED" || code === "ACCOUNT_UNKNOWN") return "refunding";
  switch (place.role) {
    case "deposit":
      return "awaiting_signature";
    case "source":
      return "bridging";
    case "home":
      return direction === "in" ? "shielding" : "bridging";
  }
}
