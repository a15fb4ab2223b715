/** One phrase, and a wallet for each network: opened together, followed while the tab is open, shown as they were last known. */
import {
  ClientError,
  createClient,
  createWallet,
  indexedDbStorage,
  type Client,
  type Prover,
  type ServingEnclave,
  type Wallet,
  type WalletOptions,
} from "../../shared/client/index.ts";
import type { Config, Network } from "./config.ts";
import { read, write } from "./kept.ts";
import { openProver } from "./proving.ts";
import { sessionTokens } from "./sessions.ts";

export const WALLETS = "cloister-wallets";
const RETRY_MS = 5_000;
const FIRST_ANSWER_MS = 20_000;

/** What the page knows of a service: nothing yet; that it answers and has proved what it runs; or what went wrong. */
export type Standing =
  | { readonly state: "asking" }
  | { readonly state: "live"; readonly provedAt: Date; readonly enclaves: readonly ServingEnclave[] }
  | { readonly state: "away"; readonly error: unknown };

export class Account {
  readonly network: Network;
  readonly client: Client;
  readonly wallet: Wallet;
  standing: Standing = { state: "asking" };
  /** When what is shown was last known to be up to date. */
  seenAt: Date | undefined;
  /** Of a stored history that was damaged: it is being read again, or has been. */
  history: "reading" | "read again" | undefined;

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

  /**
   * Asks nobody: a wallet opens without a network too. Throws KEY_INVALID for what is no phrase, and HISTORY_DAMAGED unless
   * `rebuild` says to go on without what is stored of a pool's history.
   */
  static async open(config: Config, phrase: string, { rebuild = false } = {}): Promise<Purse> {
    const prover = openProver(config);
    const accounts: Account[] = [];
    for (const network of config.networks) {
      const { service, sessions, chainRpc, pins, id } = network;
      const client = createClient({
        baseUrl: service,
        credential: { sessionProvider: sessionTokens(sessions) },
      });
      const options: WalletOptions = {
        ...{ key: { phrase }, client, prover, pins },
        storage: indexedDbStorage(indexedDB, WALLETS, id),
        // Income counts as confirmed when the chain itself has the root, and enclaves count when the pool has registered
        // them, whatever the service says.
        rpc: chainRpc,
      };
      const { wallet, isDamaged } = await openWallet(options, rebuild);
      const account = new Account(network, client, wallet);
      if (isDamaged) account.history = "reading";
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

  /** Rejects when the stream has given up, and when nothing can be stored any more. */
  async #watch(account: Account, signal: AbortSignal): Promise<never> {
    const { wallet, network } = account;
    let stop = (): void => undefined;
    try {
      return await new Promise<never>((_resolve, reject) => {
        const seen = (): void => {
          account.seenAt = new Date();
          write(`seen ${network.id}`, account.seenAt).catch(reject);
          this.changed();
        };
        stop = wallet.watch(seen, reject);
        signal.addEventListener("abort", () => reject(new Error("closed")), { once: true });
        addEventListener("offline", () => reject(new TypeError("this device is offline")), { once: true });
        wallet.sync({ signal }).then(() => {
          if (account.history === "reading") account.history = "read again";
          seen();
        }, reject);
      });
    } finally {
      if (!signal.aborted) stop();
    }
  }
}

async function openWallet(
  options: WalletOptions,
  rebuild: boolean,
): Promise<{ readonly wallet: Wallet; readonly isDamaged: boolean }> {
  try {
    return { wallet: await createWallet(options), isDamaged: false };
  } catch (error) {
    if (!rebuild || !(error instanceof ClientError) || error.code !== "HISTORY_DAMAGED") throw error;
    return { wallet: await createWallet({ ...options, rebuild }), isDamaged: true };
  }
}

/** That the service's enclaves run the pinned program, now, and that the pool has registered them. */
export async function prove(account: Account): Promise<void> {
  if (!navigator.onLine) throw new TypeError("this device is offline");
  const enclaves = await account.wallet.enclaves({ timeoutMs: FIRST_ANSWER_MS });
  account.standing = { state: "live", provedAt: new Date(), enclaves };
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
