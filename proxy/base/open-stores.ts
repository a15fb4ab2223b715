/** Where an instance keeps what must last, and where it counts: on this machine, or in a Redis that its proxies share. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { Address } from "../../shared/protocol/brands.ts";
import { LocalWindows } from "./limits/local-windows.ts";
import { SharedWindows } from "./limits/shared-windows.ts";
import type { Logger } from "./logging.ts";
import type { Metrics } from "./observe/metrics.ts";
import { embeddedStores, sharedStores, storesOfFolder, type InstanceStores } from "./store/instance.ts";
import { openDatabase, STORE_FILE, type Database } from "./store/lmdb/database.ts";
import { SocketEngine } from "./store/lmdb/socket-engine.ts";
import { openStoreSocket } from "./store/lmdb/store-socket.ts";
import { LmdbEngine } from "./store/lmdb/engine.ts";
import { connectRedis } from "./store/redis/connection.ts";
import { openRedisLimits } from "./store/redis/limits.ts";
import { StoreUnavailable } from "./store/unavailable.ts";
import type { WindowStore } from "./store/windows.ts";

/** Whose data it is, and the URL of a Redis where one is configured. */
type InstanceOf<Url extends string> = { readonly chainId: number; readonly pool: Address } & Readonly<
  Record<Url, string | undefined>
>;
interface InFolder {
  readonly dataDir: string;
}

export interface OpenStores {
  readonly stores: InstanceStores;
  readonly close: () => Promise<void>;
}

/** For the proxy that works on the data folder: there, with a socket for the programs beside it, or in the Redis that it shares. */
export async function openStores(
  { storeRedisUrl, dataDir, chainId, pool }: InstanceOf<"storeRedisUrl"> & InFolder,
  database: Database,
  logger: Logger,
  metrics: Pick<Metrics, "redis">,
): Promise<OpenStores> {
  const instance = { chainId, pool };
  if (storeRedisUrl === undefined) {
    const engine = new LmdbEngine(database, setAside(logger));
    return { stores: storesOfFolder(engine), close: await openStoreSocket(engine, dataDir, instance) };
  }
  metrics.redis("store", false);
  const stores = await sharedStores({
    ...{ url: storeRedisUrl, instance, onBrokenRecord: setAside(logger) },
    onUnreachable(error) {
      metrics.redis("store", true);
      logger.error({ err: error }, "the durable Redis is unreachable or unfit: nothing is accepted");
    },
    onReachable() {
      metrics.redis("store", false);
      logger.info("the durable Redis is back");
    },
  });
  return closing(stores);
}

/** For a program beside the proxies: one of them has made the store. Waits for the one that works on the data folder. */
export async function openExistingStores(
  { storeRedisUrl, dataDir, chainId, pool }: InstanceOf<"storeRedisUrl"> & InFolder,
  logger: Logger,
): Promise<OpenStores> {
  const instance = { chainId, pool };
  if (storeRedisUrl !== undefined) {
    const stores = await sharedStores({
      ...{ url: storeRedisUrl, instance, mustExist: true, onBrokenRecord: setAside(logger) },
      onUnreachable: (error) => logger.error({ err: error }, "the durable Redis is unreachable or unfit"),
      onReachable: () => logger.info("the durable Redis is back"),
    });
    return closing(stores);
  }
  requireStore(dataDir);
  const engine = new SocketEngine(dataDir, instance, setAside(logger));
  await engine.served(() => logger.warn({ data_dir: dataDir }, "waiting for the proxy, which has the store"));
  return closing(storesOfFolder(engine, () => engine.close()));
}

/** For a tool on the data folder, whether its proxy runs or not. StoreUnavailable: it runs, and does not answer. */
export async function openFolderStores(dataDir: string): Promise<OpenStores> {
  const engine = new SocketEngine(dataDir);
  const state = await engine.state();
  if (state === "silent")
    throw new StoreUnavailable(new Error(`the proxy that works on ${dataDir} does not answer`));
  if (state === "served") return closing(storesOfFolder(engine, () => engine.close()));
  const database = openDatabase(dataDir);
  return { stores: embeddedStores(database), close: () => database.close() };
}

export function closing(stores: InstanceStores): OpenStores {
  return {
    stores,
    close() {
      stores.close();
      return Promise.resolve();
    },
  };
}

/** A mistyped folder must not become a new, empty store that looks like lost accounts. */
function requireStore(dataDir: string): void {
  if (!existsSync(path.join(dataDir, STORE_FILE)))
    throw new Error(`${dataDir} holds no store; start the proxy once`);
}

const setAside =
  (logger: Logger) =>
  (table: string, record: string): void =>
    logger.fatal({ table, record }, "a stored record cannot be read and is set aside");

/** Counted here, or across the instance's proxies where a Redis is configured. */
export async function openWindows(
  { limitsRedisUrl, chainId, pool }: InstanceOf<"limitsRedisUrl">,
  logger: Logger,
  metrics: Pick<Metrics, "redis">,
): Promise<{ readonly store: WindowStore; close(): void }> {
  const local = new LocalWindows();
  if (limitsRedisUrl === undefined) return { store: local, close: () => undefined };
  const connection = connectRedis(limitsRedisUrl);
  const store = new SharedWindows(local, openRedisLimits(connection, `${String(chainId)}:${pool}`), {
    onUnreachable(error) {
      metrics.redis("limits", true);
      logger.error(
        { err: error },
        "Redis is unreachable: this proxy counts its limits for itself until it is back",
      );
    },
    onReachable() {
      metrics.redis("limits", false);
      logger.info("Redis is back: limits are counted across proxies again");
    },
  });
  metrics.redis("limits", false);
  await store.start();
  return {
    store,
    close: () => {
      store.close();
      connection.close();
    },
  };
}
