/** The service's words: its status and its stream say what the chains, and the exchange's ledger, say. */
import type { Asked, AskedIn, AskedOut, Burned, Observations, StatusView } from "../observations.ts";
import { enteredOf } from "./exchange.ts";
import { undelivered } from "./money.ts";
import {
  actedAt,
  addressesOf,
  amountsOf,
  arrivedAt,
  broughtBy,
  ENDS,
  idsOf,
  isNobody,
  sum,
  type Say,
} from "./reading.ts";

/** What of the chains and the exchange a status is compared with. */
export type Said = Pick<Observations, "chains" | "after" | "exchange">;

/** The service says what the chains say. */
export function checkStatus(asked: Asked, seen: Said, say: Say): void {
  const { name, status } = asked;
  if (status === undefined) return;
  const should = asked.direction === "in" ? sumsOfIn(asked, seen) : sumsOfOut(asked, seen);
  for (const what of ["received", "credited", "refunded"] as const)
    if (status[what] !== should[what])
      say("STATUS_WRONG", `${name}: ${what} ${status[what]} instead of ${should[what]}`);
  const lies = should.lies > 0n;
  const waiting = asked.direction === "in" ? undelivered(asked, seen.chains).count : 0;
  if (!statesOf(should, lies, waiting).includes(status.state))
    say("STATUS_WRONG", `${name} is said to be ${status.state}; ${show(should)}`);
  const open = status.deposits.filter((state) => !ENDS.has(state) && !(lies && state === "below_minimum"));
  const isSaid = open.length === waiting && open.every((state) => state === "bridging");
  if (!isSaid) say("STATUS_WRONG", `${name} has deposits that are ${open.join(", ")}`);
}

interface Sums {
  readonly received: bigint;
  readonly credited: bigint;
  readonly refunded: bigint;
  /** At its addresses. */
  readonly lies: bigint;
}
const show = (sums: Sums): string =>
  Object.entries(sums)
    .map(([what, amount]) => `${what} ${String(amount)}`)
    .join(", ");

/** `waiting`: messages that are not worth their delivery. */
function statesOf(
  { received, credited, refunded }: Sums,
  lies: boolean,
  waiting: number,
): readonly StatusView["state"][] {
  if (lies || waiting > 0)
    return [...(lies ? (["below_minimum"] as const) : []), ...(waiting > 0 ? (["bridging"] as const) : [])];
  if (received === 0n) return ["awaiting_funds"];
  return [
    ...(credited > 0n ? (["completed"] as const) : []),
    ...(refunded > 0n ? (["refunded"] as const) : []),
  ];
}

function sumsOfIn({ home, source }: AskedIn, { chains, after }: Said): Sums {
  const far = chains[source.on];
  const own = new Set(actedAt(far, source.address, "Forwarded").map(({ tx }) => tx));
  const sent = new Set(
    far.burns.filter((burn) => own.has(burn.tx) && burn.recipient === home.address).map(({ nonce }) => nonce),
  );
  const brought = sum(broughtBy(chains.home.mints, sent, home.address));
  return {
    received: arrivedAt(far, source.address) + arrivedAt(chains.home, home.address) - brought,
    credited: sum(amountsOf(actedAt(chains.home, home.address, "Swept"))),
    refunded: sum(
      amountsOf([
        ...actedAt(chains.home, home.address, "Refunded"),
        ...actedAt(far, source.address, "Refunded"),
      ]),
    ),
    lies: (after.home.vaults.get(home.address) ?? 0n) + (after[source.on].vaults.get(source.address) ?? 0n),
  };
}

function sumsOfOut({ home, recipient, on, account }: AskedOut, seen: Said): Sums {
  const { chains, after } = seen;
  const own = new Set(actedAt(chains.home, home.address, "Flushed").map(({ tx }) => tx));
  const sent = new Set(
    chains.home.burns.filter((burn) => own.has(burn.tx)).map(({ nonce }: Burned) => nonce),
  );
  return {
    received: arrivedAt(chains.home, home.address),
    credited: sum(
      account === undefined ? broughtBy(chains[on].mints, sent, recipient) : amountsOf(enteredOf(seen, sent)),
    ),
    refunded: sum(amountsOf(actedAt(chains.home, home.address, "Returned"))),
    lies: after.home.vaults.get(home.address) ?? 0n,
  };
}

/** Its last word is the status; from an end it goes back only where blocks did, more came, or a new process began to look. */
export function checkStream(asked: Asked, { streamed, excuses, chains }: Observations, say: Say): void {
  const [id] = idsOf(asked);
  const states = streamed.filter((one) => one.id === id).map(({ state }) => state);
  const { name, status } = asked;
  if (status !== undefined && status.state !== "awaiting_funds" && states.at(-1) !== status.state)
    say(
      "STREAM_DIFFERS",
      `${name}: the stream ends with ${String(states.at(-1))}, the status is ${status.state}`,
    );
  const addresses = new Set(addressesOf(asked));
  const deposits = [chains.home, chains.other, chains.alt]
    .flatMap(({ transfers }) => transfers)
    .filter(({ to }) => addresses.has(to));
  const sent = chains.exchange.burns.filter(({ recipient }) => addresses.has(recipient));
  const came = deposits.filter(({ from }) => !isNobody(from)).length + sent.length;
  if (excuses.wentBack || excuses.lookedAgain || came > 1) return;
  for (const [i, state] of states.entries()) {
    const before = states[i - 1];
    if (before !== undefined && ENDS.has(before) && state !== before)
      say("STATE_WENT_BACK", `${name}: ${before}, then ${state}`);
  }
}
