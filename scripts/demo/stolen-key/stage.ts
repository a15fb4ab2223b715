// What the demonstration of the stolen key plays on: a local stack whose pool is like one for money in all but its delays,
// the chain's clock, the watcher with its refuter, and the checks collected. Development only.
import { Contract, Wallet as Account } from "ethers";
import { poolChain } from "../../../shared/client/chain.ts";
import { memoryStorage, type Wallet } from "../../../shared/client/index.ts";
import { POOL_ABI, TOKEN_ABI } from "../../../shared/contracts/abi.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import type { Home } from "../../../shared/protocol/statements.ts";
import { readKeys } from "../../deploy/pool.ts";
import { Account as RefutersAccount, memoryBook } from "../../watch/account.ts";
import type { Finding } from "../../watch/findings.ts";
import { memoryJournal } from "../../watch/journal.ts";
import { connectNode } from "../../watch/node.ts";
import { Refuter, reportLine } from "../../watch/refuter.ts";
import { createWatcher, type Watcher } from "../../watch/watcher.ts";
import { NO_UPDATE, type PoolRootUpdate, type PoolTransaction } from "../../stack/pool-transaction.ts";
import { begin, Stage, WITHOUT_FEES, type Begun } from "../../stack/stage.ts";
import type { Chapter, Story } from "../story.ts";
import { openStackWallet, openWalletAlone } from "../../stack/stack-wallet.ts";
import { giveCoins } from "../../stand-ins/local-chain.ts";
import { TestUsdc } from "../../stand-ins/usdc.ts";

/** For money a week and three days. */
export const CHANGE_DELAY_SECS = 600;
export const PROVED_DELAY_SECS = 60;
const DAY_SECS = 86_400;
const COINS = 10n ** 20n;

export const usd = (units: number): bigint => BigInt(units) * TestUsdc.unit;
/** What may leave in 24 hours where a tenth of the balance is less. */
export const CAP = usd(100);
export const BOND = 10n ** 18n;

export class StolenKeyStage extends Stage {
  readonly say: (text: string) => void;
  readonly contract: Contract;
  readonly home: Home;
  readonly usdc: Address;
  readonly token: TestUsdc;
  readonly chapter: Chapter;
  readonly findings: Finding[] = [];

  private constructor(begun: Begun, anybody: Account, say: StolenKeyStage["say"], chapter: Chapter) {
    super(begun);
    this.say = say;
    this.chapter = chapter;
    this.home = { chainId: BigInt(this.entry.chain_id), pool: this.pool };
    this.usdc = asAddress(this.entry.usdc)!;
    // Anybody may carry anything to the pool.
    const sender = anybody.connect(this.chain);
    this.contract = new Contract(this.pool, POOL_ABI, sender);
    this.token = TestUsdc.with(this.usdc, sender);
  }

  static async on({ say }: Story, chapter: Chapter): Promise<StolenKeyStage> {
    const poolTerms = {
      ...{ changeDelay: CHANGE_DELAY_SECS, provedDelay: PROVED_DELAY_SECS },
      ...{ minimumCaps: [CAP], signerBond: BOND },
    };
    const anybody = new Account(Account.createRandom().privateKey);
    const begun = await begin("stolen-key", { proxySettings: WITHOUT_FEES, poolTerms, say });
    const stage = new StolenKeyStage(begun, anybody, say, chapter);
    await giveCoins(stage.chain, anybody.address, COINS);
    return stage;
  }

  // ---------------------------------------------------------------- people

  async walletAlone(seed: Uint8Array): Promise<Wallet> {
    const wallet = await openWalletAlone(this.entry, { seed, prover: await this.prover() });
    this.parties.add({ stop: () => wallet.close() });
    return wallet;
  }

  /** Of somebody who pays by the service, and may go on without it: what it paid it knows. */
  async walletOfBoth(seed: Uint8Array): Promise<Wallet> {
    const { chain_rpc: rpc, deployment_block: fromBlock } = this.entry;
    const chain = poolChain({ rpc, fromBlock, finality: 0, pollMs: 200 });
    const parts = { seed, chain, client: this.client, prover: await this.prover() };
    const wallet = await openStackWallet(this.entry, { ...parts, storage: memoryStorage() });
    this.parties.add({ stop: () => wallet.close() });
    return wallet;
  }

  override account(): Promise<Account> {
    return super.account(COINS);
  }

  // ---------------------------------------------------------------- the chain

  async now(): Promise<number> {
    return (await this.chain.getBlock("latest"))!.timestamp;
  }

  /** All that left before counts no more, and the next movement fixes the cap. */
  passDay(): Promise<void> {
    return this.passTime(DAY_SECS);
  }

  /** By answer of the pool: `Executed`, `RootUpdated`, or the error's name with its arguments. */
  async execute(
    members: readonly PoolTransaction[],
    update: PoolRootUpdate = NO_UPDATE,
    by?: Account,
  ): Promise<string[]> {
    const contract = by === undefined ? this.contract : new Contract(this.pool, POOL_ABI, by);
    const sent = (await contract.getFunction("execute")(members, update, { gasLimit: 5_000_000n })) as {
      wait(): Promise<{ readonly logs: readonly { readonly topics: string[]; readonly data: string }[] }>;
    };
    return (await sent.wait()).logs.flatMap((log) => {
      const event = this.contract.interface.parseLog(log);
      if (event === null || event.name === "NoteHashed") return [];
      if (!("reason" in event.args.toObject())) return [event.name];
      const error = this.contract.interface.parseError(event.args["reason"] as string);
      return [`${error?.name ?? "unknown"}(${String(error?.args ?? "").toLowerCase()})`];
    });
  }

  async approve(by: Account, amount: bigint): Promise<void> {
    const token = new Contract(this.usdc, TOKEN_ABI, by);
    await ((await token.getFunction("approve")(this.pool, amount)) as { wait(): Promise<unknown> }).wait();
  }

  ask<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return this.contract.getFunction(name)(...args) as Promise<T>;
  }

  // ---------------------------------------------------------------- the watcher

  async watcher(): Promise<Watcher> {
    return createWatcher({
      node: connectNode(this.entry.chain_rpc),
      home: this.home,
      fromBlock: this.entry.deployment_block,
      confirmations: 0,
      keys: await readKeys(),
      journal: memoryJournal(),
      onFinding: (finding) => this.findings.push(finding),
    });
  }

  /** Whoever watches, with an account of its own. `advanceTo`: how far it pays for the tree, too. */
  async refuter(account: Account, advanceTo?: "end"): Promise<Refuter> {
    return new Refuter({
      account: new RefutersAccount(account.privateKey, this.chain, this.home.pool, memoryBook()),
      advanceTo,
      onReport: (report) => this.say(`     ${reportLine(report)}`),
    });
  }

  async follow(watcher: Watcher, refuter: Refuter): Promise<void> {
    do await watcher.pass();
    while (await refuter.work(watcher.ledger));
  }

  check(name: string, expected: unknown, actual: unknown): void {
    this.chapter.is(name, actual, expected);
  }
}
