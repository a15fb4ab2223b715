// What every part of the demo needs on one network: wallets of the client library, public accounts, the fees
// in force, each step timed and told, and the checks collected. Uses the client library as an app would.
import { Contract, JsonRpcProvider, toBeHex, Wallet as Account } from "ethers";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Progress,
  type Prover,
  type Wallet,
} from "../../../shared/client/index.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import type { FeeRules } from "../../../shared/api/credentials.ts";
import { feeOf, type FeeOperation } from "../../../shared/protocol/host/fees.ts";
import { joinAsDeveloper, type DemoDeveloper } from "./developer.ts";
import { SERVICE_WALLET_SECRET } from "../local-network.ts";
import { type NetworkEntry, type NetworkName, networkOf, type StackFile } from "../../product/stack-file.ts";
import { type StackFolder } from "../stack-folder.ts";
import { openStackWallet } from "../stack-wallet.ts";
import { showUnits } from "../usdc.ts";

export interface Unit {
  readonly symbol: string;
  readonly decimals: number;
}

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

export type Token = NetworkEntry["tokens"][number];

export class Stage {
  readonly entry: NetworkEntry;
  readonly chain: JsonRpcProvider;
  readonly say: (text: string) => void;
  readonly #options: StageOptions;
  readonly #wallets: Wallet[] = [];
  readonly #checks: Check[] = [];
  readonly #timings: Timing[] = [];
  readonly #transactions: Sent[] = [];
  #rules: readonly FeeRules[] = [];
  #developer: DemoDeveloper | undefined;
  #client: Client | undefined;

  constructor(options: StageOptions) {
    const { stack, network, say } = options;
    this.#options = options;
    this.say = say;
    this.entry = networkOf(stack, network);
    this.chain = new JsonRpcProvider(this.entry.chain_rpc, this.entry.chain_id, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 200,
    });
  }

  async open(): Promise<void> {
    const { folder, network } = this.#options;
    this.#developer = await joinAsDeveloper(folder, network, this.entry);
    const credential = { apiKey: this.#developer.apiKey };
    this.#client = createClient({ baseUrl: this.entry.base_url, credential });
    this.#rules = (await this.#client.whoami()).fees;
  }

  async close(): Promise<void> {
    for (const wallet of this.#wallets) await wallet.close();
    this.chain.destroy();
    await this.#developer?.leave();
  }

  /** The developer whose app the demo plays; there after `open`. */
  get developer(): DemoDeveloper {
    if (this.#developer === undefined) throw new Error("the stage is not open");
    return this.#developer;
  }

  get client(): Client {
    if (this.#client === undefined) throw new Error("the stage is not open");
    return this.#client;
  }

  token(symbol: string): Token {
    const found = this.entry.tokens.find((token) => token.symbol === symbol);
    if (found === undefined) throw new Error(`the network has no ${symbol}`);
    return found;
  }

  async wallet(seed: Uint8Array = newSeed()): Promise<Wallet> {
    const { client, entry } = this;
    const { prover } = this.#options;
    const made = await openStackWallet(entry, {
      ...{ seed, client, prover, storage: memoryStorage() },
      developerSink: this.developer.sink,
    });
    this.#wallets.push(made);
    return made;
  }

  /** The wallet that receives the service's fees, as it stands. */
  async serviceWallet(): Promise<Wallet> {
    const { folder, network } = this.#options;
    const seed = mustFromHex(await folder.network(network).secrets.text(SERVICE_WALLET_SECRET));
    const wallet = await this.wallet(seed);
    await wallet.sync();
    return wallet;
  }

  /** The wallet that receives the developer's fees, as it stands. */
  async developerWallet(): Promise<Wallet> {
    const wallet = await this.wallet(this.developer.seed);
    await wallet.sync();
    return wallet;
  }

  /** A fresh public account with so much of the chain's coin. */
  async account(coins = 0n): Promise<Account> {
    const account = new Account(Account.createRandom().privateKey, this.chain);
    if (coins > 0n) await this.chain.send("anvil_setBalance", [account.address, toBeHex(coins)]);
    return account;
  }

  publicBalance(token: Token, of: string): Promise<bigint> {
    const contract = new Contract(token.address, ["function balanceOf(address) view returns (uint256)"]);
    return contract.connect(this.chain).getFunction("balanceOf")(of) as Promise<bigint>;
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
    T extends { readonly ticket?: { ticket_id: string; tx_hash: string | null }; transactionHash?: string },
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

export function show(amount: bigint, { symbol, decimals }: Unit): string {
  return `${showUnits(amount, decimals)} ${symbol}`;
}
