/** Where an instance keeps what must last, and where it counts: on this machine, or in a Redis that its proxies share. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { Address } from "../../shared/protocol/brands.ts";
import { LocalWindows } from "./limits/local-windows.ts";
import { SharedWindows } from "./limits/shared-windows.ts";
import type { Logger } from "./logging.ts";
import type { Metrics } from "./observe/metrics.ts";
import { embeddedStores, sharedStores, type InstanceStores } from "./store/instance.ts";
import { openDatabase, STORE_FILE, type Database } from "./store/lmdb/database.ts";
import { claimInstance } from "./store/lmdb/instance-record.ts";
import { connectRedis } from "./store/redis/connection.ts";
import { openRedisLimits } from "./store/redis/limits.ts";
import type { WindowStore } from "./store/windows.ts";

/** Whose data it is, and the URL of a Redis where one is configured. */
type InstanceOf<Url extends string> = { readonly chainId: number; readonly pool: Address } & Readonly<
  Record<Url, string | undefined>
>;

/** In the data folder, or in the Redis that the instance's proxies share. */
export function openStores(
  { storeRedisUrl, chainId, pool }: InstanceOf<"storeRedisUrl">,
  database: Database,
  logger: Logger,
  metrics: Pick<Metrics, "redis">,
): InstanceStores | Promise<InstanceStores> {
  const onBrokenRecord = (table: string, record: string): void =>
    logger.fatal({ table, record }, "a stored record cannot be read and is set aside");
  if (storeRedisUrl === undefined) return embeddedStores(database, onBrokenRecord);
  metrics.redis("store", false);
  return sharedStores({
    url: storeRedisUrl,
    instance: { chainId, pool },
    onBrokenRecord,
    onUnreachable(error) {
      metrics.redis("store", true);
      logger.error({ err: error }, "the durable Redis is unreachable or unfit: nothing is accepted");
    },
    onReachable() {
      metrics.redis("store", false);
      logger.info("the durable Redis is back");
    },
  });
}

interface OpenStores {
  readonly stores: InstanceStores;
  close(): Promise<void>;
}

/** For a program beside the proxies: one of them has made the store. */
export async function openExistingStores(
  config: InstanceOf<"storeRedisUrl"> & { readonly dataDir: string },
  logger: Logger,
): Promise<OpenStores> {
  const { storeRedisUrl, dataDir, chainId, pool } = config;
  const onBrokenRecord = (table: string, record: string): void =>
    logger.fatal({ table, record }, "a stored record cannot be read and is set aside");
  if (storeRedisUrl !== undefined) {
    const stores = await sharedStores({
      ...{ url: storeRedisUrl, instance: { chainId, pool }, mustExist: true, onBrokenRecord },
      onUnreachable: (error) => logger.error({ err: error }, "the durable Redis is unreachable or unfit"),
      onReachable: () => logger.info("the durable Redis is back"),
    });
    return {
      stores,
      close: () => {
        stores.close();
        return Promise.resolve();
      },
    };
  }
  // A mistyped folder must not become a new, empty store that looks like lost accounts.
  if (!existsSync(path.join(dataDir, STORE_FILE)))
    throw new Error(`${dataDir} holds no store; start the proxy once`);
  const database = openDatabase(dataDir);
  await claimInstance(database, { chainId, pool });
  const stores = embeddedStores(database, onBrokenRecord);
  return {
    stores,
    close: async () => {
      stores.close();
      await database.close();
    },
  };
}

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
