// What the demonstration of the stolen key plays on: a local stack whose pool is like one for money in all but its delays,
// the chain's clock, the watcher with its refuter, and the checks collected. Development only.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, type JsonRpcProvider, Wallet as Account } from "ethers";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Prover,
  type Wallet,
} from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
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
import { chainOf, giveCoins } from "../../stand-ins/local-chain.ts";
import type { LocalNetwork } from "../../stack/local-network.ts";
import { startStack, type Stack } from "../../stack/local-stack.ts";
import { Parties } from "../../base/parties.ts";
import { NO_UPDATE, type PoolRootUpdate, type PoolTransaction } from "../../stack/pool-transaction.ts";
import { ROOMY_KEYS } from "../../stack/proxy-settings.ts";
import { openStackWallet } from "../../stack/stack-wallet.ts";
import { TestUsdc } from "../../stand-ins/usdc.ts";

/** For money a week and three days. */
export const CHANGE_DELAY_SECS = 600;
export const PROVED_DELAY_SECS = 60;
const DAY_SECS = 86_400;
const COINS = 10n ** 20n;

export const usd = (units: number): bigint => BigInt(units) * TestUsdc.unit;
/** What may leave in a day where a tenth of the balance is less. */
export const CAP = usd(100);
export const BOND = 10n ** 18n;

export interface Check {
  readonly name: string;
  readonly expected: string;
  readonly actual: string;
}

export class Stage {
  readonly say: (text: string) => void;
  readonly stack: Stack;
  readonly network: LocalNetwork;
  readonly chain: JsonRpcProvider;
  readonly pool: Contract;
  readonly home: Home;
  readonly usdc: Address;
  readonly token: TestUsdc;
  readonly prover: Prover;
  readonly checks: Check[] = [];
  readonly findings: Finding[] = [];
  readonly #client: Client;
  readonly #parties: Parties;

  private constructor(parties: Parties, stack: Stack, prover: Prover, say: Stage["say"]) {
    this.network = stack.network("first");
    const { entry } = this.network;
    this.#parties = parties;
    this.stack = stack;
    this.say = say;
    this.prover = prover;
    this.chain = chainOf(entry, 50);
    this.home = { chainId: BigInt(entry.chain_id), pool: asAddress(entry.pool)! };
    this.usdc = asAddress(entry.usdc)!;
    // Anybody may carry anything to the pool.
    const anybody = Account.createRandom().connect(this.chain);
    this.pool = new Contract(entry.pool, POOL_ABI, anybody);
    this.token = TestUsdc.with(entry.usdc, anybody);
    this.#client = createClient({ baseUrl: entry.base_url, credential: { apiKey: stack.file.api_key } });
  }

  static open(say: (text: string) => void): Promise<Stage> {
    return Parties.start(async (parties) => {
      const folder = await mkdtemp(path.join(tmpdir(), "cloister-stolen-key-"));
      parties.add({ stop: () => rm(folder, { recursive: true, force: true }) });
      const stack = parties.add(
        await startStack({
          folder: path.join(folder, "stack"),
          networks: ["first"],
          ports: { first: { proxy: 0, chain: 0 } },
          // Fees are another matter: without them the balances are easy to follow.
          proxySettings: { ...ROOMY_KEYS, CLOISTER_FEE_SCHEDULE: "[]" },
          poolTerms: {
            ...{ changeDelay: CHANGE_DELAY_SECS, provedDelay: PROVED_DELAY_SECS },
            ...{ minimumCaps: [CAP], signerBond: BOND },
          },
          say,
        }),
      );
      const prover = await developmentProver();
      parties.add({ stop: () => prover.close() });
      const stage = new Stage(parties, stack, prover, say);
      parties.add({ stop: () => stage.chain.destroy() });
      await giveCoins(stage.chain, await (stage.pool.runner as Account).getAddress(), COINS);
      return stage;
    });
  }

  close(): Promise<void> {
    return this.#parties.stop();
  }

  // ---------------------------------------------------------------- people

  async wallet(keys: { readonly seed: Uint8Array }): Promise<Wallet> {
    const { prover } = this;
    const parts = { seed: keys.seed, client: this.#client, prover, storage: memoryStorage() };
    const wallet = await openStackWallet(this.network.entry, parts);
    this.#parties.add({ stop: () => wallet.close() });
    return wallet;
  }

  person(): { readonly seed: Uint8Array; readonly keys: SpendingKey } {
    const seed = newSeed();
    return { seed, keys: SpendingKey.fromSeed(seed) };
  }

  async account(): Promise<Account> {
    const account = new Account(Account.createRandom().privateKey, this.chain);
    await giveCoins(this.chain, account.address, COINS);
    return account;
  }

  async poolsOwner(): Promise<Account> {
    return new Account(await this.network.folder.secrets.text("owner.key"), this.chain);
  }

  // ---------------------------------------------------------------- the chain

  async now(): Promise<number> {
    return (await this.chain.getBlock("latest"))!.timestamp;
  }

  async passTime(seconds: number): Promise<void> {
    await this.chain.send("evm_increaseTime", [seconds]);
    await this.chain.send("evm_mine", []);
  }

  /** A fresh window, and all of it ahead. */
  async passMidnight(): Promise<void> {
    await this.passTime(DAY_SECS - ((await this.now()) % DAY_SECS) + DAY_SECS);
  }

  /** By answer of the pool: `Executed`, `RootUpdated`, or the error's name with its arguments. */
  async execute(members: readonly PoolTransaction[], update: PoolRootUpdate = NO_UPDATE): Promise<string[]> {
    const sent = (await this.pool.getFunction("execute")(members, update, { gasLimit: 5_000_000n })) as {
      wait(): Promise<{ readonly logs: readonly { readonly topics: string[]; readonly data: string }[] }>;
    };
    return (await sent.wait()).logs.flatMap((log) => {
      const event = this.pool.interface.parseLog(log);
      if (event === null || event.name === "NoteHashed") return [];
      if (!("reason" in event.args.toObject())) return [event.name];
      const error = this.pool.interface.parseError(event.args["reason"] as string);
      return [`${error?.name ?? "unknown"}(${String(error?.args ?? "").toLowerCase()})`];
    });
  }

  ask<T>(name: string, ...args: readonly unknown[]): Promise<T> {
    return this.pool.getFunction(name)(...args) as Promise<T>;
  }

  // ---------------------------------------------------------------- the watcher

  async watcher(): Promise<Watcher> {
    return createWatcher({
      node: connectNode(this.network.entry.chain_rpc),
      home: this.home,
      fromBlock: this.network.entry.deployment_block,
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
    this.checks.push({ name, expected: String(expected), actual: String(actual) });
  }
}
