/**
 * The relay, put together: the book that watches the chains, the worker that takes the steps which money needs, and what it
 * leaves in the store for the proxies. It acts while it has the relay's lease, and watches in any case.
 */
import { altchainNode } from "../../shared/altchain/node.ts";
import { keyFromSeed } from "../../shared/altchain/signing.ts";
import { parseAltchainAddress } from "../../shared/altchain/token.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { decodeShieldedAddress } from "../../shared/notes/address.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { Developers } from "../base/auth/developers.ts";
import { loadSecret } from "../base/auth/secret-files.ts";
import { createExchangeClient } from "../base/bridge/exchange.ts";
import type { BridgeSettings } from "../base/bridge/bridge.settings.ts";
import { createGasWallet } from "../base/chain/gas-wallet.ts";
import { openNodes } from "../base/chain/nodes.ts";
import type { Chain } from "../base/chain/provider.ts";
import type { Logger } from "../base/logging.ts";
import { HOME_CHAIN } from "../base/store/bridge-records.ts";
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { InstanceStores } from "../base/store/instance.ts";
import type { Fence } from "../base/store/lease.ts";
import { createAttesterClient } from "./chains/attester-client.ts";
import type { WatchingBook } from "./chain-book.ts";
import { startClosing } from "./closing.ts";
import { createBurnDesk, type OpenBurnDesk } from "./desk/burn-desk.ts";
import { ChainSender } from "./desk/chain-sender.ts";
import { withDoor } from "./desk/exchange-door.ts";
import { gasLeft } from "./desk/gas-left.ts";
import type { FeesInForce } from "./desk/sweep-fees.ts";
import type { StepOf } from "./desk/steps.ts";
import type { ExchangeDesk } from "./desk/snapshot.ts";
import { Worker, type FarChain } from "./desk/worker.ts";
import { createBridgeFigures } from "./figures.ts";
import type { createRelayMetrics } from "./metrics.ts";
import { Offering } from "./offering.ts";
import { openBook, pollOf } from "./open-chain-book.ts";
import { startSignatures } from "./signatures.ts";
import { statusView } from "./status.ts";
import { startTelling } from "./telling.ts";

export interface RelayParts {
  readonly settings: BridgeSettings;
  readonly stores: Pick<InstanceStores, "bridges" | "relay" | "feeRules" | "keys">;
  readonly addressPrefix: string;
  /** The pool's chain. */
  readonly chain: Chain;
  readonly confirmations: number;
  readonly pollIntervalMs: number;
  /** Of this relay's lease; undefined while another one acts. */
  readonly fence: () => Fence | undefined;
  readonly metrics: Pick<ReturnType<typeof createRelayMetrics>, "count" | "observe">;
  readonly logger: Logger;
  readonly now: () => number;
}

export interface Relay {
  /** Chains and venues that do not answer. */
  unreachable(): readonly string[];
  /** The lease was taken: what waits is looked at now. */
  wake(): void;
  stop(): Promise<void>;
}

const STUCK_AFTER_MS = 30_000;
const MAX_FEE_PER_GAS = 500_000_000_000n;
const EXCHANGE = "perpvenue";

export async function startRelay(parts: RelayParts): Promise<Relay> {
  const { settings, stores, chain, fence, metrics, logger, now } = parts;
  const { blockSecs } = settings.home;
  const watching = await openBook({
    ...{ settings, store: stores.bridges, logger: logger.child({ part: "book" }) },
    home: { chain, confirmations: parts.confirmations, blockSecs, pollIntervalMs: pollOf(blockSecs) },
  });
  const { book } = watching;
  const telling = startTelling({
    ...{ book, store: stores.relay, statusOf: statusView(settings), fence, now },
    logger: logger.child({ part: "telling" }),
  });
  const stopForgetting = stores.bridges.follow(({ id, closedAt }) => {
    if (closedAt === undefined) return;
    telling.forget(id).catch((error: unknown) => logger.warn({ err: error }, "a closed request was kept"));
  });
  const worker = new Worker({
    ...{ book, now, logger, pollIntervalMs: parts.pollIntervalMs },
    attester: createAttesterClient({ url: settings.attesterUrl }),
    hasLease: () => fence() !== undefined,
    wakeHome: () => offering.wake(),
    exchange: exchangeOf(settings, logger),
    screeningUrl: settings.screening?.url,
    sender: settings.collector,
    readSink: (text) => decodeShieldedAddress(text, parts.addressPrefix),
    feesOf: (step) => feesOf(stores.feeRules, step, now()),
    home: {
      ...{ name: HOME_CHAIN, chain, chainId: chain.chainId, domain: settings.home.domain },
      contracts: { forwarders: settings.factory, transmitter: settings.home.transmitter },
      gas: () => gasLeft(chain, settings.collector, MAX_FEE_PER_GAS),
    },
    far: await Promise.all(farChains(settings).map((far) => openFar(far, settings, logger, now))),
  });
  const offering = new Offering({
    ...{ line: worker.errands, store: stores.relay, fence, tip: () => book.tipOf(HOME_CHAIN) },
    logger: logger.child({ part: "offering" }),
  });
  const desk = await openDesk(parts, book, (...asked) => worker.attesterFees(...asked));
  const signatures =
    desk &&
    startSignatures({
      ...{ desk, store: stores.relay, fence, recordOf: (id) => book.recordOf(id) },
      logger: logger.child({ part: "signatures" }),
    });
  const developers = new Developers(stores.keys);
  const closing = startClosing({
    ...{ store: stores.bridges, book, now },
    isDisabled: async (id) => (await developers.get(id))?.disabledAt !== undefined,
    onFault: (error) => logger.error({ err: error }, "bridge requests could not be looked through"),
  });
  const figures = createBridgeFigures({
    ...{ store: stores.bridges, book, now, count: metrics.count },
    onChange: (listener) => followBoth(stores.bridges, book, listener),
  });
  await figures.start();
  metrics.observe(() => figures.snapshot());
  worker.start();
  desk?.start();
  signatures?.look();
  return {
    unreachable: () => book.unreachable(),
    wake() {
      offering.wake();
      signatures?.look();
    },
    async stop() {
      closing.stop();
      figures.stop();
      stopForgetting();
      await Promise.all([worker.stop(), signatures?.stop(), desk?.stop(), telling.stop(), offering.idle()]);
      await watching.stop();
    },
  };
}

