// One developer and one API key for the whole local stack: the same key in the store of every network. It is
// kept in a file for its owner, beside its record; a production proxy shows a key once and keeps only a keyed hash.
import { readFile } from "node:fs/promises";
import { createApiKey } from "../../proxy/auth/api-keys.ts";
import { loadPepper } from "../../proxy/auth/secret-files.ts";
import { openDatabase } from "../../proxy/store/lmdb/database.ts";
import { embeddedStores } from "../../proxy/store/instance.ts";
import type { ApiKey, KeyStore } from "../../proxy/store/keys.ts";
import { z } from "zod";
import type { Secrets } from "./stack-folder.ts";

export const DEVELOPER_ID = "development";

const KEPT_IN = "api-key.json";
const PEPPER = "api-key.pepper";

const kept = z.object({ key: z.string(), id: z.string(), secret_hash: z.base64(), created_at: z.string() });
type Kept = z.infer<typeof kept>;

/** The file of the pepper under which the key is stored on every network. */
export function pepperFile(shared: Secrets): Promise<string> {
  return shared.file(PEPPER);
}

/** Sees to it that the store of each network has the key. */
export async function developmentCredential(shared: Secrets, dataDirs: readonly string[]): Promise<string> {
  let key: string | undefined;
  for (const dataDir of dataDirs) {
    const database = openDatabase(dataDir);
    try {
      key = await credentialIn(embeddedStores(database).keys, shared);
    } finally {
      await database.close();
    }
  }
  if (key === undefined) throw new Error("no network, no credential");
  return key;
}

/** Makes the key at the first start; afterwards every store gets the same one. */
export async function credentialIn(store: KeyStore, shared: Secrets): Promise<string> {
  await addDeveloper(store);
  const known = await read(shared);
  if (known === undefined) {
    const made = await make(store, await loadPepper(await pepperFile(shared)));
    await shared.write(KEPT_IN, `${JSON.stringify(made, undefined, 2)}\n`);
    return made.key;
  }
  if ((await store.key(known.id)) === undefined) await store.addKey(recordOf(known));
  return known.key;
}

async function addDeveloper(store: KeyStore): Promise<void> {
  await store.addDeveloper({
    id: DEVELOPER_ID,
    name: "Development",
    createdAt: new Date().toISOString(),
    sessionEpoch: 0,
    // Those of every developer, so that who tries the service meets them here and not later.
    limits: {},
    origins: [],
  });
}

async function make(store: KeyStore, pepper: Uint8Array): Promise<Kept> {
  const { key, record } = await createApiKey(store, pepper, DEVELOPER_ID, "local stack");
  const secretHash = Buffer.from(record.secretHash).toString("base64");
  return { key, id: record.id, secret_hash: secretHash, created_at: record.createdAt };
}

function recordOf({ id, secret_hash: secretHash, created_at: createdAt }: Kept): ApiKey {
  return {
    id,
    developerId: DEVELOPER_ID,
    name: "local stack",
    secretHash: Uint8Array.from(Buffer.from(secretHash, "base64")),
    createdAt,
    lastUsedAt: undefined,
    revokedAt: undefined,
  };
}

async function read(shared: Secrets): Promise<Kept | undefined> {
  const text = await readFile(shared.path(KEPT_IN), "utf8").catch(() => undefined);
  return text === undefined ? undefined : kept.parse(JSON.parse(text));
}
