/** Everything that the chains say of one stored request, put together from the ledgers each time it is asked for. */
import type { BridgeRecord, BridgeWay } from "../../base/store/bridge-records.ts";
import { altKeyOf } from "../chains/alt-keys.ts";
import { burnId, burnsUnder } from "./burns.ts";
import { keyOf, likeness, type Key } from "../chains/events.ts";
import type { BridgeFacts, Burn, VaultFacts } from "./facts.ts";
import type { Entry } from "../chains/ledger.ts";
import { placeOf, vaultFacts, type ChainView } from "./vault-facts.ts";
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
  return { bridgeId: id, since, madeAt, keys: [{ key: keyOf(address), where: "home" }, ...otherKeys(way)] };
}

function otherKeys(way: BridgeWay): readonly WatchedKey[] {
  switch (way.kind) {
    case "from-evm":
      return way.source === undefined ? [] : [{ key: keyOf(way.source.address), where: "source" }];
    case "from-altchain":
      return [way.depositKey, way.tokenAccount].map((one) => ({ key: altKeyOf(one), where: "alt" }));
    case "to-exchange":
      return [{ key: keyOf(way.account), where: "payee" }];
    case "to-chain":
      return [{ key: way.home.exit.recipient.toLowerCase(), where: "payee" }];
  }
}

export function requestFacts(record: BridgeRecord, { evm, alt }: Views): BridgeFacts {
  const { id, address, way } = record;
  const all: readonly ChainView[] = alt === undefined ? evm : [...evm, alt];
  const homeView = evm.find(({ isHome }) => isHome)!;
  const homeKey = keyOf(address);
  const ours = new Set([homeKey, ...otherKeys(way).map(({ key }) => key)]);
  // Filed under the home address, too: whatever is minted to it, whoever burned it.
  const toHome = all.flatMap((view) => burnsUnder(homeKey, view, all));
  const own = (key: Key, view: ChainView): readonly Burn[] => burnsUnder(key, view, all);

  const plain = { broughtBy: () => undefined };
  const home = vaultFacts({
    ...{ view: homeView, key: homeKey, address, token: way.home.asset.toLowerCase() },
    burns: toHome
      .filter(({ burner, place }) => burner === homeKey && place.chain === homeView.name)
      .map((burn) => (way.kind === "to-exchange" ? withCredit(burn, keyOf(way.account), evm) : burn)),
    broughtBy: createBringing(homeView, homeKey, all),
  });
  const sources = way.kind === "from-evm" && way.source !== undefined ? sourcesOf(way.source) : [];
  return {
    bridgeId: id,
    home,
    sources,
    alt: way.kind === "from-altchain" && alt !== undefined ? altFacts(way, alt) : undefined,
    incoming: toHome.filter(({ burner, recipient }) => recipient === homeKey && !ours.has(burner)),
  };

  function sourcesOf({
    address: source,
    terms,
  }: NonNullable<Extract<BridgeWay, { kind: "from-evm" }>["source"]>) {
    return evm.flatMap((view): VaultFacts[] => {
      const lane = terms.lanes.find(({ chainId }) => chainId === view.chainId);
      if (lane === undefined) return [];
      const key = keyOf(source);
      const burns = own(key, view);
      return [vaultFacts({ view, key, address: source, token: lane.token.toLowerCase(), burns, ...plain })];
    });
  }

  function altFacts(
    { depositKey, tokenAccount }: Extract<BridgeWay, { kind: "from-altchain" }>,
    view: AltView,
  ): VaultFacts {
    const burns = own(altKeyOf(depositKey), view);
    const key = altKeyOf(tokenAccount);
    return vaultFacts({ view, key, address: tokenAccount, token: view.mint, burns, ...plain });
  }
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
