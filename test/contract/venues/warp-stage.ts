/**
 * A second chain behind a real Hyperlane warp route, with validator and relayer as a process, and the proxy's bridges on it:
 * its settings, book, worker and sequencer, as main.ts puts them together. Only the enclave is stood in for.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Contract, JsonRpcProvider, NonceManager, toBeHex, Wallet } from "ethers";
import { bridgeSettingsOf, type BridgeSettings } from "../../../proxy/base/bridge/bridge.settings.ts";
import type { Bridges } from "../../../proxy/api/bridge/bridge.service.ts";
import { openBridges } from "../../../proxy/api/bridge/open-bridges.ts";
import { openBridging, type Bridging } from "../../../proxy/relay/bridging.ts";
import { embeddedStores } from "../../../proxy/base/store/instance.ts";
import type { FeeTerms } from "../../../proxy/base/store/fee-rules.ts";
import { deployTestUsdc } from "../../../scripts/product/deploy.ts";
import { deployForwarders } from "../../../scripts/product/forwarders.ts";
import { startAnvil, type Anvil } from "../../../scripts/stack/anvil.ts";
import type { Service } from "../../../scripts/stack/service.ts";
import { installHyperlane } from "../../../scripts/stack/venues/hyperlane/artefacts.ts";
import {
  deployHyperlane,
  enroll,
  type HyperlaneEnd,
} from "../../../scripts/stack/venues/hyperlane/deploy.ts";
import { startHyperlane } from "../../../scripts/stack/venues/hyperlane/start.ts";
import type { BridgeAddress } from "../../../shared/api/bridges.ts";
import type { BridgeStatus } from "../../../shared/api/bridge-status.ts";
import { OutputSealer } from "../../../shared/notes/encryption.ts";
import { newSeed, SpendingKey } from "../../../shared/notes/keys.ts";
import { sealUnmeasured } from "../../../shared/notes/measured-note.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import type { Factory } from "../../../shared/protocol/host/forwarders.ts";
import { creditedNotes } from "../../support/credited-notes.ts";
import { Money, OWNER, SILENT } from "../../support/money.ts";
import { until } from "../../support/until.ts";

export const MINIMUM = 1_000_000n;
export const CEILING = 200_000n;
/** What the hooks of both chains ask for a message, and the most that they can be made to ask. */
export const POSTAGE = 1_000_000_000_000_000n;
const MOST_POSTAGE = 10n ** 18n;
export const REFUND = `0x${"4e".repeat(20)}`;
export const FAR_ID = 31_338;
const FAR = "second";
const FAR_KEY = `0x${"5f".repeat(32)}`;
const VALIDATOR_KEY = `0x${"17".repeat(32)}`;
const RELAYER_KEY = `0x${"1d".repeat(32)}`;
const POLL_MS = 40;
const RICH = toBeHex(10n ** 20n);

/** One end of the route, with somebody who owns it. */
export interface End {
  readonly url: string;
  readonly provider: JsonRpcProvider;
  readonly owner: NonceManager;
  readonly token: string;
  readonly usdc: Contract;
  readonly route: HyperlaneEnd;
}

const FEE_HOOK = ["function setProtocolFee(uint256 fee)"];
const ROUTE = [
  "function unenrollRemoteRouter(uint32 domain)",
  "function enrollRemoteRouter(uint32 domain, bytes32 router)",
];
const TOKEN = [
  "function mint(address to, uint256 amount)",
  "function balanceOf(address account) view returns (uint256)",
];

export class WarpStage {
  readonly on: Money;
  readonly home: End;
  readonly far: End;
  readonly factory: Factory;
  /** Gets the service's fee of every sweep. */
  readonly service = SpendingKey.fromSeed(newSeed());
  /** Errands by label, as they were sent on the pool's chain. */
  readonly sent: string[] = [];
  #bridging: Bridging | undefined;
  #bridges: Bridges | undefined;
  readonly #anvil: Anvil;
  readonly #folder: string;
  #relayer: Service | undefined;

  private constructor(on: Money, ends: readonly [End, End], factory: Factory, anvil: Anvil, folder: string) {
    this.on = on;
    [this.home, this.far] = ends;
    this.factory = factory;
    this.#anvil = anvil;
    this.#folder = folder;
  }

