// The store of a local network's proxy, written as an operator writes it: beside a proxy that may be running.
import { embeddedStores } from "../../proxy/base/store/instance.ts";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";

export async function inStore<T>(
  dataDir: string,
  work: (stores: ReturnType<typeof embeddedStores>) => Promise<T>,
): Promise<T> {
  const database = openDatabase(dataDir);
  try {
    return await work(embeddedStores(database));
  } finally {
    await database.close();
  }
}
