/** Where scenarios of one store are played: the parties, the store, and what stands between each of two proxies and the rest. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { ENCLAVE_PORT } from "../../../../shared/protocol/host/enclave-host.ts";
import { callsSettings, type Calls } from "../calls.ts";
import { moodsOf, type Liar } from "../liar.ts";
import { Place, type Reserve } from "../hosts.ts";
import { RELAY_SETTINGS } from "../../../../proxy/relay/config.ts";
import { startRpcRelay, type RpcRelay } from "../../../../scripts/stand-ins/between/node-relay.ts";
import { openStore, type Store, type StoreName } from "../stores.ts";
import {
  startAttesterRelay,
  type AttesterRelay,
} from "../../../../scripts/stand-ins/between/attester-relay.ts";
import {
  startExchangeRelay,
  type ExchangeRelay,
} from "../../../../scripts/stand-ins/between/exchange-relay.ts";
import type { Parties } from "./parties.ts";
import { Spot } from "./spot.ts";
import { CONFIRMATIONS, PLACES, type BridgeFacts, type Extras, type PlaceName } from "./world.ts";

export interface Between {
  readonly rpc: Readonly<Record<PlaceName, RpcRelay>>;
  /** Another node of the pool's chain, where there are two. */
  readonly secondNode: RpcRelay;
  readonly attester: AttesterRelay;
  /** The exchange's API. */
  readonly exchange: ExchangeRelay;
}

export interface Stage {
  readonly facts: BridgeFacts;
  readonly parties: Parties;
  readonly store: Store;
  readonly between: readonly [Between, Between];
  /** Proxies on fresh data, each with its relay, not started yet. */
  places(count: number, terms: Terms): Promise<Spot[]>;
  /** What the scenario that is played has. */
  readonly extras: () => Extras;
  /** Data folder of the first of them. */
  readonly dataDir: () => string;
  close(): Promise<void>;
}

interface Terms {
  readonly extras: Extras;
  readonly calls: Calls;
  readonly liar: Liar;
}

interface StageParts {
  readonly name: StoreName;
  readonly reserve: Reserve;
  /** Of relays. */
  readonly relays: Reserve;
  readonly folder: string;
}

/** A third of it is how often a chain beside the pool's is asked. */
const BLOCK_SECS = 0.3;
/** The other blockchain is asked once in so much. */
const ALT_BLOCK_SECS = 0.1;

export async function openStage(
  facts: BridgeFacts,
  parties: Parties,
  { name, reserve, relays, folder }: StageParts,
): Promise<Stage> {
  const own = path.join(folder, `faults-${name}`);
  await mkdir(own, { recursive: true });
  const store = await openStore(name, facts, own);
  const makeBetween = async (): Promise<Between> => ({
    rpc: {
      home: await startRpcRelay(parties.chains.home.url),
      other: await startRpcRelay(parties.chains.other.url),
      exchange: await startRpcRelay(parties.chains.exchange.url),
      alt: await startRpcRelay(parties.alt.url),
    },
    secondNode: await startRpcRelay(parties.chains.home.url),
    attester: await startAttesterRelay(parties.attesterUrl),
    exchange: await startExchangeRelay(parties.exchange.url),
  });
  const between = [await makeBetween(), await makeBetween()] as const;
  let now: Extras = { alt: false, exchange: false };
  const fileOf = async (i: 0 | 1): Promise<string> => {
    const file = path.join(folder, `bridges-${String(i)}.json`);
    await writeFile(file, JSON.stringify(settingsOf(facts, between[i], now)));
    return file;
  };
  let folders: string[] = [];

  return {
    ...{ facts, parties, store, between },
    async places(count, { extras, calls, liar }) {
      now = extras;
      const moods = moodsOf(liar);
      for (const one of between) for (const party of partiesOf(one)) party.setMood(moods.next().value);
      await parties.renew(extras);
      const files = [await fileOf(0), await fileOf(1)];
      folders = await store.reset(count);
      return folders.map((dataDir, i) => {
        const { rpc, secondNode } = between[i]!;
        for (const node of [...PLACES.map((chain) => rpc[chain]), secondNode]) node.forget();
        const nodes = liar.nodes === 2 ? [rpc.home, secondNode] : [rpc.home];
        const settings: Readonly<Record<string, string>> = {
          ...facts.settings,
          ...store.settings,
          ...callsSettings(calls),
          CLOISTER_DATA_DIR: dataDir,
          CLOISTER_RPC_URL: nodes.map(({ url }) => url).join(" "),
          CLOISTER_ENCLAVES: `unix:${facts.vsockPath}:${String(ENCLAVE_PORT)}`,
          CLOISTER_BRIDGES: files[i]!,
        };
        const own = Object.entries(settings).filter(([one]) => Object.hasOwn(RELAY_SETTINGS, one));
        const spot = new Spot(new Place(reserve, settings), new Place(relays, Object.fromEntries(own)));
        for (const place of [spot.proxy, spot.relay]) place.onKilled = () => store.lapse();
        return spot;
      });
    },
    extras: () => now,
    dataDir: () => folders[0]!,
    async close() {
      for (const one of between) for (const party of partiesOf(one)) await party.close();
      await store.close();
    },
  };
}

export const partiesOf = ({ rpc, secondNode, attester, exchange }: Between) => [
  ...[...PLACES.map((name) => rpc[name]), secondNode, attester, exchange],
];

/** Without the exchange and without the other blockchain where nobody uses them. */
function settingsOf({ bridgeSettings }: BridgeFacts, between: Between, extras: Extras): unknown {
  const { perpvenue, altchain, chains, home, ...rest } = bridgeSettings as unknown as Settings;
  const { rpc, attester, exchange } = between;
  const near = { confirmations: CONFIRMATIONS, blockSecs: BLOCK_SECS };
  const venue = { ...perpvenue.chain, ...near, rpcUrl: rpc.exchange.url };
  return {
    ...rest,
    home: { ...home, blockSecs: BLOCK_SECS },
    attesterUrl: attester.url,
    ...(extras.exchange ? { perpvenue: { ...perpvenue, apiUrl: exchange.url, chain: venue } } : {}),
    ...(extras.alt ? { altchain: { ...altchain, rpcUrl: rpc.alt.url, blockSecs: ALT_BLOCK_SECS } } : {}),
    chains: [{ ...chains[0], ...near, rpcUrl: rpc.other.url }],
  };
}

/** As far as it is changed. */
interface Settings {
  readonly perpvenue: { readonly chain: object };
  readonly home: object;
  readonly altchain: object;
  readonly chains: readonly [object];
}
