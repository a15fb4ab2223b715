/** What the chains say of a request, in the words that its progress is made of. */
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { Entry, Facts, Leave, Leaving, Message, Place, Position } from "../requests.ts";
import type { Attested } from "../chains/attestations.ts";
import type { BridgeFacts, Burn, Delivery, Place as Spot, VaultFacts } from "./facts.ts";

/** Of one followed chain, for the words about it. */
export interface ChainWords {
  readonly name: string;
  readonly chainId: bigint | undefined;
  readonly confirmations: number;
  /** About. */
  readonly blockSecs: number;
}

/** What stands on no chain that is followed, and is no fact. */
export interface Beside {
  readonly chains: readonly ChainWords[];
  readonly attestationOf: (burn: Burn) => Attested | undefined;
  readonly waits: Facts["waits"];
  readonly sign: Facts["sign"];
  readonly isComplete: boolean;
}

export function toFacts(record: BridgeRecord, facts: BridgeFacts, beside: Beside): Facts {
  const { way } = record;
  const { home, sources, alt, incoming } = facts;
  const emptied = way.direction === "out" ? "flush" : "burn";
  const minimumOf = (chain: string): bigint => {
    if (way.kind !== "from-evm") return 0n;
    const id = beside.chains.find(({ name }) => name === chain)?.chainId;
    return way.source?.terms.lanes.find(({ chainId }) => chainId === id)?.minimum ?? 0n;
  };
  const burns = [...(alt?.burns ?? []), ...sources.flatMap((one) => one.burns), ...home.burns, ...incoming];
  return {
    places: [
      ...(alt === undefined ? [] : [placeOf(alt, "deposit", way.home.minimum, "burn", beside)]),
      ...sources.map((one) => placeOf(one, "source", minimumOf(one.chain), "burn", beside)),
      placeOf(home, "home", way.home.minimum, emptied, beside),
    ],
    messages: burns.map((burn) => messageOf(burn, way.kind === "to-exchange", beside)),
    waits: beside.waits,
    isRefused: record.screening?.isRefused ?? false,
    sign: beside.sign,
    isComplete: beside.isComplete,
  };
}

function placeOf(
  vault: VaultFacts,
  role: Place["role"],
  minimum: bigint,
  emptied: "burn" | "flush",
  { chains }: Beside,
): Place {
  const { chain, balance, clock, arrivals, departures, sweeps, returns, refunds, token } = vault;
  const words = chains.find(({ name }) => name === chain);
  const leaving = (
    what: Leave,
    { place, amount }: { readonly place: Spot; readonly amount: bigint },
    more: Partial<Pick<Leaving, "leafIndex" | "message">> = {},
  ): Leaving => ({ ...seen(place), what, amount, leafIndex: undefined, message: undefined, ...more });
  const leavings = [
    ...departures.map((one) => leaving(emptied, one, { message: one.burn })),
    ...sweeps.map((one) => leaving("sweep", one, { leafIndex: one.leafIndex })),
    ...returns.map((one) => leaving("return", one, { leafIndex: one.leafIndex })),
    ...refunds.filter((one) => one.token === token).map((one) => leaving("refund", one)),
  ];
  return {
    ...{ chain, role, minimum, balance, clock },
    confirmations: words?.confirmations ?? 1,
    blockSecs: words?.blockSecs ?? 0,
    entries: arrivals.map(({ place, amount, brought }): Entry => ({
      ...seen(place),
      amount,
      message: brought,
    })),
    leavings: leavings.sort((one, other) => order(one.position, other.position)),
  };
}

function messageOf(burn: Burn, isToAccount: boolean, { attestationOf }: Beside): Message {
  const { id, place, to, destinationDomain, delivery } = burn;
  const attested = attestationOf(burn)?.status;
  const state = attested === "complete" ? "attested" : attested === "expired" ? "expired" : "unattested";
  return {
    ...{ id, from: place.chain, to: to ?? `domain ${String(destinationDomain)}` },
    ...{ sentBy: place.tx, sentAt: place.at },
    state: delivery === undefined ? state : "delivered",
    arrival: delivery && { hash: delivery.place.tx, amount: delivery.amount },
    credit: delivery && isToAccount ? creditOf(delivery) : undefined,
    failure: undefined,
  };
}

/** The exchange's own word on its own chain: what its API shows besides is nobody's proof. */
function creditOf({ credit }: Delivery): Message["credit"] {
  return credit === undefined ? "awaited" : { hash: credit.place.tx, amount: credit.amount };
}

function seen({ block, logIndex, tx, confirmations, at }: Spot) {
  return { position: { block, index: logIndex }, hash: tx, confirmations, time: at };
}

const order = (one: Position, other: Position): number => one.block - other.block || one.index - other.index;
