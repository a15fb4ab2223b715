// What every part of the demo needs on one network: wallets of the client library, public accounts, the fees
// in force, each step timed and told, and the checks collected. Uses the client library as an app would.
import { type JsonRpcProvider, Wallet as Account } from "ethers";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Progress,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import type { FeeRules } from "../../shared/api/credentials.ts";
import { feeOf, type FeeOperation } from "../../shared/protocol/host/fees.ts";
import { joinAsDeveloper, type DemoDeveloper } from "./developer.ts";
import { chainOf, giveCoins } from "../stand-ins/local-chain.ts";
import { SERVICE_WALLET_SECRET } from "../stack/local-network.ts";
import { type NetworkEntry, type NetworkName, networkOf, type StackFile } from "../base/stack-file.ts";
import { type StackFolder } from "../stack/stack-folder.ts";
import { openStackWallet } from "../stack/stack-wallet.ts";
import { TestUsdc, type Token } from "../stand-ins/usdc.ts";

export type Unit = Pick<Token, "symbol" | "decimals">;

export interface Check {
  readonly network: NetworkName;
  readonly name: string;
  readonly unit: Unit;
  readonly expected: bigint;
  readonly actual: bigint;
}

export interface Timing {
  readonly network: NetworkName;
  readonly operation: string;
  readonly step: string;
  readonly ms: number;
}

export interface Sent {
  readonly network: NetworkName;
  readonly operation: string;
  /** Null where the depositor sent the transaction itself. */
  readonly ticket_id: string | null;
  readonly tx_hash: string | null;
}

export interface Result {
  readonly checks: readonly Check[];
  readonly timings: readonly Timing[];
  readonly transactions: readonly Sent[];
}

export interface StageOptions {
  readonly network: NetworkName;
  readonly stack: StackFile;
  readonly folder: StackFolder;
  readonly prover: Prover;
  readonly say: (text: string) => void;
}

export class Stage {
  readonly entry: NetworkEntry;
  readonly chain: JsonRpcProvider;
  readonly say: (text: string) => void;
  /** The developer whose app the demo plays. */
  readonly #developer: DemoDeveloper;
  readonly #options: StageOptions;
  readonly #client: Client;
  readonly #wallets: Wallet[] = [];
  readonly #checks: Check[] = [];
  readonly #timings: Timing[] = [];
  readonly #transactions: Sent[] = [];
  #rules: readonly FeeRules[] = [];

  private constructor(options: StageOptions, developer: DemoDeveloper) {
    const { stack, network, say } = options;
    this.#options = options;
    this.#developer = developer;
    this.say = say;
    this.entry = networkOf(stack, network);
    this.chain = chainOf(this.entry);
    const credential = { apiKey: developer.apiKey };
    this.#client = createClient({ baseUrl: this.entry.base_url, credential });
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { stack, folder, network } = options;
    const developer = await joinAsDeveloper(folder, network, networkOf(stack, network));
    const stage = new Stage(options, developer);
    try {
      stage.#rules = (await stage.#client.whoami()).fees;
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const wallet of this.#wallets) await wallet.close();
    this.chain.destroy();
    await this.#developer.leave();
  }

  token(symbol: string): Token {
    const found = this.entry.tokens.find((token) => token.symbol === symbol);
    if (found === undefined) throw new Error(`the network has no ${symbol}`);
    return found;
  }

  async wallet(seed: Uint8Array = newSeed()): Promise<Wallet> {
    const made = await openStackWallet(this.entry, {
      ...{ seed, client: this.#client, prover: this.#options.prover, storage: memoryStorage() },
      developerSink: this.#developer.sink,
    });
    this.#wallets.push(made);
    return made;
  }

  /** The wallets that receive the service's and the developer's fees, as they stand. */
  async feeWallets(): Promise<{ readonly service: Wallet; readonly developer: Wallet }> {
    const { folder, network } = this.#options;
    const seed = mustFromHex(await folder.network(network).secrets.text(SERVICE_WALLET_SECRET));
    const service = await this.wallet(seed);
    const developer = await this.wallet(this.#developer.seed);
    await Promise.all([service.sync(), developer.sync()]);
    return { service, developer };
  }

  /** A fresh public account with so much of the chain's coin. */
  async account(coins = 0n): Promise<Account> {
    const account = new Account(Account.createRandom().privateKey, this.chain);
    if (coins > 0n) await giveCoins(this.chain, account.address, coins);
    return account;
  }

  async publicBalance(token: Token, of: string): Promise<bigint> {
    return (await TestUsdc.at(token.address, this.chain)).balanceOf(of);
  }

  /** What service and developer ask for together. */
  fee(operation: FeeOperation, token: Token, amount: bigint): bigint {
    return (
      this.feeOf("service", operation, token, amount) + this.feeOf("developer", operation, token, amount)
    );
  }

  feeOf(party: "service" | "developer", operation: FeeOperation, token: Token, amount: bigint): bigint {
    const rule = this.#rules.find(
      (row) => row.operation === operation && row.asset.toLowerCase() === token.address.toLowerCase(),
    )?.[party];
    return rule === null || rule === undefined
      ? 0n
      : feeOf({ flat: BigInt(rule.flat), bps: rule.bps }, amount);
  }

  async run<
    T extends {
      readonly ticket?: { ticket_id: string; tx_hash: string | null };
      transactionHash?: string | undefined;
    },
  >(operation: string, work: (progress: Progress) => Promise<T>): Promise<T> {
    const { network } = this.#options;
    const steps: string[] = [];
    const made = await work(({ step, state, ms = 0 }) => {
      if (state !== "end") return;
      this.#timings.push({ network, operation, step, ms });
      steps.push(`${step} ${(ms / 1000).toFixed(2)}`);
    });
    this.say(`     seconds: ${steps.join(", ")}`);
    this.#transactions.push({
      network,
      operation,
      ticket_id: made.ticket?.ticket_id ?? null,
      tx_hash: made.ticket?.tx_hash ?? made.transactionHash ?? null,
    });
    return made;
  }

  check(name: string, unit: Unit, expected: bigint, actual: bigint): void {
    const { symbol, decimals } = unit;
    this.#checks.push({
      network: this.#options.network,
      ...{ name, unit: { symbol, decimals }, expected, actual },
    });
  }

  result(): Result {
    return { checks: this.#checks, timings: this.#timings, transactions: this.#transactions };
  }
}
