/**
 * The worker on real chains: the pool's with its sequencer, a second one with CCTP's stand-in and the attester between them,
 * forwarders on both, and a book that follows both. Only the enclave is stood in for (see support/money.ts).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, JsonRpcProvider } from "ethers";
import { loadArtifact } from "../../../../../scripts/build/contracts.ts";
import { deployTestUsdc } from "../../../../../scripts/deploy/pool.ts";
import { deployForwarders } from "../../../../../scripts/deploy/forwarders.ts";
import { acceptRemote, asRemote, deployCctp, type Cctp } from "../../../../../scripts/stand-ins/cctp.ts";
import { answerAttester } from "../../../../../scripts/stand-ins/venues/attester/api.ts";
import { runAttester, type Attester } from "../../../../../scripts/stand-ins/venues/attester/attester.ts";
import { openKeys } from "../../../../../scripts/stand-ins/venues/attester/keys.ts";
import { parseSettings } from "../../../../../scripts/stand-ins/venues/attester/settings.ts";
import { serveJson, type VenueServer } from "../../../../../scripts/stand-ins/venues/json-server.ts";
import { createAttesterClient } from "../../../../../proxy/relay/chains/attester-client.ts";
import { WatchingBook, type BookChain } from "../../../../../proxy/relay/chain-book.ts";
import { ChainSender } from "../../../../../proxy/relay/desk/chain-sender.ts";
import { gasLeft } from "../../../../../proxy/relay/desk/gas-left.ts";
import type { FeesInForce } from "../../../../../proxy/relay/desk/sweep-fees.ts";
import type { ExchangeDesk } from "../../../../../proxy/relay/desk/snapshot.ts";
import { Worker } from "../../../../../proxy/relay/desk/worker.ts";
import { Offering } from "../../../../../proxy/relay/offering.ts";
import { createRelayErrands } from "../../../../../proxy/api/sequencer/relay-errands.ts";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import { createGasWallet } from "../../../../../proxy/base/chain/gas-wallet.ts";
import type { Fence } from "../../../../../proxy/base/store/lease.ts";
import { bridgeForm, HOME_CHAIN, type BridgeRecord } from "../../../../../proxy/base/store/bridge-records.ts";
import { decodeShieldedAddress } from "../../../../../shared/notes/address.ts";
import { OutputSealer } from "../../../../../shared/notes/encryption.ts";
import { newSeed, SpendingKey } from "../../../../../shared/notes/keys.ts";
import { sealUnmeasured } from "../../../../../shared/notes/measured-note.ts";
import { ZERO_BYTES32, type Address } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import {
  inAddress,
  outAddress,
  paddedAddress,
  sourceAddress,
  type Factory,
  type Lane,
} from "../../../../../shared/protocol/host/forwarders.ts";
import { startAnvil } from "../../../../support/chain.ts";
import { creditedNotes } from "../../../../support/credited-notes.ts";
import { Money, SILENT } from "../../../../support/money.ts";

export const MINIMUM = 1_000_000n;
export const CEILING = 200_000n;
/** From so many blocks on, its own among them, an arrival is final. */
export const CONFIRMATIONS = 2;
export const PREFIX = "clt";
export const SECOND = "second";
const SECOND_ID = 31_338;
const FAR_KEY = `0x${"5f".repeat(32)}`;
const POLL_MS = 40;
const MOST_FEE = 500_000_000_000n;
const HOME_DOMAIN = 3;
const SECOND_DOMAIN = 6;

export const REFUND = `0x${"4e".repeat(20)}` as Address;

export interface StageOptions {
  readonly fees?: FeesInForce;
  readonly screeningUrl?: string;
  readonly exchange?: ExchangeDesk;
}

/** Somebody with a wallet. */
export const person = (): SpendingKey => SpendingKey.fromSeed(newSeed());

export class Stage {
  readonly on: Money;
  readonly factory: Factory;
  readonly far: { readonly provider: JsonRpcProvider; readonly usdc: Contract; readonly cctp: Cctp };
  readonly cctp: Cctp;
  readonly attester: Attester;
  /** Errands by label, as they were sent. */
  readonly sent: string[] = [];
  book!: WatchingBook;
  worker!: Worker;
  /** Of the relay's lease. */
  #fence: Fence | undefined;
  #offering: Offering | undefined;
  readonly #options: StageOptions;
  readonly #records: BridgeRecord[] = [];
  #server: VenueServer;
  readonly #attesterUrl: string;
  readonly #ends: readonly (() => unknown)[];
  readonly #farUrl: string;

