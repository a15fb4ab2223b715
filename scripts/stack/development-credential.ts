// One developer and one API key for the whole local stack: the same key in the store of every network. It is
// kept in a file for its owner, beside its record; a production proxy shows a key once and keeps only a keyed hash.
import { readFile } from "node:fs/promises";
import { createApiKey } from "../../proxy/base/auth/api-keys.ts";
import { addDeveloper } from "../../proxy/base/auth/registration.ts";
import { loadPepper } from "../../proxy/base/auth/secret-files.ts";
import type { ApiKey, KeyStore } from "../../proxy/base/store/keys.ts";
import { z } from "zod";
import { inStore } from "./local-store.ts";
import type { Secrets } from "./stack-folder.ts";

export const DEVELOPER_ID = "development";

const KEPT_IN = "api-key.json";
const PEPPER = "api-key.pepper";
const NAME = "local stack";

const kept = z.object({ key: z.string(), id: z.string(), secret_hash: z.base64(), created_at: z.string() });
type Kept = z.infer<typeof kept>;

/** The file of the pepper under which the key is stored on every network. */
export function pepperFile(shared: Secrets): Promise<string> {
  return shared.file(PEPPER);
}

/** Sees to it that the store of each network has the key. */
export async function developmentCredential(shared: Secrets, dataDirs: readonly string[]): Promise<string> {
  let key: string | undefined;
  for (const dataDir of dataDirs) key = await inStore(dataDir, ({ keys }) => credentialIn(keys, shared));
  if (key === undefined) throw new Error("no network, no credential");
  return key;
}

/** Makes the key at the first start; afterwards every store gets the same one. */
export async function credentialIn(store: KeyStore, shared: Secrets): Promise<string> {
  // Its limits are those of every developer, so that who tries the service meets them here and not later.
  if ((await store.developer(DEVELOPER_ID)) === undefined)
    await addDeveloper(store, { id: DEVELOPER_ID, name: "Development" });
  const known = await read(shared);
  if (known === undefined) {
    const pepper = await loadPepper(await pepperFile(shared));
    const { key, record } = await createApiKey(store, pepper, DEVELOPER_ID, NAME);
    const secretHash = Buffer.from(record.secretHash).toString("base64");
    const made: Kept = { key, id: record.id, secret_hash: secretHash, created_at: record.createdAt };
    await shared.write(KEPT_IN, `${JSON.stringify(made, undefined, 2)}\n`);
    return key;
  }
  if ((await store.key(known.id)) === undefined) await store.addKey(recordOf(known));
  return known.key;
}

function recordOf({ id, secret_hash: secretHash, created_at: createdAt }: Kept): ApiKey {
  return {
    id,
    developerId: DEVELOPER_ID,
    name: NAME,
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