  /** `isServed` false: no proxy runs, and nobody takes a step. */
  static async start(isServed = true): Promise<WarpStage> {
    await installHyperlane();
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-warp-"));
    const on = await Money.start();
    const anvil = await startAnvil({ chainId: FAR_ID });
    const provider = new JsonRpcProvider(anvil.url, FAR_ID, {
      ...{ staticNetwork: true, cacheTimeout: -1, pollingInterval: 25 },
    });
    const owner = await provider.getSigner(0);
    const token = (await deployTestUsdc(owner)).address;
    const home = await endOf(on.anvil.url, on.provider, on.anvil.chainId, on.usdcAddress);
    const far = await endOf(anvil.url, provider, FAR_ID, token);
    await enroll(home.owner, home.route, far.route);
    await enroll(far.owner, far.route, home.route);
    const factory = await deployForwarders(home.owner);
    await deployForwarders(far.owner);
    const relayer = new Wallet(RELAYER_KEY).address;
    for (const { provider: chain } of [home, far]) await chain.send("anvil_setBalance", [relayer, RICH]);
    await provider.send("anvil_setBalance", [new Wallet(FAR_KEY).address, RICH]);
    const stage = new WarpStage(on, [home, far], factory, anvil, folder);
    // Liquidity: what arrives is paid from what lies at that end.
    for (const end of [home, far]) await stage.pay(end, end.route.route, 1_000_000_000n);
    await writeFile(path.join(folder, "sender.key"), `${FAR_KEY}\n`, { mode: 0o600 });
    if (isServed) await stage.#run();
    return stage;
  }

