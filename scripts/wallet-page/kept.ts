import { ClientError } from "../../shared/client/index.ts";

/** What the page keeps in this browser besides the wallets' own storage: one small IndexedDB, one entry for each name. */
const DATABASE = "cloister-page";
const STORE = "kept";

export type Name =
  "vault" | "settings" | "throw-away key" | `seen ${string}` | `book ${string}` | `notes ${string}`;

export async function read(name: Name): Promise<unknown> {
  return within("readonly", (store) => store.get(name));
}

/** Throws STORAGE_FAILED: the disk is full, or the browser refuses. */
export async function write(name: Name, value: unknown): Promise<void> {
  try {
    await within("readwrite", (store) => store.put(value, name));
  } catch (cause) {
    throw new ClientError("STORAGE_FAILED", `${name} was not written`, { cause });
  }
}

/** Forgets this page's entries and the wallets' storage. */
export async function forgetAll(wallets: string): Promise<void> {
  await Promise.all([DATABASE, wallets].map((name) => settled(indexedDB.deleteDatabase(name))));
}

async function within<T>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => void opening.result.createObjectStore(STORE);
  const db = await settled(opening);
  try {
    return await settled(work(db.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    db.close();
  }
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database failed"));
  });
}