  static async start(options: StageOptions = {}): Promise<Stage> {
    const on = await Money.start();
    const second = await startAnvil({ chainId: SECOND_ID });
    const provider = new JsonRpcProvider(second.url, SECOND_ID, { staticNetwork: true, cacheTimeout: -1 });
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-attester-"));
    const keys = await openKeys(folder);
    const [factory, cctp] = await place(on.owner, on.usdcAddress, HOME_DOMAIN, keys.addresses);
    const farOwner = await provider.getSigner(0);
    const farUsdc = await deployTestUsdc(farOwner);
    const [, farCctp] = await place(farOwner, farUsdc.address, SECOND_DOMAIN, keys.addresses);
    await acceptRemote(on.owner, cctp, asRemote(farCctp));
    await acceptRemote(farOwner, farCctp, asRemote(cctp));
    const chainOf = (rpc: string, { domain, transmitter, messenger }: Cctp) => ({
      ...{ domain, rpc, transmitter, messenger, fast_blocks: 1, final_blocks: 2 },
    });
    const settings = parseSettings({
      chains: [chainOf(on.anvil.url, cctp), chainOf(second.url, farCctp)],
      poll_ms: POLL_MS,
    });
    const attester = await runAttester(folder, settings, () => undefined);
    const server = await serve(attester, 0);
    const usdc = new Contract(farUsdc.address, (await loadArtifact("TestUSDC")).abi, farOwner);
    const stage = new Stage(
      on,
      factory,
      cctp,
      { provider, usdc, cctp: farCctp },
      attester,
      server,
      second.url,
      options,
      [
        () => attester.stop(),
        () => on.stop(),
        () => {
          provider.destroy();
        },
        () => second.stop(),
        () => rm(folder, { recursive: true, force: true }),
      ],
    );
    await stage.giveFarGas(10n ** 20n);
    stage.#open();
    await on.restart();
    await stage.#run();
    return stage;
  }

  private constructor(
    on: Money,
    factory: Factory,
    cctp: Cctp,
    far: Stage["far"],
    attester: Attester,
    server: VenueServer,
    farUrl: string,
    options: StageOptions,
    ends: readonly (() => unknown)[],
  ) {
    this.on = on;
    this.factory = factory;
    this.cctp = cctp;
    this.far = far;
    this.attester = attester;
    this.#server = server;
    this.#attesterUrl = server.url;
    this.#farUrl = farUrl;
    this.#options = options;
    this.#ends = ends;
  }