  async stop(): Promise<void> {
    await this.#relayer?.stop();
    await this.#bridging?.stop();
    await this.on.stop();
    this.far.provider.destroy();
    await this.#anvil.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get bridging(): Bridging {
    if (this.#bridging === undefined) throw new Error("no proxy runs");
    return this.#bridging;
  }

  get bridges(): Bridges {
    if (this.#bridges === undefined) throw new Error("no proxy runs");
    return this.#bridges;
  }

  /** The proxy as after a crash: its database, and nothing else that it knew. */
  async restart(): Promise<void> {
    await this.bridging.stop();
    await this.#run();
  }

  async #run(): Promise<void> {
    const { on } = this;
    await on.halt();
    on.errands = {
      next: (tip) => this.bridging.errands.next(tip),
      sent: (errand) => {
        this.sent.push(errand.label);
        this.bridging.errands.sent(errand);
      },
      refused: (errand, tip) => this.bridging.errands.refused(errand, tip),
    };
    await on.reopen();
    const settings = this.#settings();
    const store = embeddedStores(on.database).bridges;
    const rulesFor = () => Promise.resolve({ service: this.#serviceFee(), developer: undefined });
    this.#bridging = await openBridging({
      ...{ settings, store, rulesFor, addressPrefix: "clt", chain: on.chain },
      ...{ confirmations: 2, pollIntervalMs: POLL_MS, gasWallet: on.sender, logger: SILENT },
      onHomeBlock: (listener) => on.indexer.onChange(listener),
      hasLease: () => on.sequencer.state().hasLease,
      wakeSequencer: () => on.sequencer.wake(),
      now: Date.now,
    });
    this.#bridges = openBridges({
      ...{ settings, store, fees: { rulesFor }, now: Date.now, pool: on.pool, poolAddress: on.home.pool },
      ...{ book: this.bridging.book, desk: undefined },
    });
    await on.run();
    this.bridging.start();
  }

  #settings(): BridgeSettings {
    const { on, home, far, factory } = this;
    const bounds = { minimum: String(MINIMUM), feeCeiling: String(CEILING) };
    const nothing = `0x${"c7".repeat(20)}`;
    return bridgeSettingsOf(
      {
        ...{ factory: factory.address, vaultCodeHash: factory.vaultCodeHash, collector: on.sender },
        // No CCTP here.
        home: { domain: 0, messenger: nothing, transmitter: nothing },
        assets: [{ asset: on.usdcAddress, ...bounds }],
        chains: [
          {
            ...{ name: FAR, chainId: FAR_ID, rpcUrl: far.url, confirmations: 2, blockSecs: 0.1 },
            ...{ protocol: "warp-route", token: far.token, messenger: far.route.route },
            ...{ transmitter: far.route.mailbox, domain: FAR_ID, senderKeyFile: this.#file("sender.key") },
            ...{ homeDomain: on.anvil.chainId, homeMessenger: home.route.route },
            ...{ homeTransmitter: home.route.mailbox, ...bounds, exit: bounds },
          },
        ],
        attesterUrl: "http://127.0.0.1:1",
      },
      {
        ...{ chainId: on.anvil.chainId, gasWallet: on.sender },
        assets: [{ address: on.usdcAddress, decimals: 6 }],
      },
    );
  }

  #serviceFee(): FeeTerms {
    const { owner, viewing } = this.service;
    return { flat: 50_000n, bps: 0, sink: viewing.addressText("clt"), owner };
  }

  #file(name: string): string {
    return path.join(this.#folder, name);
  }

  // ---------------------------------------------------------------- Hyperlane's side

  /** Validator and relayer. */
  async relay(): Promise<void> {
    const ends = [this.home, this.far].map(({ url, route: { domain, mailbox, merkleTreeHook } }) => ({
      ...{ rpc: url, domain, mailbox, merkleTreeHook },
    }));
    this.#relayer = await startHyperlane({
      ...{ folder: this.#file("hyperlane"), ends, validatorKey: VALIDATOR_KEY, senderKey: RELAYER_KEY },
    });
  }

  async stopRelaying(): Promise<void> {
    await this.#relayer?.stop();
    this.#relayer = undefined;
  }

  /** The route's owner cuts it: it takes nothing more, and cannot say a price. */
  async cut(end: End, other: End): Promise<void> {
    await run(new Contract(end.route.route, ROUTE, end.owner), "unenrollRemoteRouter", other.route.domain);
  }

  mend(end: End, other: End): Promise<void> {
    return enroll(end.owner, end.route, other.route);
  }

  async price(end: End, wei: bigint): Promise<void> {
    await run(new Contract(end.route.protocolFee, FEE_HOOK, end.owner), "setProtocolFee", wei);
  }

  /** Coins that were paid for messages. */
  postageAt({ provider, route }: End): Promise<bigint> {
    return provider.getBalance(route.protocolFee);
  }

  // ---------------------------------------------------------------- what users do and see

  async deposit(key: SpendingKey): Promise<BridgeAddress> {
    const request = { ...this.#note(key), refund_address: REFUND };
    return (await this.bridges.fromEvm(OWNER, request)).address;
  }

  async withdrawal(key: SpendingKey, recipient: string): Promise<BridgeAddress> {
    const request = { ...this.#note(key), to: { chain_id: FAR_ID, recipient } };
    return (await this.bridges.toOutside(OWNER, request)).address;
  }

  status({ bridge_id: id }: BridgeAddress): Promise<BridgeStatus> {
    return this.bridges.status(OWNER, { id });
  }

  #note(key: SpendingKey) {
    const sealer = new OutputSealer();
    const { npk } = sealUnmeasured(sealer, key.viewing.address, this.on.usdcAddress);
    return {
      npk: toHex(word(npk)),
      ephemeral_key: toHex(sealer.ephemeralKey),
      ciphertext: toHex(sealer.ciphertexts[0]!),
    };
  }

  async pay({ usdc }: End, to: string, amount: bigint): Promise<void> {
    await run(usdc, "mint", to, amount);
  }

  async balance({ usdc }: End, of: string): Promise<bigint> {
    return (await usdc.getFunction("balanceOf").staticCall(of)) as bigint;
  }

  async valuesOf(key: SpendingKey): Promise<bigint[]> {
    return (await creditedNotes(this.on, key)).map(({ value }) => value);
  }

  /** Mines on both chains while it waits. */
  mined<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    return until(what, async () => {
      const found = await look();
      if (found === undefined || found === false) await this.mine();
      return found;
    });
  }

  async mine(): Promise<void> {
    await this.on.mine();
    await this.far.provider.send("anvil_mine", ["0x1"]);
  }

  async pass({ provider }: End, secs: number): Promise<void> {
    await provider.send("evm_increaseTime", [secs]);
    await provider.send("anvil_mine", ["0x1"]);
  }
}

async function endOf(url: string, provider: JsonRpcProvider, domain: number, token: string): Promise<End> {
  const owner = new NonceManager(await provider.getSigner(0));
  const validator = new Wallet(VALIDATOR_KEY).address;
  const price = { amount: POSTAGE, most: MOST_POSTAGE };
  const route = await deployHyperlane(owner, domain, token, validator, price);
  return { url, provider, owner, token, route, usdc: new Contract(token, TOKEN, owner) };
}

async function run(contract: Contract, name: string, ...args: unknown[]): Promise<void> {
  await (await contract.getFunction(name).send(...args)).wait();
}
