/** The exchange of a lane: a process with its own keys and books, which people trade at, and which fails as such a venue may. */
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Child } from "../../../../scripts/base/child.ts";
import { postAction, sendToEvm, signAction } from "../../../../scripts/stand-ins/venues/exchange/actions.ts";
import { readAmount, writeAmount } from "../../../../scripts/stand-ins/venues/exchange/amounts.ts";
import type { ExchangeSettingsFile } from "../../../../scripts/stand-ins/venues/exchange/settings.ts";
import { ExchangeState, stateShape } from "../../../../scripts/stand-ins/venues/exchange/state.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import type { LaneChain } from "./lane-chain.ts";
import { startProgram } from "./party-program.ts";
import type { BridgeFacts, ChainName } from "./world.ts";
import { trader } from "./world-exchange.ts";

const POLL_MS = 60;

interface ExchangeOptions {
  readonly facts: BridgeFacts;
  readonly chains: Readonly<Record<ChainName, LaneChain>>;
  readonly port: number;
  /** Its bundled program. */
  readonly program: string;
  /** Of this lane. */
  readonly folder: string;
  readonly finalBlocks: number;
}

export class Exchange {
  readonly url: string;
  readonly #options: ExchangeOptions;
  /** Accounts that it does not know any more. */
  readonly forgotten = new Set<Address>();
  #running: Child | undefined;
  #starting: Promise<void> = Promise.resolve();
  /** Each action has a number of its own. */
  #nonce = 0;

  constructor(options: ExchangeOptions) {
    this.url = `http://127.0.0.1:${String(options.port)}`;
    this.#options = options;
  }

  /** With its books as they stand at the snapshot. */
  async begin(): Promise<void> {
    const { folder, facts } = this.#options;
    this.forgotten.clear();
    await rm(folder, { recursive: true, force: true });
    await cp(facts.exchange.folder, folder, { recursive: true });
    await writeFile(this.#file("settings.json"), JSON.stringify(this.#settings()));
    await this.start();
  }

  async end(): Promise<void> {
    await this.#starting.catch(() => undefined);
    await this.kill();
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const child = this.#running;
    this.#running = undefined;
    await child?.kill();
  }

  /** On what it has written; harmless where it runs. */
  start(): Promise<void> {
    const begun = this.#starting.catch(() => undefined).then(() => this.#startNow());
    this.#starting = begun;
    return begun;
  }

  async #startNow(): Promise<void> {
    if (this.#running !== undefined) return;
    const { program, folder, port } = this.#options;
    this.#running = await startProgram(program, [
      ...["--folder", folder, "--settings", this.#file("settings.json"), "--port", String(port)],
    ]);
  }

  /** False where it is away. */
  async pause(paused: boolean): Promise<boolean> {
    const response = await fetch(`${this.url}/dev/pause`, {
      method: "POST",
      body: JSON.stringify({ paused }),
    }).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok === true;
  }

  /** False where it refuses or is away. */
  async pay(to: Address, amount: bigint): Promise<boolean> {
    this.#nonce = Math.max(Date.now(), this.#nonce + 1);
    const { domain } = this.#options.facts.chains.home;
    const text = writeAmount(amount);
    const order = { amount: text, from: "perps", recipient: to, domain, nonce: this.#nonce } as const;
    return postAction(this.url, await signAction(trader(), sendToEvm(order))).then(
      () => true,
      () => false,
    );
  }

  /** Killed, and started again with books in which an account that has nothing does not stand. False where it has something. */
  async forget(account: Address): Promise<boolean> {
    await this.kill();
    const { ledger, ...rest } = JSON.parse(await readFile(this.#file("state.json"), "utf8")) as {
      readonly ledger: Readonly<Record<string, string>>;
    };
    const its = [`perps:${account}`, `spot:${account}`];
    const isEmpty = its.every((name) => (ledger[name] ?? "0") === "0");
    const left = Object.fromEntries(Object.entries(ledger).filter(([name]) => !its.includes(name)));
    if (isEmpty) {
      await writeFile(this.#file("state.json"), JSON.stringify({ ...rest, ledger: left }));
      this.forgotten.add(account);
    }
    await this.start();
    return isEmpty;
  }

  /** Of its perpetuals, as its API tells it, in the smallest units. */
  async balance(account: Address): Promise<bigint> {
    const response = await fetch(`${this.url}/info`, {
      method: "POST",
      body: JSON.stringify({ type: "clearinghouseState", user: account }),
    });
    const told = readAmount(((await response.json()) as { readonly withdrawable: string }).withdrawable);
    if (told === undefined) throw new Error("the exchange told no amount");
    return told;
  }

  /** As they stand on its disk. */
  async books(): Promise<ExchangeState> {
    return new ExchangeState(stateShape.parse(JSON.parse(await readFile(this.#file("state.json"), "utf8"))));
  }

  #settings(): ExchangeSettingsFile {
    const { facts, chains, finalBlocks } = this.#options;
    const { exchange } = facts.chains;
    return {
      own: {
        ...{ rpc: chains.exchange.url, chain_id: exchange.chainId, usdc: exchange.usdc },
        final_blocks: finalBlocks,
        ...{ domain: exchange.domain, messenger: exchange.messenger, forwarder: facts.exchange.forwarder },
      },
      poll_ms: POLL_MS,
    };
  }

  #file(name: string): string {
    return path.join(this.#options.folder, name);
  }
}
