/**
 * Where a wallet keeps its state between runs. A storage sees sealed bytes only (see state-codec.ts), so
 * it needs no secrets; it must give back what it was last given, or throw, and never half of it.
 */
import { bytesToHex, randomBytes } from "@noble/hashes/utils.js";
import { base64 } from "@scure/base";
import { ClientError } from "../base/errors.ts";

export interface StoredBytes {
  readonly bytes: Uint8Array;
  /** Another one for each save. */
  readonly version: string;
}

/** Several wallets may hold one storage, in tabs or processes: no save takes the place of one that its writer has not seen. */
export interface WalletStorage {
  /** Undefined when nothing was ever saved. */
  load(): Promise<StoredBytes | undefined>;
  /**
   * Takes the place of the version `replaces`, undefined for nothing, and answers with its own. Undefined when the
   * storage holds another version by now: then nothing has changed. Comparing and replacing are one step to all others.
   */
  save(bytes: Uint8Array, replaces: string | undefined): Promise<string | undefined>;
  /**
   * Where it can hold parts beside that: then a save writes what has changed. Without it every save writes everything, which
   * is right and, for a large pool, slow. A storage that wraps another one passes it on, or none of it.
   */
  readonly parts?: PartStorage;
}

/** Parts of a wallet, each under a name of 48 hex digits that is never given again. What `load` and `save` hold names them. */
export interface PartStorage {
  /** By name; those that are not there are not in the answer. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>>;
  /**
   * As `save` of the storage, and in the same step: where the new bytes are there, so are the parts that came with them.
   * Every part that is not named is removed; not before the new bytes have taken their place.
   */
  save(bytes: Uint8Array, replaces: string | undefined, parts: PartChange): Promise<string | undefined>;
}

export interface PartChange {
  readonly added: ReadonlyMap<string, Uint8Array>;
  /** All that are still needed, those that are added too. */
  readonly named: ReadonlySet<string>;
}

/** Forgets everything at the end of the program. */
export function memoryStorage(): WalletStorage {
  let held: StoredBytes | undefined;
  return {
    load: async () => held && { ...held, bytes: held.bytes.slice() },
    save: async (bytes, replaces) => {
      if (held?.version !== replaces) return undefined;
      held = { bytes: bytes.slice(), version: newVersion() };
      return held.version;
    },
  };
}

/** The part of `localStorage` that is used here. */
export interface TextStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
}

/**
 * For small wallets in one tab: browsers cap `localStorage` at about 5 MB. It compares before it replaces, but a
 * browser may show a tab another tab's text late, under a lock too; where two tabs may be open, take `indexedDbStorage`.
 */
export function textStorage(store: TextStore, key: string): WalletStorage {
  // Each save is sealed under a nonce of its own, so the text is its own version.
  return {
    async load() {
      const text = store.getItem(key);
      if (text === null) return undefined;
      try {
        return { bytes: base64.decode(text), version: text };
      } catch (cause) {
        throw new ClientError("STORAGE_CORRUPT", `the entry "${key}" is not base64`, { cause });
      }
    },
    async save(bytes, replaces) {
      if ((store.getItem(key) ?? undefined) !== replaces) return undefined;
      const text = base64.encode(bytes);
      store.setItem(key, text);
      return text;
    },
  };
}

const STORE = "wallets";

/**
 * For any wallet in a browser, in any number of tabs. `factory` is the page's `indexedDB`; comparing and replacing
 * are one transaction, and the browser runs those that write one after another.
 */
export function indexedDbStorage(factory: IDBFactory, database: string, key: string): WalletStorage {
  async function within<T>(
    mode: IDBTransactionMode,
    work: (store: IDBObjectStore) => Promise<T>,
  ): Promise<T> {
    const request = factory.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    const db = await settled(request);
    try {
      const transaction = db.transaction(STORE, mode, { durability: "strict" });
      const done = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("the browser gave up the save"));
      });
      // Whichever of the two fails, the other one's failure is not a second fault.
      done.catch(() => undefined);
      const result = await work(transaction.objectStore(STORE));
      await done;
      return result;
    } finally {
      db.close();
    }
  }
  const save = (
    bytes: Uint8Array,
    replaces: string | undefined,
    { added, named }: PartChange = { added: new Map(), named: new Set() },
  ): Promise<string | undefined> =>
    within("readwrite", async (store) => {
      if (readEntry(await settled(store.get(key)))?.version !== replaces) return undefined;
      const entry: StoredBytes = { bytes, version: newVersion() };
      await settled(store.put(entry, key));
      for (const [name, part] of added) store.put(part, [key, name]);
      for (const held of await settled(store.getAllKeys(IDBKeyRange.bound([key], [key, []]))))
        if (!named.has(String((held as readonly unknown[])[1]))) store.delete(held);
      return entry.version;
    });
  return {
    load: () => within("readonly", async (store) => readEntry(await settled(store.get(key)))),
    save,
    parts: {
      read: (names) =>
        within("readonly", async (store) => {
          const found = await Promise.all(names.map((name) => settled<unknown>(store.get([key, name]))));
          return new Map(
            names.flatMap((name, i) => (found[i] instanceof Uint8Array ? [[name, found[i]] as const] : [])),
          );
        }),
      save,
    },
  };
}

function readEntry(untrusted: unknown): StoredBytes | undefined {
  if (untrusted === undefined) return undefined;
  // An entry from before there were versions; nobody writes a second one.
  if (untrusted instanceof Uint8Array) return { bytes: untrusted, version: "" };
  const { bytes, version } = untrusted as Partial<Record<keyof StoredBytes, unknown>>;
  if (!(bytes instanceof Uint8Array) || typeof version !== "string") throw new ClientError("STORAGE_CORRUPT");
  return { bytes, version };
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database failed"));
  });
}

function newVersion(): string {
  return bytesToHex(randomBytes(16));
}
