// The whole local service on one network, every party in a process of its own, in a folder that goes with it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { JsonRpcProvider } from "ethers";
import type { LocalNetwork } from "../../stack/local-network.ts";
import { startStack, type StackOptions } from "../../stack/local-stack.ts";

export interface FreshService {
  readonly network: LocalNetwork;
  readonly apiKey: string;
  readonly chain: JsonRpcProvider;
}

/** `prepare` may write into the folder what the options name. */
export async function onFreshService<T>(
  prepare: (folder: string) => Promise<Partial<StackOptions>>,
  measure: (service: FreshService) => Promise<T>,
): Promise<T> {
  console.log("starting the service …");
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-bench-"));
  try {
    const stack = await startStack({
      folder: path.join(folder, "stack"),
      networks: ["first"],
      ports: { first: { proxy: 0, chain: 0 } },
      ...(await prepare(folder)),
    });
    const network = stack.network("first");
    const { chain_rpc: rpc, chain_id: chainId } = network.entry;
    const chain = new JsonRpcProvider(rpc, chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 50,
    });
    try {
      return await measure({ network, apiKey: stack.file.api_key, chain });
    } finally {
      chain.destroy();
      await stack.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
