/** Developers from memory, at most two seconds old: limits, origins and session epochs without a read per request. */
import type { Developer, KeyStore } from "../store/keys.ts";
import { originsOfAll } from "./browser-origins.ts";

/** HTTP.md promises that a revocation is felt within 5 s. */
const REFRESH_MS = 2_000;

/** Memory, and what streams and recent callers are asked again by, together: how late a change may be felt. */
export const FELT_MS = 5_000;

export class Developers {
  readonly #store: Pick<KeyStore, "developers">;
  readonly #now: () => number;
  #known: ReadonlyMap<string, Developer> = new Map();
  #origins: ReadonlySet<string> = new Set();
  #readAt = -Infinity;
  #reading: Promise<void> | undefined;

  constructor(store: Pick<KeyStore, "developers">, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  async get(id: string): Promise<Developer | undefined> {
    await this.#refresh();
    return this.#known.get(id);
  }

  /** Every origin that any developer registered: what a preflight, which carries no credential, may be told. */
  async origins(): Promise<ReadonlySet<string>> {
    await this.#refresh();
    return this.#origins;
  }

  async #refresh(): Promise<void> {
    if (this.#now() - this.#readAt < REFRESH_MS) return;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    await this.#reading;
  }

  async #read(): Promise<void> {
    const startedAt = this.#now();
    const all = await this.#store.developers();
    this.#known = new Map(all.map((developer) => [developer.id, developer]));
    this.#origins = originsOfAll(all);
    this.#readAt = startedAt;
  }
}
