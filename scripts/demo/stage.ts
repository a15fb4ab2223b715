// What every part of the demo needs on one network: wallets of the client library, public accounts, the fees
// in force, each step timed and told, and what has to hold. Uses the client library as an app would.
import type { Progress, Prover, Wallet } from "../../shared/client/index.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import type { FeeRules } from "../../shared/api/credentials.ts";
import { feeOf, type FeeOperation } from "../../shared/protocol/host/fees.ts";
import { Parties } from "../base/parties.ts";
import { type NetworkName, networkOf, type StackFile } from "../base/stack-file.ts";
import { SERVICE_WALLET_SECRET } from "../stack/local-network.ts";
import type { NetworkFolder, StackFolder } from "../stack/stack-folder.ts";
import { NetworkStage } from "../stack/stage.ts";
import { TestUsdc, type Token } from "../stand-ins/usdc.ts";
import { joinAsDeveloper, type DemoDeveloper } from "./developer.ts";
import type { Chapter, Unit } from "./story.ts";

export interface DemoOptions {
  readonly network: NetworkName;
  readonly stack: StackFile;
  readonly folder: StackFolder;
  readonly prover: Prover;
  readonly say: (text: string) => void;
  readonly chapter: Chapter;
}

export class DemoStage extends NetworkStage {
  readonly say: (text: string) => void;
  readonly chapter: Chapter;
  readonly #secrets: NetworkFolder["secrets"];
  /** Whose app the demo plays. */
  readonly #developer: DemoDeveloper;
  #rules: readonly FeeRules[] = [];

  private constructor(
    { stack, network, folder, prover, say, chapter }: DemoOptions,
    developer: DemoDeveloper,
    parties: Parties,
  ) {
    super({ entry: networkOf(stack, network), apiKey: developer.apiKey, prover, parties });
    this.say = say;
    this.chapter = chapter;
    this.#secrets = folder.network(network).secrets;
    this.#developer = developer;
  }

  static on(options: DemoOptions, play: (stage: DemoStage) => Promise<void>): Promise<void> {
    return Parties.start(async (parties) => {
      const { stack, folder, network } = options;
      const developer = await joinAsDeveloper(folder, network, networkOf(stack, network));
      parties.add({ stop: () => developer.leave() });
      const stage = new DemoStage(options, developer, parties);
      stage.#rules = (await stage.client.whoami()).fees;
      await play(stage);
      await stage.close();
    });
  }

  token(symbol: string): Token {
    const found = this.entry.tokens.find((token) => token.symbol === symbol);
    if (found === undefined) throw new Error(`the network has no ${symbol}`);
    return found;
  }

  override wallet(seed?: Uint8Array): Promise<Wallet> {
    return super.wallet(seed, this.client, this.#developer.sink);
  }

  /** The wallets that receive the service's and the developer's fees, as they stand. */
  async feeWallets(): Promise<{ readonly service: Wallet; readonly developer: Wallet }> {
    const seed = mustFromHex(await this.#secrets.text(SERVICE_WALLET_SECRET));
    const service = await this.wallet(seed);
    const developer = await this.wallet(this.#developer.seed);
    await Promise.all([service.sync(), developer.sync()]);
    return { service, developer };
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
    const { timings, transactions } = this.chapter;
    const steps: string[] = [];
    const made = await work(({ step, state, ms = 0 }) => {
      if (state !== "end") return;
      timings.push({ operation, step, ms });
      steps.push(`${step} ${(ms / 1000).toFixed(2)}`);
    });
    this.say(`     seconds: ${steps.join(", ")}`);
    transactions.push({
      operation,
      ticket_id: made.ticket?.ticket_id ?? null,
      tx_hash: made.ticket?.tx_hash ?? made.transactionHash ?? null,
    });
    return made;
  }

  check(name: string, { symbol, decimals }: Unit, expected: bigint, actual: bigint): void {
    this.chapter.is(name, actual, expected, { symbol, decimals });
  }
}
