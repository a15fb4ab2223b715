/** Where scenarios of one store are played: the world, the store, the relays of two proxies, loaded processes in reserve. Kept from one scenario to the next. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { ENCLAVE_PORT } from "../../../shared/protocol/host/enclave-host.ts";
import { callsSettings, type Calls } from "./calls.ts";
import { moodsOf, type Liar } from "./liar.ts";
import { startEnclaveRelay, type EnclaveRelay } from "./enclave-faults.ts";
import type { Reserve } from "./hosts.ts";
import { Place } from "./hosts.ts";
import { startRpcRelay, type RpcRelay } from "../../../scripts/stand-ins/between/node-relay.ts";
import { openStore, type Store, type StoreName } from "./stores.ts";
import type { World } from "./world.ts";

/** What stands between one proxy and the rest. */
export interface Between {
  readonly rpc: RpcRelay;
  /** Another node of the same chain, where there are two. */
  readonly secondNode: RpcRelay;
  readonly enclave: EnclaveRelay;
}

export interface Stage {
  readonly world: World;
  readonly store: Store;
  readonly between: readonly [Between, Between];
  /** Proxies on fresh data, not started yet. */
  places(count: number, terms?: { readonly calls: Calls; readonly liar: Liar }): Promise<Place[]>;
  /** Data folder of the first of them. */
  readonly dataDir: () => string;
  close(): Promise<void>;
}

export async function openStage(world: World, name: StoreName, reserve: Reserve): Promise<Stage> {
  const folder = path.join(world.folder, `faults-${name}`);
  await mkdir(folder, { recursive: true });
  const store = await openStore(name, world, folder);
  const makeBetween = async (i: number): Promise<Between> => ({
    rpc: await startRpcRelay(world.entry.chain_rpc),
    secondNode: await startRpcRelay(world.entry.chain_rpc),
    enclave: await startEnclaveRelay(path.join(world.folder, `${name}-${String(i)}`), world.vsockPaths),
  });
  const between = [await makeBetween(0), await makeBetween(1)] as const;
  let folders: string[] = [];
  return {
    world,
    store,
    between,
    async places(count, terms) {
      await world.reset();
      const moods = terms && moodsOf(terms.liar);
      for (const { rpc, secondNode } of between)
        for (const node of [rpc, secondNode]) node.setMood(moods?.next().value);
      folders = await store.reset(count);
      return folders.map((dataDir, i) => {
        const { rpc, secondNode, enclave } = between[i]!;
        for (const node of [rpc, secondNode]) node.forget();
        const nodes = terms?.liar.nodes === 2 ? [rpc, secondNode] : [rpc];
        const place = new Place(reserve, {
          ...world.settings,
          ...store.settings,
          ...(terms === undefined ? {} : callsSettings(terms.calls)),
          CLOISTER_DATA_DIR: dataDir,
          CLOISTER_RPC_URL: nodes.map(({ url }) => url).join(" "),
          CLOISTER_ENCLAVES: enclave.paths.map((at) => `unix:${at}:${String(ENCLAVE_PORT)}`).join(","),
        });
        place.onKilled = () => store.lapse();
        return place;
      });
    },
    dataDir: () => folders[0]!,
    async close() {
      for (const { rpc, secondNode, enclave } of between) {
        await Promise.all([rpc.close(), secondNode.close()]);
        await enclave.close();
      }
      await store.close();
    },
  };
}
