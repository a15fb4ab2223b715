// The first network with several proxies and enclaves around one Redis, as an instance that has outgrown one process
// runs: any proxy serves any request, one of them submits. Development only.
import path from "node:path";
import { sharedStores } from "../../proxy/store/instance.ts";
import { credentialIn } from "./development-credential.ts";
import { startStack, type PortChoice, type Stack } from "./local-stack.ts";
import type { EachProxy, LocalNetwork, NetworkSize } from "./local-network.ts";
import { choosePorts } from "./ports.ts";
import { startRedisServer, type RedisProcess } from "./redis-server.ts";

export interface ClusterOptions {
  readonly folder: string;
  readonly size: NetworkSize;
  readonly fresh?: boolean;
  /** Of the balancer and of the chain's RPC. */
  readonly ports?: PortChoice;
  readonly blockTimeSecs?: number;
  /** More settings for every proxy. */
  readonly proxySettings?: Readonly<Record<string, string>>;
  readonly eachProxy?: EachProxy | undefined;
  readonly say?: (text: string) => void;
}

export interface Cluster {
  readonly stack: Stack;
  readonly network: LocalNetwork;
  /** The one that holds what must not be lost. */
  redis(): RedisProcess;
  /** Starts it again after it was stopped or killed, with what its disk has. */
  restartRedis(): Promise<void>;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;
  stop(): Promise<void>;
}

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { folder, size, say = () => undefined } = options;
  const [durablePort, volatilePort] = (await choosePorts([
    { wanted: undefined, usual: 6_379, option: "the durable Redis" },
    { wanted: undefined, usual: 6_380, option: "the volatile Redis" },
  ])) as [number, number];
  const started: { stop(): Promise<void> }[] = [];
  let isStopping = false;
  const stop = async (): Promise<void> => {
    isStopping = true;
    for (const party of started.splice(0).reverse()) await party.stop();
  };
  try {
    const redisFolder = path.join(folder, "redis");
    const durable = { port: durablePort, folder: redisFolder, role: "durable" } as const;
    let redis = await startRedisServer(durable);
    started.push({ stop: () => redis.stop() });
    const limits = await startRedisServer({ port: volatilePort, folder: redisFolder, role: "volatile" });
    started.push(limits);
    say(`redis    ${redis.url} (durable) and ${limits.url} (limits)`);
    const stack = await startStack({
      folder,
      networks: ["first"],
      ...(options.fresh === undefined ? {} : { fresh: options.fresh }),
      ...(options.blockTimeSecs === undefined ? {} : { blockTimeSecs: options.blockTimeSecs }),
      ports: { first: options.ports ?? {} },
      size,
      proxySettings: {
        CLOISTER_STORE_REDIS_URL: redis.url,
        CLOISTER_LIMITS_REDIS_URL: limits.url,
        ...options.proxySettings,
      },
      eachProxy: options.eachProxy,
      say,
    });
    started.push(stack);
    const network = stack.network("first");
    const { chain_id: chainId, pool } = network.entry;
    const stores = await sharedStores({ url: redis.url, instance: { chainId, pool }, mustExist: true });
    try {
      await credentialIn(stores.keys, stack.folder.shared());
    } finally {
      stores.close();
    }
    const gone = async (server: RedisProcess): Promise<string> => {
      const how = await server.ended;
      return isStopping ? new Promise<never>(() => undefined) : `a Redis ended (${how})`;
    };
    return {
      stack,
      network,
      redis: () => redis,
      restartRedis: async () => {
        redis = await startRedisServer(durable);
      },
      failed: Promise.race([stack.failed, gone(redis), gone(limits)]),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
