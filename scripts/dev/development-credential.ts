// One developer and one API key for the local stack, made at its first start. The key itself is kept in a
// file for its owner: a production proxy shows a key once and keeps only a keyed hash.
import { readFile, writeFile } from "node:fs/promises";
import { createApiKey } from "../../proxy/auth/api-keys.ts";
import { loadPepper } from "../../proxy/auth/secret-files.ts";
import { openDatabase } from "../../proxy/store/lmdb/database.ts";
import { openKeyStore } from "../../proxy/store/lmdb/keys.ts";

const DEVELOPER_ID = "development";
/** A demo, a test and a person with curl share this key. Sessions keep the ordinary limit. */
const LIMITS = { keyPerMinute: 6_000, keyPerDay: 1_000_000 };

export interface DevelopmentCredentialOptions {
  readonly dataDir: string;
  readonly pepperFile: string;
  readonly keptIn: string;
}

export async function developmentCredential(options: DevelopmentCredentialOptions): Promise<string> {
  const kept = await readFile(options.keptIn, "utf8").catch(() => undefined);
  if (kept !== undefined) return kept.trim();
  const database = openDatabase(options.dataDir);
  try {
    const store = openKeyStore(database);
    await store.addDeveloper({
      id: DEVELOPER_ID,
      name: "Development",
      createdAt: new Date().toISOString(),
      sessionEpoch: 0,
      limits: LIMITS,
      origins: [],
    });
    const { key } = await createApiKey(
      store,
      await loadPepper(options.pepperFile),
      DEVELOPER_ID,
      "local stack",
    );
    await writeFile(options.keptIn, `${key}\n`, { mode: 0o600 });
    return key;
  } finally {
    await database.close();
  }
}
