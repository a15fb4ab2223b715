/** Where scenarios of one store are played: the parties, the store, and what stands between each of two proxies and the rest. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { ENCLAVE_PORT } from "../../../../shared/protocol/host/enclave-host.ts";
import { Place, type Reserve } from "../hosts.ts";
import { startRpcRelay, type RpcRelay } from "../rpc-faults.ts";
import { openStore, type Store, type StoreName } from "../stores.ts";
import { startAttesterRelay, type AttesterRelay } from "./attester-faults.ts";
import type { Parties } from "./parties.ts";
import { CHAINS, CONFIRMATIONS, type BridgeFacts, type ChainName } from "./world.ts";

export interface Between {
  readonly rpc: Readonly<Record<ChainName, RpcRelay>>;
  readonly attester: AttesterRelay;
}

export interface Stage {
  readonly facts: BridgeFacts;
  readonly parties: Parties;
  readonly store: Store;
  readonly between: readonly [Between, Between];
  /** Proxies on fresh data, not started yet. */
  places(count: number): Promise<Place[]>;
  /** Data folder of the first of them. */
  readonly dataDir: () => string;
  close(): Promise<void>;
}

/** A third of it is how often a chain beside the pool's is asked. */
const BLOCK_SECS = 0.3;

export async function openStage(
  facts: BridgeFacts,
  parties: Parties,
  { name, reserve, folder }: { readonly name: StoreName; readonly reserve: Reserve; readonly folder: string },
): Promise<Stage> {
  const own = path.join(folder, `faults-${name}`);
  await mkdir(own, { recursive: true });
  const store = await openStore(name, facts, own);
  const makeBetween = async (): Promise<Between> => ({
    rpc: {
      home: await startRpcRelay(parties.chains.home.url),
      other: await startRpcRelay(parties.chains.other.url),
    },
    attester: await startAttesterRelay(parties.attesterUrl),
  });
  const between = [await makeBetween(), await makeBetween()] as const;
  const files = await Promise.all(
    between.map(async (one, i) => {
      const file = path.join(folder, `bridges-${String(i)}.json`);
      await writeFile(file, JSON.stringify(settingsOf(facts, one)));
      return file;
    }),
  );
  let folders: string[] = [];
  return {
    ...{ facts, parties, store, between },
    async places(count) {
      await parties.renew();
      folders = await store.reset(count);
      return folders.map((dataDir, i) => {
        const { rpc } = between[i]!;
        for (const chain of CHAINS) rpc[chain].forget();
        const place = new Place(reserve, {
          ...facts.settings,
          ...store.settings,
          CLOISTER_DATA_DIR: dataDir,
          CLOISTER_RPC_URL: rpc.home.url,
          CLOISTER_ENCLAVES: `unix:${facts.vsockPath}:${String(ENCLAVE_PORT)}`,
          CLOISTER_BRIDGES: files[i]!,
        });
        place.onKilled = () => store.lapse();
        return place;
      });
    },
    dataDir: () => folders[0]!,
    async close() {
      for (const { rpc, attester } of between) {
        for (const chain of CHAINS) await rpc[chain].close();
        await attester.close();
      }
      await store.close();
    },
  };
}

/** Without the exchange and the other blockchain, which no scenario has. */
function settingsOf({ bridgeSettings }: BridgeFacts, { rpc, attester }: Between): unknown {
  const { perpvenue: _exchange, altchain: _altchain, chains, ...rest } = bridgeSettings;
  const [other] = chains as readonly [Readonly<Record<string, unknown>>];
  return {
    ...rest,
    attesterUrl: attester.url,
    chains: [{ ...other, rpcUrl: rpc.other.url, confirmations: CONFIRMATIONS, blockSecs: BLOCK_SECS }],
  };
}
