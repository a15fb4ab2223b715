// Three real chains with the stand-ins of CCTP, the attester and the exchange beside them as programs: each a process
// of its own, talked to over its own API alone.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Contract, JsonRpcProvider, NonceManager, Wallet, ZeroHash } from "ethers";
import { z } from "zod";
import { deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { startAnvil, type Anvil } from "../../../scripts/stand-ins/anvil.ts";
import { poll } from "../../../scripts/base/poll.ts";
import { TestUsdc } from "../../../scripts/stand-ins/usdc.ts";
import {
  deployCctp,
  deployExchangeForwarder,
  type CctpContracts,
} from "../../../scripts/stand-ins/venues/cctp-contracts.ts";
import {
  attesterAddresses,
  startAttester,
  type RunningAttester,
} from "../../../scripts/stand-ins/venues/attester/start.ts";
import {
  reserveOf,
  startExchange,
  type RunningExchange,
} from "../../../scripts/stand-ins/venues/exchange/start.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { addressToWord } from "../../../shared/protocol/host/cctp.ts";

export const USD = 1_000_000n;
export const FINAL_BLOCKS = 6;
export const EXPIRES_AFTER = 20;

/** The exchange's account in these tests; it has no coin on any chain. */
export const ALICE = new Wallet(`0x${"a1".repeat(32)}`);
export const alice = ALICE.address.toLowerCase() as Address;

const MESSENGER = [
  "function depositForBurn(uint256 amount, uint32 domain, bytes32 recipient, address token, bytes32 caller, uint256 maxFee, uint32 finality)",
  "function depositForBurnWithHook(uint256 amount, uint32 domain, bytes32 recipient, address token, bytes32 caller, uint256 maxFee, uint32 finality, bytes hook)",
];
const TRANSMITTER = [
  "function receiveMessage(bytes message, bytes attestation) returns (bool)",
  "function sendMessage(uint32 domain, bytes32 recipient, bytes32 caller, uint32 finality, bytes body)",
];
const FORWARDER = ["function mintAndForward(bytes message, bytes attestation)"];
const TOKEN = [
  "function approve(address spender, uint256 value) returns (bool)",
  "function transfer(address to, uint256 value) returns (bool)",
];

/** Empty where the API says null: of what is pending. */
const told = z
  .string()
  .nullable()
  .transform((text) => text ?? "");
const messageShape = z.object({
  message: told,
  attestation: z.string(),
  eventNonce: told,
  status: z.enum(["pending_confirmations", "complete"]),
  delayReason: z.string().nullable(),
  cctpVersion: z.literal(2),
});
export type ShownMessage = z.output<typeof messageShape>;

interface Sent {
  wait(): Promise<{ readonly hash: string } | null>;
}

export interface Burn {
  readonly amount: bigint;
  readonly to: Address;
  readonly domain: number;
  readonly finality?: 1_000 | 2_000;
  readonly maxFee?: bigint;
  readonly caller?: Address;
  readonly hook?: Uint8Array;
}

/** One chain with its contracts and somebody who has gas and dollars. */
export class Place {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  readonly rich: NonceManager;
  readonly self: Address;
  readonly usdc: TestUsdc;
  readonly cctp: CctpContracts;

  constructor(
    anvil: Anvil,
    provider: JsonRpcProvider,
    rich: NonceManager,
    self: Address,
    usdc: TestUsdc,
    cctp: CctpContracts,
  ) {
    [this.anvil, this.provider, this.rich] = [anvil, provider, rich];
    [this.self, this.usdc, this.cctp] = [self, usdc, cctp];
  }

  /** The transaction's hash. */
  async call(to: string, abi: readonly string[], method: string, args: readonly unknown[]): Promise<string> {
    const contract = new Contract(to, abi, this.rich);
    try {
      const sent = (await contract.getFunction(method)(...args)) as Sent;
      return (await sent.wait())?.hash ?? assert.fail("no receipt");
    } catch (error) {
      this.rich.reset();
      throw error;
    }
  }

  mine(blocks: number): Promise<unknown> {
    return this.provider.send("anvil_mine", [`0x${blocks.toString(16)}`]);
  }

  async burn(burn: Burn): Promise<string> {
    const { amount, to, domain, finality = 2_000, maxFee = 0n, caller, hook } = burn;
    const word = caller === undefined ? ZeroHash : addressToWord(caller);
    const args = [amount, domain, addressToWord(to), this.cctp.usdc, word, maxFee, finality];
    return hook === undefined
      ? this.call(this.cctp.messenger, MESSENGER, "depositForBurn", args)
      : this.call(this.cctp.messenger, MESSENGER, "depositForBurnWithHook", [...args, hook]);
  }

  sendMessage(domain: number, recipient: string, finality: number, body: Uint8Array): Promise<string> {
    return this.call(this.cctp.transmitter, TRANSMITTER, "sendMessage", [
      domain,
      recipient,
      ZeroHash,
      finality,
      body,
    ]);
  }

  receive({ message, attestation }: Pick<ShownMessage, "message" | "attestation">): Promise<string> {
    return this.call(this.cctp.transmitter, TRANSMITTER, "receiveMessage", [message, attestation]);
  }

  forward(forwarder: Address, { message, attestation }: ShownMessage): Promise<string> {
    return this.call(forwarder, FORWARDER, "mintAndForward", [message, attestation]);
  }

  pay(to: Address, amount: bigint): Promise<string> {
    return this.call(this.cctp.usdc, TOKEN, "transfer", [to, amount]);
  }
}

export class Stage {
  readonly folder: string;
  readonly home: Place;
  readonly second: Place;
  readonly own: Place;
  /** Of the exchange, on its chain. */
  readonly forwarder: Address;
  readonly reserve: Address;
  #attester: RunningAttester | undefined;
  #exchange: RunningExchange | undefined;

  private constructor(
    folder: string,
    places: readonly [Place, Place, Place],
    forwarder: Address,
    reserve: Address,
  ) {
    this.folder = folder;
    [this.home, this.second, this.own] = places;
    this.forwarder = forwarder;
    this.reserve = reserve;
  }

  /** What was started stops again when the rest fails. */
  static async set(): Promise<Stage> {
    const anvils: Anvil[] = [];
    try {
      return await Stage.#set(anvils);
    } catch (error) {
      for (const anvil of anvils) await anvil.stop();
      throw error;
    }
  }

  static async #set(anvils: Anvil[]): Promise<Stage> {
    const folder = await mkdtemp(path.join(os.tmpdir(), "venues-"));
    const attesters = await attesterAddresses(path.join(folder, "attester"));
    const chains = await Promise.all(
      [31_337, 31_338, 31_340].map(async (chainId) => {
        const anvil = await startAnvil({ chainId });
        anvils.push(anvil);
        const provider = new JsonRpcProvider(anvil.url, chainId, {
          staticNetwork: true,
          cacheTimeout: -1,
          pollingInterval: 20,
        });
        const rich = new NonceManager(await provider.getSigner(0));
        const usdc = (await deployTestUsdc(rich)).address;
        return { anvil, provider, rich, usdc };
      }),
    );
    const domains = [3, 6, 19];
    const fees = `0x${"fe".repeat(20)}` as Address;
    const cctp = await deployCctp({
      attesters,
      feeRecipient: fees,
      chains: chains.map(({ rich, usdc }, i) => ({ domain: domains[i]!, owner: rich, usdc })),
    });
    const places = await Promise.all(
      chains.map(async ({ anvil, provider, rich, usdc }, i) => {
        const self = (await rich.getAddress()).toLowerCase() as Address;
        const token = TestUsdc.with(usdc, rich);
        await token.mint(self, 10_000n * USD);
        const place = new Place(anvil, provider, rich, self, token, cctp[i]!);
        await place.call(usdc, TOKEN, "approve", [cctp[i]!.messenger, 10_000n * USD]);
        return place;
      }),
    );
    const [home, second, own] = places as [Place, Place, Place];
    const exchangeFolder = path.join(folder, "exchange");
    const forwarder = await deployExchangeForwarder({
      folder: exchangeFolder,
      own: own.cctp,
      ownChain: own.provider,
      ownOwner: own.rich,
    });
    const stage = new Stage(folder, [home, second, own], forwarder, await reserveOf(exchangeFolder));
    await stage.startAttester();
    await stage.startExchange();
    return stage;
  }

  async close(): Promise<void> {
    await this.#attester?.stop();
    await this.#exchange?.stop();
    for (const { provider, anvil } of [this.home, this.second, this.own]) {
      provider.destroy();
      await anvil.stop();
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  // -------------------------------------------------------------- the attester

  async startAttester(): Promise<void> {
    this.#attester = await startAttester({
      folder: path.join(this.folder, "attester"),
      settings: {
        chains: [this.home, this.second, this.own].map(({ anvil, cctp }) => ({
          domain: cctp.domain,
          rpc: anvil.url,
          transmitter: cctp.transmitter,
          messenger: cctp.messenger,
          from_block: cctp.block,
          final_blocks: FINAL_BLOCKS,
        })),
        fees: { fast_bps: 1.5, fast_bps_of: { "19-3": 1 } },
        expires_after_blocks: EXPIRES_AFTER,
        poll_ms: 25,
      },
      logFile: path.join(this.folder, "attester.log"),
    });
  }

  get attesterUrl(): string {
    return this.#attester?.url ?? assert.fail("no attester");
  }

  killAttester(): Promise<void> {
    return this.#attester?.kill() ?? assert.fail("no attester");
  }

  ask(where: string, init?: RequestInit): Promise<Response> {
    return fetch(`${this.attesterUrl}${where}`, init);
  }

  async away(until: number): Promise<void> {
    const body = JSON.stringify({ until });
    assert.equal((await this.ask("/dev/away", { method: "POST", body })).status, 200);
  }

  /** As shown now; undefined when it is unknown. */
  async shown(domain: number, hash: string): Promise<readonly ShownMessage[] | undefined> {
    const response = await this.ask(`/v2/messages/${String(domain)}?transactionHash=${hash}`);
    if (response.status === 404) return undefined;
    assert.equal(response.status, 200);
    return z.object({ messages: z.array(messageShape) }).parse(await response.json()).messages;
  }

  /** The transaction's first message, once it is so. */
  async until(domain: number, hash: string, status: ShownMessage["status"]): Promise<ShownMessage> {
    const found = await poll(async () =>
      (await this.shown(domain, hash))?.find((one) => one.status === status),
    );
    return found ?? assert.fail(`never ${status}`);
  }

  /** Long enough that it has looked at every chain again: the second round began when all of this was done. */
  async looked(): Promise<void> {
    for (let round = 0; round < 2; round++) {
      const hash = await this.second.sendMessage(
        3,
        addressToWord(this.second.self),
        2_000,
        new Uint8Array(0),
      );
      await this.until(6, hash, "pending_confirmations");
    }
  }

  // -------------------------------------------------------------- the exchange

  async startExchange(): Promise<void> {
    const { own, forwarder } = this;
    this.#exchange = await startExchange({
      folder: path.join(this.folder, "exchange"),
      settings: {
        own: {
          rpc: own.anvil.url,
          chain_id: 31_340,
          domain: 19,
          usdc: own.cctp.usdc,
          messenger: own.cctp.messenger,
          forwarder,
        },
        poll_ms: 25,
      },
      logFile: path.join(this.folder, "exchange.log"),
    });
  }

  killExchange(): Promise<void> {
    return this.#exchange?.kill() ?? assert.fail("no exchange");
  }

  get exchangeUrl(): string {
    return this.#exchange?.url ?? assert.fail("no exchange");
  }

  async info<S extends z.ZodType>(shape: S, question: object): Promise<z.output<S>> {
    return shape.parse(await (await this.#post("/info", question)).json());
  }

  async pauseExchange(paused: boolean): Promise<void> {
    assert.equal((await this.#post("/dev/pause", { paused })).status, 200);
  }

  /** Of perpetuals, as the API writes it. */
  async perps(user: Address): Promise<string> {
    const shape = z.object({ withdrawable: z.string() });
    return (await this.info(shape, { type: "clearinghouseState", user })).withdrawable;
  }

  #post(where: string, body: object): Promise<Response> {
    return fetch(`${this.exchangeUrl}${where}`, { method: "POST", body: JSON.stringify(body) });
  }
}

/** Waits until it is so, and says what it was instead. */
export async function becomes<T>(look: () => Promise<T>, wanted: T): Promise<void> {
  let last: T | undefined;
  await poll(async () => ((last = await look()) === wanted ? true : undefined));
  assert.deepEqual(last, wanted);
}
