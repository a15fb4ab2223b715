// The store of a local network's proxy, written as an operator writes it: whether the proxy runs or not.
import { openFolderStores } from "../../proxy/base/open-stores.ts";
import type { InstanceStores } from "../../proxy/base/store/instance.ts";

export async function inStore<T>(dataDir: string, work: (stores: InstanceStores) => Promise<T>): Promise<T> {
  const { stores, close } = await openFolderStores(dataDir);
  try {
    return await work(stores);
  } finally {
    await close();
  }
}
