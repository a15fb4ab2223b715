/** Everything that the chains say of one stored request, put together from the ledgers each time it is asked for. */
import type { BridgeRecord, BridgeWay } from "../../base/store/bridge-records.ts";
import { altKeyOf } from "../chains/alt-keys.ts";
import { burnId, burnsUnder } from "./burns.ts";
import { keyOf, likeness, type Key } from "../chains/events.ts";
import type { BridgeFacts, Burn, Terms } from "./facts.ts";
import type { Entry } from "../chains/ledger.ts";
import { misplacedAt, placeOf, vaultFacts, type ChainView } from "./vault-facts.ts";
import type { WatchedKey, WatchedRequest } from "../chains/watched.ts";

export interface EvmView extends ChainView {
  readonly chainId: bigint;
  readonly isHome: boolean;
}

export interface AltView extends ChainView {
  /** Base58. */
  readonly mint: string;
}

export interface Views {
  readonly evm: readonly EvmView[];
  readonly alt: AltView | undefined;
}

export function watchedFrom({ id, address, way, since, createdAt }: BridgeRecord): WatchedRequest {
  const madeAt = Math.floor(createdAt / 1000);
  return { bridgeId: id, since, madeAt, keys: [...evmKeys(address, way), ...otherKeys(way)] };
}

/** Its addresses are the same on every chain, and people send to the right one on the wrong chain. */
const evmKeys = (address: string, way: BridgeWay): readonly WatchedKey[] =>
  [address, ...(way.kind === "from-evm" && way.source !== undefined ? [way.source.address] : [])]
    .map(keyOf)
    .flatMap((key) => [
      { key, where: "home" },
      { key, where: "source" },
    ]);

function otherKeys(way: BridgeWay): readonly WatchedKey[] {
  switch (way.kind) {
    case "from-evm":
      return [];
    case "from-altchain":
      return [way.depositKey, way.tokenAccount].map((one) => ({ key: altKeyOf(one), where: "alt" }));
    case "to-exchange":
      return [{ key: keyOf(way.account), where: "payee" }];
    case "to-chain":
      return [{ key: way.home.exit.recipient.toLowerCase(), where: "payee" }];
  }
}

/** An address of a request on a chain that is followed; burns there are filed under `burner`. */
interface Stop {
  readonly view: ChainView;
  readonly key: Key;
  readonly burner: Key;
  readonly terms: Terms;
}

/** Where the money is before it is on the pool's chain. */
function stopsBefore(way: BridgeWay, { evm, alt }: Views): readonly Stop[] {
  if (way.kind === "from-altchain" && alt !== undefined) {
    const { depositKey, tokenAccount: address, home } = way;
    const terms = { role: "deposit", address, token: alt.mint, minimum: home.minimum } as const;
    const ours = { key: altKeyOf(address), burner: altKeyOf(depositKey) };
    return [{ view: alt, ...ours, terms: { ...terms, contract: undefined, lane: undefined } }];
  }
  if (way.kind !== "from-evm" || way.source === undefined) return [];
  const { address, terms } = way.source;
  const key = keyOf(address);
  return evm.flatMap((view): readonly Stop[] => {
    const at = terms.lanes.findIndex(({ chainId }) => chainId === view.chainId);
    const lane = terms.lanes[at];
    if (lane === undefined) return [];
    const contract = { kind: "source", terms, lane: at } as const;
    const { minimum, token } = lane;
    const found = { role: "source", address, token: token.toLowerCase(), minimum, contract, lane } as const;
    return [{ view, key, burner: key, terms: found }];
  });
}

function homeTerms({ address, way }: BridgeRecord): Terms {
  const { asset, minimum, feeCeiling } = way.home;
  const here = { role: "home", address, token: asset.toLowerCase(), minimum } as const;
  if (way.direction === "in") return { ...here, contract: { kind: "in", terms: way.home }, lane: undefined };
  const { domain, messenger } = way.home.exit;
  const lane = { feeCeiling, domain, messenger };
  return { ...here, contract: { kind: "out", terms: way.home }, lane };
}

export function requestFacts(record: BridgeRecord, views: Views): BridgeFacts {
  const { id, address, way } = record;
  const { evm, alt } = views;
  const all: readonly ChainView[] = alt === undefined ? evm : [...evm, alt];
  const view = evm.find(({ isHome }) => isHome)!;
  const key = keyOf(address);
  const ours = new Set(watchedFrom(record).keys.map((one) => one.key));
  // Filed under the home address, too: whatever is minted to it, whoever burned it.
  const toHome = all.flatMap((one) => burnsUnder(key, one, all));
  const stops = stopsBefore(way, views);
  const here = { view, key, terms: homeTerms(record) };
  return {
    bridgeId: id,
    before: stops.map(({ burner, ...stop }) =>
      vaultFacts({ ...stop, burns: burnsUnder(burner, stop.view, all) }),
    ),
    home: vaultFacts({
      ...{ ...here, broughtBy: createBringing(view, key, all) },
      burns: toHome
        .filter(({ burner, place }) => burner === key && place.chain === view.name)
        .map((burn) => (way.kind === "to-exchange" ? withCredit(burn, keyOf(way.account), evm) : burn)),
    }),
    misplaced: evm.flatMap((one) =>
      [...new Set(evmKeys(address, way).map((it) => it.key))].flatMap((at) => {
        const awaited = [here, ...stops].filter((stop) => stop.view === one && stop.key === at);
        return misplacedAt(one, at, new Set(awaited.map(({ terms }) => terms.token)));
      }),
    ),
    incoming: toHome.filter(({ burner, recipient }) => recipient === key && !ours.has(burner)),
    isCredited: way.kind === "to-exchange",
  };
}

function withCredit(burn: Burn, account: Key, views: readonly EvmView[]): Burn {
  const { delivery } = burn;
  const view = views.find(({ name }) => name === delivery?.place.chain);
  const found = view?.ledger
    .entriesOf(account)
    .find(({ event }) => event.kind === "credited" && event.nonce === delivery?.nonce);
  if (delivery === undefined || view === undefined || found?.event.kind !== "credited") return burn;
  const { amount } = found.event;
  return { ...burn, delivery: { ...delivery, credit: { place: placeOf(view, found), amount } } };
}

/**
 * What a transfer to the home address brought: the delivery in its own transaction, taken in order, since one
 * transaction may deliver several. Its money is the transfer's amount, not the message's.
 */
function createBringing(home: ChainView, key: Key, all: readonly ChainView[]) {
  const deliveries = new Map<string, string[]>();
  const alike = new Map<string, number>();
  for (const entry of home.ledger.entriesOf(key)) {
    const id = delivered(entry);
    if (id === undefined) continue;
    const list = deliveries.get(entry.tx);
    if (list === undefined) deliveries.set(entry.tx, [id]);
    else list.push(id);
  }
  return ({ tx }: Entry): string | undefined => deliveries.get(tx)?.shift();

  function delivered({ event }: Entry): string | undefined {
    if (event.kind !== "minted" || event.burn.recipient !== key) return undefined;
    const name = likeness(event.burn);
    const before = alike.get(name) ?? 0;
    alike.set(name, before + 1);
    return idOf((one) => one.kind === "burned" && likeness(one.burn) === name, before) ?? event.nonce;
  }

  function idOf(is: (event: Entry["event"]) => boolean, before: number): string | undefined {
    for (const view of all) {
      const found = view.ledger.entriesOf(key).filter(({ event }) => is(event))[before];
      if (found !== undefined) return burnId(view.name, found);
    }
    return undefined;
  }
}
