/** One phrase, and a wallet for each network: opened together, followed while the tab is open, shown as they were last known. */
import {
  checkEnclaves,
  createClient,
  createWallet,
  indexedDbStorage,
  poolRootVerifier,
  type Client,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import type { Config, Network } from "./config.ts";
import { read, write } from "./kept.ts";
import { openProver } from "./proving.ts";
import { sessionTokens } from "./sessions.ts";

export const WALLETS = "cloister-wallets";
const RETRY_MS = 5_000;
const FIRST_ANSWER_MS = 20_000;
const NONCE_BYTES = 32;

/** What the page knows of a service: nothing yet; that it answers and has proved what it runs; or what went wrong. */
export type Standing =
  | { readonly state: "asking" }
  | { readonly state: "live"; readonly provedAt: Date }
  | { readonly state: "away"; readonly error: unknown };

export class Account {
  readonly network: Network;
  readonly client: Client;
  readonly wallet: Wallet;
  standing: Standing = { state: "asking" };
  /** When what is shown was last known to be up to date. */
  seenAt: Date | undefined;

  constructor(network: Network, client: Client, wallet: Wallet) {
    this.network = network;
    this.client = client;
    this.wallet = wallet;
  }
}

export class Purse {
  readonly accounts: readonly Account[];
  readonly prover: Prover;
  readonly #listeners = new Set<() => void>();
  readonly #ending = new AbortController();

  private constructor(accounts: readonly Account[], prover: Prover) {
    this.accounts = accounts;
    this.prover = prover;
  }

  /** Asks nobody: a wallet opens without a network too. Throws KEY_INVALID for what is no phrase. */
  static async open(config: Config, phrase: string): Promise<Purse> {
    const prover = openProver(config);
    const accounts: Account[] = [];
    for (const network of config.networks) {
      const { service, sessions, chainRpc, pins, id } = network;
      const client = createClient({
        baseUrl: service,
        credential: { sessionProvider: sessionTokens(sessions) },
      });
      const wallet = await createWallet({
        ...{ key: { phrase }, client, prover, pins },
        storage: indexedDbStorage(indexedDB, WALLETS, id),
        // Income counts as confirmed when the chain itself has the root, whatever the service says.
        verifyRoot: poolRootVerifier(chainRpc, pins.chainId, pins.pool),
      });
      const account = new Account(network, client, wallet);
      const seen = await read(`seen ${id}`);
      if (seen instanceof Date) account.seenAt = seen;
      accounts.push(account);
    }
    const purse = new Purse(accounts, prover);
    for (const account of accounts) void purse.#follow(account);
    return purse;
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly changed = (): void => {
    for (const listener of this.#listeners) listener();
  };

  async close(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.accounts.map(({ wallet }) => wallet.close()));
    await this.prover.close();
  }

  async #follow(account: Account): Promise<void> {
    const { signal } = this.#ending;
    const isOver = (): boolean => signal.aborted;
    while (!isOver()) {
      try {
        await prove(account);
        account.standing = { state: "live", provedAt: new Date() };
        this.changed();
        await this.#watch(account, signal);
      } catch (error) {
        if (isOver()) return;
        account.standing = { state: "away", error };
        this.changed();
        await pause(RETRY_MS, signal);
      }
    }
  }

  /** Rejects when the stream has given up. */
  async #watch(account: Account, signal: AbortSignal): Promise<never> {
    const { wallet, network } = account;
    const seen = (): void => {
      account.seenAt = new Date();
      void write(`seen ${network.id}`, account.seenAt);
      this.changed();
    };
    let stop = (): void => undefined;
    try {
      return await new Promise<never>((_resolve, reject) => {
        stop = wallet.watch(seen, reject);
        signal.addEventListener("abort", () => reject(new Error("closed")), { once: true });
        addEventListener("offline", () => reject(new TypeError("this device is offline")), { once: true });
        wallet.sync({ signal }).then(seen, reject);
      });
    } finally {
      if (!signal.aborted) stop();
    }
  }
}

/** That the service's enclaves run the pinned program, now: a nonce that nobody has seen before is in what they sign. */
export async function prove({ client, network }: Pick<Account, "client" | "network">): Promise<void> {
  if (!navigator.onLine) throw new TypeError("this device is offline");
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const hex = [...nonce].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const info = await client.info({ nonce: hex, signal: AbortSignal.timeout(FIRST_ANSWER_MS) });
  checkEnclaves(network.pins.enclaves, info, nonce, Date.now());
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    addEventListener("online", done, { once: true });
  });
}
