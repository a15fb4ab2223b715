/** The two stores a proxy can keep its promises in, as a scenario needs them: brought back to the snapshot, and read when every proxy is gone. */
import { cp, mkdir, rm } from "node:fs/promises";
import path from "node:path";
import { createClient } from "redis";
import { credentialIn } from "../../../scripts/stack/development-credential.ts";
import { choosePorts } from "../../../scripts/stack/ports.ts";
import { StackFolder } from "../../../scripts/stack/stack-folder.ts";
import { startRedisServer } from "../../../scripts/stand-ins/redis-server.ts";
import { embeddedStores, sharedStores, type InstanceStores } from "../../../proxy/base/store/instance.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import type { StoredTicket } from "./observations.ts";

export const STORES = ["embedded", "redis"] as const;
export type StoreName = (typeof STORES)[number];

export interface Kept {
  /** Nonces under which something of ours is still to be mined or to become final. */
  readonly outgoing: readonly number[];
  readonly tickets: ReadonlyMap<string, StoredTicket>;
}

export interface Store {
  readonly name: StoreName;
  readonly settings: Readonly<Record<string, string>>;
  /** Data folders of so many proxies, as they are at the snapshot. */
  reset(proxies: number): Promise<string[]>;
  /** What five seconds do to the leases of a holder that is dead or held still. Who lives loses his claims, too, until he renews them. */
  lapse(): Promise<void>;
  /** Also while proxies run. */
  read(dataDir: string, ticketIds: readonly string[]): Promise<Kept>;
  close(): Promise<void>;
}

/** What of a world a store begins with. */
export interface Stocked {
  readonly entry: { readonly chain_id: number; readonly pool: string };
  /** Whose secrets the proxies use. */
  readonly stackFolder: string;
  /** The proxy's data folder at the snapshot. */
  readonly template: string;
}

export async function openStore(name: StoreName, world: Stocked, folder: string): Promise<Store> {
  return name === "embedded" ? embedded(world, folder) : shared(world, folder);
}

async function freshFolders(world: Stocked, folder: string, proxies: number): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const folders = Array.from({ length: proxies }, (_, i) => path.join(folder, `data-${String(i)}`));
  for (const each of folders) await cp(world.template, each, { recursive: true });
  return folders;
}

async function keptIn({ tickets }: InstanceStores, ticketIds: readonly string[]): Promise<Kept> {
  const found = await tickets.list(ticketIds);
  return {
    outgoing: (await tickets.outgoing()).map(({ nonce }) => nonce),
    tickets: new Map(
      found.map(({ id, sequence, statement, status }) => [id, { sequence, statement, state: status.state }]),
    ),
  };
}

function embedded(world: Stocked, folder: string): Store {
  return {
    name: "embedded",
    settings: {},
    reset: (proxies) => freshFolders(world, folder, proxies),
    lapse: () => Promise.resolve(),
    async read(dataDir, ticketIds) {
      const database = openDatabase(dataDir);
      try {
        return await keptIn(embeddedStores(database), ticketIds);
      } finally {
        await database.close();
      }
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The state of the snapshot lies in the Redis itself, in a database that no proxy looks into. */
const PRISTINE = 1;

async function shared(world: Stocked, folder: string): Promise<Store> {
  const [port] = (await choosePorts([{ wanted: 0, usual: 0, option: "the Redis" }])) as [number];
  const server = await startRedisServer({ port, folder: path.join(folder, "redis"), role: "durable" });
  const { url } = server;
  const instance = { chainId: world.entry.chain_id, pool: world.entry.pool };
  const stores = await sharedStores({ url, instance });
  try {
    await credentialIn(stores.keys, new StackFolder(world.stackFolder).secrets);
  } finally {
    stores.close();
  }
  const client = createClient({ url, RESP: 2 });
  const pristine = createClient({ url, RESP: 2, database: PRISTINE });
  for (const each of [client, pristine]) {
    each.on("error", () => undefined);
    await each.connect();
  }
  const keys = await client.keys("*");
  for (const key of keys) await client.sendCommand(["COPY", key, key, "DB", String(PRISTINE), "REPLACE"]);
  return {
    name: "redis",
    settings: { CLOISTER_STORE_REDIS_URL: url },
    async reset(proxies) {
      await client.sendCommand(["FLUSHDB"]);
      for (const key of keys) await pristine.sendCommand(["COPY", key, key, "DB", "0", "REPLACE"]);
      return freshFolders(world, path.join(folder, "data"), proxies);
    },
    async lapse() {
      for (const name of ["sequencer-lease", "relay:lease"])
        for (const key of await client.keys(`*:${name}`)) await client.hSet(key, "until", "0");
      for (const key of await client.keys("*:idempotency:live:*")) await client.del(key);
    },
    async read(_dataDir, ticketIds) {
      const opened = await sharedStores({ url, instance, mustExist: true });
      try {
        return await keptIn(opened, ticketIds);
      } finally {
        opened.close();
      }
    },
    async close() {
      client.destroy();
      pristine.destroy();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
