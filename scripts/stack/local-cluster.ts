// The first network with several proxies and enclaves around one Redis, as an instance that has outgrown one process
// runs: any proxy serves any request, one of them submits. Development only.
import path from "node:path";
import { sharedStores } from "../../proxy/base/store/instance.ts";
import { credentialIn } from "./development-credential.ts";
import { startStack, type PortChoice, type Stack, type StackOptions } from "./local-stack.ts";
import type { LocalNetwork } from "./local-network.ts";
import type { NetworkSize } from "./network-size.ts";
import { Parties } from "../base/parties.ts";
import { choosePorts } from "./ports.ts";
import { startRedisServer, type RedisProcess } from "../stand-ins/redis-server.ts";

export interface ClusterOptions extends Omit<StackOptions, "networks" | "ports"> {
  readonly size: NetworkSize;
  /** Of the balancer and of the chain's RPC. */
  readonly ports?: PortChoice;
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

export function startCluster(options: ClusterOptions): Promise<Cluster> {
  return Parties.start((parties) => startAll(options, parties));
}

async function startAll(options: ClusterOptions, parties: Parties): Promise<Cluster> {
  const { folder, ports = {}, say = () => undefined } = options;
  const [durablePort, volatilePort] = (await choosePorts([
    { wanted: undefined, usual: 6_379, option: "the durable Redis" },
    { wanted: undefined, usual: 6_380, option: "the volatile Redis" },
  ])) as [number, number];
  const redisFolder = path.join(folder, "redis");
  const durable = { port: durablePort, folder: redisFolder, role: "durable" } as const;
  let redis = await startRedisServer(durable);
  parties.add({ stop: () => redis.stop() });
  const limits = parties.add(
    await startRedisServer({ port: volatilePort, folder: redisFolder, role: "volatile" }),
  );
  for (const { ended } of [redis, limits]) parties.watch(ended, (how) => `a Redis ended (${how})`);
  say(`redis    ${redis.url} (durable) and ${limits.url} (limits)`);
  const stack = parties.add(
    await startStack({
      ...options,
      networks: ["first"],
      ports: { first: ports },
      proxySettings: {
        CLOISTER_STORE_REDIS_URL: redis.url,
        CLOISTER_LIMITS_REDIS_URL: limits.url,
        ...options.proxySettings,
      },
    }),
  );
  const network = stack.network("first");
  const { chain_id: chainId, pool } = network.entry;
  const stores = await sharedStores({ url: redis.url, instance: { chainId, pool }, mustExist: true });
  try {
    await credentialIn(stores.keys, stack.folder.secrets);
  } finally {
    stores.close();
  }
  return {
    stack,
    network,
    redis: () => redis,
    restartRedis: async () => {
      redis = await startRedisServer(durable);
    },
    failed: Promise.race([stack.failed, parties.failed]),
    stop: () => parties.stop(),
  };
}
