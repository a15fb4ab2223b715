// A stack of one's own: the first network on free ports, in a folder that goes with it. What demonstrations, benches and
// tests play on; what one of them needs beyond this extends it. Development only.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type JsonRpcProvider, Wallet as Account } from "ethers";
import {
  createClient,
  memoryStorage,
  newSeed,
  type Client,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { Parties } from "../base/parties.ts";
import type { NetworkEntry } from "../base/stack-file.ts";
import { chainOf, giveCoins } from "../stand-ins/local-chain.ts";
import type { LocalNetwork } from "./local-network.ts";
import { startStack, type Stack, type StackOptions } from "./local-stack.ts";
import { ROOMY_KEYS } from "./proxy-settings.ts";
import { openStackWallet } from "./stack-wallet.ts";

export type StageOptions = Omit<StackOptions, "folder" | "networks" | "ports">;

export interface Begun {
  readonly folder: string;
  readonly stack: Stack;
  readonly parties: Parties;
}

/** Of the proxy, where balances are to be followed by eye. */
export const WITHOUT_FEES = { ...ROOMY_KEYS, CLOISTER_FEE_SCHEDULE: "[]" } as const;

/** `options` may write into the folder what they name. */
export function begin(
  purpose: string,
  options: StageOptions | ((folder: string) => Promise<StageOptions>) = {},
): Promise<Begun> {
  return Parties.start(async (parties) => {
    const folder = await mkdtemp(path.join(tmpdir(), `cloister-${purpose}-`));
    parties.add({ stop: () => rm(folder, { recursive: true, force: true }) });
    const stack = await startStack({
      folder: path.join(folder, "stack"),
      networks: ["first"],
      ports: { first: { proxy: 0, chain: 0 } },
      ...(typeof options === "function" ? await options(folder) : options),
    });
    return { folder, stack: parties.add(stack), parties };
  });
}

/** On one network of any stack: its chain, a client of its proxy, and people. */
export class NetworkStage {
  readonly entry: NetworkEntry;
  readonly chain: JsonRpcProvider;
  readonly pool: Address;
  readonly apiKey: string;
  readonly client: Client;
  /** What is added is stopped with the stage, before what was there already. */
  protected readonly parties: Parties;
  #prover: Promise<Prover> | undefined;

  /** A prover that is given is not closed here. */
  constructor(on: { entry: NetworkEntry; apiKey: string; parties: Parties; prover?: Prover }) {
    const { entry, apiKey, parties, prover } = on;
    this.entry = entry;
    this.apiKey = apiKey;
    this.parties = parties;
    this.#prover = prover && Promise.resolve(prover);
    this.chain = chainOf(entry, 50);
    parties.add({ stop: () => this.chain.destroy() });
    this.pool = asAddress(entry.pool)!;
    this.client = createClient({ baseUrl: entry.base_url, credential: { apiKey } });
  }

  close(): Promise<void> {
    return this.parties.stop();
  }

  /** Loaded when it is first asked for. */
  prover(): Promise<Prover> {
    return (this.#prover ??= this.#loadProver());
  }

  async wallet(seed = newSeed(), client = this.client, developerSink?: string): Promise<Wallet> {
    const parts = { seed, client, prover: await this.prover(), storage: memoryStorage() };
    const sink = developerSink === undefined ? {} : { developerSink };
    const wallet = await openStackWallet(this.entry, { ...parts, ...sink });
    this.parties.add({ stop: () => wallet.close() });
    return wallet;
  }

  /** A fresh public account with so many of the smallest units of the chain's coin. */
  async account(coins = 0n): Promise<Account> {
    const account = new Account(Account.createRandom().privateKey, this.chain);
    if (coins > 0n) await giveCoins(this.chain, account.address, coins);
    return account;
  }

  async #loadProver(): Promise<Prover> {
    const prover = await developmentProver();
    this.parties.add({ stop: () => prover.close() });
    return prover;
  }
}

export class Stage extends NetworkStage {
  /** For what is made here. */
  readonly folder: string;
  readonly stack: Stack;
  readonly network: LocalNetwork;

  constructor({ folder, stack, parties }: Begun) {
    const network = stack.network("first");
    super({ entry: network.entry, apiKey: stack.file.api_key, parties });
    this.folder = folder;
    this.stack = stack;
    this.network = network;
  }

  /** Of the pool. */
  async owner(): Promise<Account> {
    return new Account(await this.network.folder.secrets.text("owner.key"), this.chain);
  }

  async passTime(seconds: number): Promise<void> {
    await this.chain.send("evm_increaseTime", [seconds]);
    await this.chain.send("evm_mine", []);
  }
}

export async function onStage<T>(
  purpose: string,
  options: Parameters<typeof begin>[1],
  play: (stage: Stage) => Promise<T>,
): Promise<T> {
  const stage = new Stage(await begin(purpose, options));
  try {
    return await play(stage);
  } finally {
    await stage.close();
  }
}