  #open(): void {
    const { on, cctp, far } = this;
    const farChain = createChain(this.#farUrl, BigInt(SECOND_ID));
    const client = createAttesterClient({ url: this.#attesterUrl });
    const heard = (here: Cctp, there: Cctp): BookChain["contracts"] => ({
      ...{ tokens: [here.token], forwarders: this.factory.address },
      cctp: {
        ...{ domain: here.domain, messenger: here.messenger, transmitter: here.transmitter },
        senders: { [there.domain]: paddedAddress(there.messenger) },
      },
    });
    const common = { startBlock: 0, pollIntervalMs: POLL_MS, confirmations: CONFIRMATIONS, blockSecs: 1 };
    this.book = new WatchingBook(
      {
        chains: [
          { ...common, name: HOME_CHAIN, where: "home", chain: on.chain, contracts: heard(cctp, far.cctp) },
          { ...common, name: SECOND, where: "source", chain: farChain, contracts: heard(far.cctp, cctp) },
        ],
        attester: { client, pollIntervalMs: POLL_MS },
        timeoutSecs: 86_400,
        bridgingSecs: 60,
      },
      SILENT,
    );
    const contracts = ({ transmitter }: Cctp) => ({ forwarders: this.factory.address, transmitter });
    this.worker = new Worker({
      book: this.book,
      home: {
        ...{ name: HOME_CHAIN, chainId: on.home.chainId, domain: HOME_DOMAIN },
        ...{ contracts: contracts(cctp), chain: on.chain },
        gas: () => gasLeft(on.chain, on.sender, MOST_FEE),
      },
      far: [
        {
          ...{ name: SECOND, chainId: BigInt(SECOND_ID), domain: SECOND_DOMAIN, chain: farChain },
          contracts: contracts(far.cctp),
          gas: () => gasLeft(farChain, createGasWallet(FAR_KEY, BigInt(SECOND_ID)).address, MOST_FEE),
          sender: new ChainSender({
            ...{ chain: farChain, wallet: createGasWallet(FAR_KEY, BigInt(SECOND_ID)), logger: SILENT },
            ...{ stuckAfterMs: 30_000, maxFeePerGas: MOST_FEE, now: Date.now },
          }),
        },
      ],
      attester: client,
      exchange: this.#options.exchange,
      screeningUrl: this.#options.screeningUrl,
      sender: on.sender,
      readSink: (text) => decodeShieldedAddress(text, PREFIX),
      feesOf: () => Promise.resolve(this.#options.fees ?? { service: undefined, developer: undefined }),
      hasLease: () => this.#fence !== undefined,
      wakeHome: () => offering.wake(),
      ...{ pollIntervalMs: POLL_MS },
      logger: SILENT,
      now: Date.now,
    });
    const offering = new Offering({
      ...{ line: this.worker.errands, tip: () => this.book.tipOf(HOME_CHAIN), logger: SILENT },
      fence: () => this.#fence,
      store: {
        outcome: () => on.stores.relay.outcome(),
        underLease: (fence) => on.stores.relay.underLease(fence),
      },
    });
    this.#offering = offering;
    const errands = createRelayErrands({
      store: {
        offer: () => on.stores.relay.offer(),
        settle: (fence, outcome) => on.stores.relay.settle(fence, outcome),
      },
      ...{ forwarders: this.factory.address, transmitter: cctp.transmitter, logger: SILENT },
      fence: () => on.sequencer.fence(),
    });
    on.errands = {
      ...errands,
      sent: (errand) => {
        this.sent.push(errand.label);
        errands.sent(errand);
      },
    };
    for (const record of this.#records) this.book.watch(record);
    this.book.start();
    this.worker.start();
  }

  /** All that a process of ours knows is thrown away. */
  async restart(): Promise<void> {
    await this.#close();
    await this.on.halt();
    this.#open();
    await this.on.reopen();
    await this.#run();
  }

  async #run(): Promise<void> {
    await this.on.run();
    this.#fence = await this.on.stores.relayLease.take("stage", 3_600_000);
  }

  async #close(): Promise<void> {
    this.#fence = undefined;
    await this.worker.stop();
    await this.#offering?.idle();
    await this.book.stop();
  }

  /** Nobody answers there any more; its machine goes on. */
  async attesterAway(): Promise<void> {
    await this.#server.close();
  }

  async attesterBack(): Promise<void> {
    this.#server = await serve(this.attester, Number(new URL(this.#attesterUrl).port));
  }

  /** Wei of our wallet on the second chain. */
  async giveFarGas(wei: bigint): Promise<void> {
    const { address } = createGasWallet(FAR_KEY, 1n);
    await this.far.provider.send("anvil_setBalance", [address, `0x${wei.toString(16)}`]);
  }

  async stop(): Promise<void> {
    await this.#close();
    await this.#server.close();
    for (const end of this.#ends) await end();
  }

  async mine(): Promise<void> {
    await this.on.mine();
    await this.far.provider.send("anvil_mine", ["0x1"]);
  }

  /** An address on both chains whose money becomes a note of `key`. */
  inRequest(
    key: SpendingKey,
    bend: { readonly collector?: Address; readonly isQuiet?: boolean } = {},
  ): BridgeRecord {
    const { on, far } = this;
    const receiver = this.receiver(key);
    const terms = {
      ...{ pool: on.home.pool, asset: on.usdcAddress, receiver, feeCeiling: CEILING, minimum: MINIMUM },
      ...{ collector: bend.collector ?? on.sender, refund: REFUND },
    };
    const address = inAddress(terms, this.factory);
    const lane: Lane = {
      ...{ chainId: BigInt(SECOND_ID), token: far.cctp.token, messenger: far.cctp.messenger },
      ...{ domain: HOME_DOMAIN, minimum: 2n * MINIMUM, feeCeiling: CEILING },
    };
    const source = { recipient: paddedAddress(address), lanes: [lane], refund: REFUND };
    const way = {
      kind: "from-evm",
      venue: "perpvenue",
      direction: "in",
      home: terms,
      source: { address: sourceAddress(source, this.factory), terms: source },
    } as const;
    return this.#watch(address, way, bend.isQuiet);
  }

  /** An address whose money goes to `recipient` on the second chain, or back into a note of `key`. */
  outRequest(key: SpendingKey, recipient: Address, account?: Address): BridgeRecord {
    const { on, cctp } = this;
    const terms = {
      ...{ pool: on.home.pool, asset: on.usdcAddress, feeCeiling: CEILING, minimum: MINIMUM },
      exit: {
        messenger: cctp.messenger,
        domain: SECOND_DOMAIN,
        recipient: paddedAddress(recipient),
        caller: ZERO_BYTES32,
        hook: new Uint8Array(),
      },
      refund: this.receiver(key),
    } as const;
    const address = outAddress(terms, this.factory);
    const way =
      account === undefined
        ? ({
            kind: "to-chain",
            venue: "chain",
            direction: "out",
            to: { chainId: SECOND_ID, recipient },
          } as const)
        : ({ kind: "to-exchange", venue: "perpvenue", direction: "out", account } as const);
    return this.#watch(address, { ...way, home: terms });
  }

  receiver(key: SpendingKey) {
    const sealer = new OutputSealer();
    const { npk } = sealUnmeasured(sealer, key.viewing.address, this.on.usdcAddress);
    return { npk, ephemeralKey: sealer.ephemeralKey, ciphertext: sealer.ciphertexts[0]! };
  }

  #watch(address: Address, way: BridgeRecord["way"], isQuiet = false): BridgeRecord {
    const id = `request-${String(this.#records.length).padStart(4, "0")}`;
    const draft = {
      ...{ id, owner: { developerId: "d", sub: undefined }, way, address, since: {} },
      ...{ createdAt: 0, watchUntil: Number.MAX_SAFE_INTEGER },
    } as BridgeRecord;
    const record = bridgeForm.read(bridgeForm.write(draft, id), id);
    this.#records.push(record);
    if (!isQuiet) this.book.watch(record);
    return record;
  }

  async pay(to: string, amount: bigint, usdc: Contract = this.on.usdc): Promise<void> {
    await (await (usdc.getFunction("mint")(to, amount) as Promise<{ wait(): Promise<unknown> }>)).wait();
  }

  /** Many in one block. */
  async payAll(to: readonly string[], amount: bigint): Promise<void> {
    const { on } = this;
    await on.rpc("evm_setAutomine", [false]);
    for (const one of to) {
      const data = on.usdc.interface.encodeFunctionData("mint", [one, amount]);
      await on.rpc("eth_sendTransaction", [
        { from: on.owner.address, to: on.usdcAddress, data, gas: "0x30d40" },
      ]);
    }
    await on.mine();
    await on.rpc("evm_setAutomine", [true]);
  }

  balance(of: string, usdc: Contract = this.on.usdc): Promise<bigint> {
    return usdc.getFunction("balanceOf")(of) as Promise<bigint>;
  }

  /** What the chain's credits give to a wallet. */
  async valuesOf(key: SpendingKey): Promise<bigint[]> {
    return (await creditedNotes(this.on, key)).map(({ value }) => value);
  }
}

export const sinkOf = (key: SpendingKey, flat: bigint, bps = 0) => ({
  ...{ flat, bps, sink: key.viewing.addressText(PREFIX), owner: key.owner },
});

const serve = (attester: Attester, port: number): Promise<VenueServer> =>
  serveJson({ port, answer: (request) => answerAttester(attester, request), onFault: () => undefined });

async function place(
  owner: Parameters<typeof deployForwarders>[0] & { readonly address: string },
  token: Address,
  domain: number,
  attesters: readonly Address[],
): Promise<[Factory, Cctp]> {
  const factory = await deployForwarders(owner);
  const feeRecipient = asAddress(owner.address)!;
  return [
    factory,
    await deployCctp(owner, { domain, token, attesters, threshold: attesters.length, feeRecipient }),
  ];
}
