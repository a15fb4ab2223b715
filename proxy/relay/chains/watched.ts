/**
 * The addresses that are open, each under its key, and whose they are. Followers take what is new from here; whether an
 * event concerns us is one look into a map, so ten thousand addresses ask no more of a node than ten.
 */
import type { BridgeEvent, Key } from "./events.ts";

/** Where a key is an address of ours. A payee is none: of him only what a route brings is kept. */
export type Where = "home" | "source" | "alt" | "payee";

export interface WatchedKey {
  readonly key: Key;
  readonly where: Where;
}

export interface WatchedRequest {
  readonly bridgeId: string;
  readonly keys: readonly WatchedKey[];
  /** By chain's name: the newest block that was final when the address was made. Nothing older is looked for. */
  readonly since: Readonly<Record<string, number>>;
  /** Unix seconds: for a chain that could not be asked for its newest block then. */
  readonly madeAt: number;
}

export interface Newcomers {
  /** Looks for what came since the last call, or for everything after `all`. What could not be looked for comes again. */
  welcome(lookBack: (fresh: readonly WatchedRequest[]) => Promise<void>): Promise<void>;
  /** Not taken yet: nothing is known of it. */
  readonly isWaiting: (bridgeId: string) => boolean;
  /** What is known of this address is not whole: it is to be looked for again. */
  again(key: Key): void;
  /** Everything is to be looked for again: the chain is not the one that was followed. */
  all(): void;
}

export class Watched {
  readonly #requests = new Map<string, WatchedRequest>();
  /** Two users may ask for one address; nearly always it is one. */
  readonly #owners = new Map<Key, string | readonly string[]>();
  readonly #places: Record<Where, Set<Key>> = {
    ...{ home: new Set(), source: new Set(), alt: new Set(), payee: new Set() },
  };
  readonly #readers = new Set<Map<string, WatchedRequest>>();
  readonly #ends = new Set<(key: Key) => void>();

  get size() {
    return this.#requests.size;
  }

  get(bridgeId: string): WatchedRequest | undefined {
    return this.#requests.get(bridgeId);
  }

  /** Whether an event on a chain where addresses are `where` is kept under this key. */
  keeps(where: Where, key: Key, { kind }: BridgeEvent): boolean {
    if (kind === "moved") return this.#places[where].has(key);
    if (kind === "credited") return this.#owners.has(key);
    return this.#places.home.has(key) || this.#places.source.has(key) || this.#places.alt.has(key);
  }

  ownersOf(key: Key): readonly string[] {
    const found = this.#owners.get(key);
    return found === undefined ? [] : typeof found === "string" ? [found] : found;
  }

  /** Keys that are addresses there. */
  addresses(where: Where): ReadonlySet<Key> {
    return this.#places[where];
  }

  /** False when it is watched already. */
  add(request: WatchedRequest): boolean {
    if (this.#requests.has(request.bridgeId)) return false;
    this.#requests.set(request.bridgeId, request);
    for (const { key, where } of request.keys) {
      const others = this.ownersOf(key).filter((one) => one !== request.bridgeId);
      this.#owners.set(key, others.length === 0 ? request.bridgeId : [...others, request.bridgeId]);
      this.#places[where].add(key);
    }
    for (const reader of this.#readers) reader.set(request.bridgeId, request);
    return true;
  }

  remove(bridgeId: string): void {
    const request = this.#requests.get(bridgeId);
    if (request === undefined) return;
    this.#requests.delete(bridgeId);
    for (const reader of this.#readers) reader.delete(bridgeId);
    for (const { key, where } of request.keys) {
      const others = this.ownersOf(key).filter((one) => one !== bridgeId);
      if (others.length > 0) {
        this.#owners.set(key, others);
        continue;
      }
      this.#owners.delete(key);
      this.#places[where].delete(key);
      for (const onEnd of this.#ends) onEnd(key);
    }
  }

  /** Told of each key that nobody watches any more. */
  onEnd(listener: (key: Key) => void): void {
    this.#ends.add(listener);
  }

  /** For one follower: everything that is open now is new to it. */
  newcomers(): Newcomers {
    const waiting = new Map(this.#requests);
    this.#readers.add(waiting);
    return {
      welcome: async (lookBack) => {
        const fresh = [...waiting.values()];
        waiting.clear();
        if (fresh.length === 0) return;
        try {
          await lookBack(fresh);
        } catch (error) {
          for (const request of fresh)
            if (this.#requests.get(request.bridgeId) === request) waiting.set(request.bridgeId, request);
          throw error;
        }
      },
      isWaiting: (bridgeId) => waiting.has(bridgeId),
      again: (key) => {
        for (const id of this.ownersOf(key)) waiting.set(id, this.#requests.get(id)!);
      },
      all: () => {
        for (const [id, request] of this.#requests) waiting.set(id, request);
      },
    };
  }

  ids(): IterableIterator<string> {
    return this.#requests.keys();
  }
}