/** Of what the store says of a request, and of what the chains say. The result ends it. */
function followBoth(
  store: Pick<InstanceStores["bridges"], "follow">,
  book: Pick<WatchingBook, "onChange" | "recordOf">,
  listener: (record: BridgeRecord) => void,
): () => void {
  const stopStore = store.follow(listener);
  const stopBook = book.onChange((id) => {
    const record = book.recordOf(id);
    if (record !== undefined) listener(record);
  });
  return () => {
    stopStore();
    stopBook();
  };
}

/** In force now, as the proxies have promised it on disk: they alone ask for prices. */
async function feesOf(
  store: RelayParts["stores"]["feeRules"],
  { developerId, terms: { asset } }: StepOf<"sweep">,
  at: number,
): Promise<FeesInForce> {
  const [promised, rules] = await Promise.all([
    store.promised(asset, "deposit", at),
    store.rules(developerId),
  ]);
  const [newest] = [...promised].sort((one, other) => other.goodUntil - one.goodUntil);
  if (newest === undefined) throw new Error("no proxy has said yet which fee the service takes");
  const rule = rules.find((one) => one.asset === asset && one.operation === "deposit");
  return { service: newest.terms, developer: rule?.terms };
}

function exchangeOf({ perpvenue }: BridgeSettings, logger: Logger): ExchangeDesk | undefined {
  if (perpvenue === undefined) return undefined;
  const { apiUrl, chain, exit } = perpvenue;
  const { chain: at } = openNodes(chain.rpcUrl, BigInt(chain.chainId), {
    logger: logger.child({ chain: EXCHANGE }),
  });
  return withDoor(createExchangeClient(apiUrl), { chain: at, forwarder: exit.forwarder, token: chain.token });
}

interface Far {
  readonly name: string;
  readonly chainId: number;
  readonly rpcUrl: string;
  readonly senderKeyFile: string;
  /** In the attester's numbers; undefined where CCTP is not. */
  readonly domain: number | undefined;
  readonly transmitter: Address | undefined;
}

function farChains({ chains, perpvenue }: BridgeSettings): readonly Far[] {
  if (perpvenue === undefined) return chains;
  return [...chains, { ...perpvenue.chain, name: EXCHANGE, domain: perpvenue.exit.domain }];
}

async function openFar(
  { name, chainId, rpcUrl, senderKeyFile, domain, transmitter }: Far,
  { factory }: BridgeSettings,
  logger: Logger,
  now: () => number,
): Promise<FarChain> {
  const { chain } = openNodes(rpcUrl, BigInt(chainId), { logger: logger.child({ chain: name }) });
  const wallet = createGasWallet(await loadSecret(senderKeyFile), chain.chainId);
  const sender = new ChainSender({
    ...{ chain, wallet, now, logger: logger.child({ chain: name }) },
    ...{ stuckAfterMs: STUCK_AFTER_MS, maxFeePerGas: MAX_FEE_PER_GAS },
  });
  const contracts = { forwarders: factory, transmitter };
  const gas = () => gasLeft(chain, sender.address, MAX_FEE_PER_GAS);
  return { name, chain, chainId: chain.chainId, domain, contracts, sender, gas };
}

async function openDesk(
  { settings, pollIntervalMs, logger }: RelayParts,
  book: WatchingBook,
  feesOf: (source: number, destination: number) => ReturnType<Parameters<typeof createBurnDesk>[0]["fees"]>,
): Promise<OpenBurnDesk | undefined> {
  const { altchain, home } = settings;
  if (altchain === undefined) return undefined;
  return createBurnDesk({
    ...{ book, pollIntervalMs, logger, homeDomain: home.domain },
    node: altchainNode(altchain.rpcUrl),
    token: { mint: parseAltchainAddress(altchain.mint), decimals: altchain.decimals },
    bounds: { minimum: altchain.minimum, feeCeiling: altchain.feeCeiling },
    feePayer: await keyFromSeed(mustFromHex(await loadSecret(altchain.feePayerKeyFile))),
    fees: () => feesOf(altchain.domain, home.domain),
  });
}
