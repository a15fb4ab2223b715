/**
 * Where a wallet keeps its state between runs. A storage sees sealed bytes only (see state-codec.ts), so
 * it needs no secrets; it must give back what it was last given, or throw, and never half of it.
 */
import { base64 } from "@scure/base";
import { ClientError } from "./errors.ts";

export interface WalletStorage {
  /** Undefined when nothing was ever saved. */
  load(): Promise<Uint8Array | undefined>;
  save(bytes: Uint8Array): Promise<void>;
}

/** Forgets everything at the end of the program. */
export function memoryStorage(): WalletStorage {
  let held: Uint8Array | undefined;
  return {
    load: async () => held?.slice(),
    save: async (bytes) => {
      held = bytes.slice();
    },
  };
}

/** The part of `localStorage` that is used here. */
export interface TextStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

/** For small wallets: browsers cap `localStorage` at about 5 MB. */
export function textStorage(store: TextStore, key: string): WalletStorage {
  return {
    async load() {
      const text = store.getItem(key);
      if (text === null) return undefined;
      try {
        return base64.decode(text);
      } catch (cause) {
        throw new ClientError("STORAGE_CORRUPT", `the entry "${key}" is not base64`, { cause });
      }
    },
    save: async (bytes) => store.setItem(key, base64.encode(bytes)),
  };
}

const STORE = "wallets";

/** For any wallet in a browser. `factory` is the page's `indexedDB`; one transaction a save, so a save is whole or absent. */
export function indexedDbStorage(factory: IDBFactory, database: string, key: string): WalletStorage {
  async function open(): Promise<IDBDatabase> {
    const request = factory.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    return settled(request);
  }
  return {
    async load() {
      const db = await open();
      try {
        const found: unknown = await settled(db.transaction(STORE).objectStore(STORE).get(key));
        if (found !== undefined && !(found instanceof Uint8Array)) throw new ClientError("STORAGE_CORRUPT");
        return found;
      } finally {
        db.close();
      }
    },
    async save(bytes) {
      const db = await open();
      try {
        const change = db.transaction(STORE, "readwrite", { durability: "strict" });
        change.objectStore(STORE).put(bytes, key);
        await new Promise<void>((resolve, reject) => {
          change.oncomplete = () => resolve();
          change.onabort = () => reject(change.error ?? new Error("the browser gave up the save"));
        });
      } finally {
        db.close();
      }
    },
  };
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database failed"));
  });
}
