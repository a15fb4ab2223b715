/**
 * The relay of an instance, put together: the book that watches the chains, and the worker that takes the steps which money
 * needs.
 */
import { altchainNode } from "../../shared/altchain/node.ts";
import { keyFromSeed } from "../../shared/altchain/signing.ts";
import { parseAltchainAddress } from "../../shared/altchain/token.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { decodeShieldedAddress } from "../../shared/notes/address.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { loadSecret } from "../base/auth/secret-files.ts";
import { createChain, type Chain } from "../base/chain/provider.ts";
import type { AskedTerms } from "../base/fees/service-fees.ts";
import type { FeeOperation } from "../../shared/protocol/host/fees.ts";
import type { Logger } from "../base/logging.ts";
import type { Errands } from "../base/chain/errands.ts";
import { createGasWallet } from "../base/chain/gas-wallet.ts";
import { HOME_CHAIN } from "../base/store/bridge-records.ts";
import type { BridgeStore } from "../base/store/bridges.ts";
import type { BridgeSettings } from "../base/bridge/bridge.settings.ts";
import type { Book } from "../base/bridge/requests.ts";
import { startClosing } from "./closing.ts";
import { createExchangeClient } from "../base/bridge/exchange.ts";
import { createAttesterClient } from "./chains/attester-client.ts";
import type { WatchingBook } from "./chain-book.ts";
import { openBook, pollOf } from "./open-chain-book.ts";
import { createBurnDesk, type OpenBurnDesk } from "./desk/burn-desk.ts";
import { createChainSender } from "./desk/chain-sender.ts";
import { gasLeft } from "./desk/gas-left.ts";
import { createWorker, type FarChain } from "./desk/worker.ts";

export interface BridgingParts {
  readonly settings: BridgeSettings;
  readonly store: BridgeStore;
  readonly rulesFor: (developerId: string, asset: Address, operation: FeeOperation) => Promise<AskedTerms>;
  readonly addressPrefix: string;
  /** The pool's chain. */
  readonly chain: Chain;
  readonly confirmations: number;
  readonly pollIntervalMs: number;
  /** Of each block of it that this proxy has seen. */
  readonly onHomeBlock: (listener: () => void) => () => void;
  /** Whose nonces the steps on the pool's chain take; it alone may take fees. */
  readonly gasWallet: Address;
  /** Whether this proxy is the one that sends. */
  readonly hasLease: () => boolean;
  readonly wakeSequencer: () => void;
  readonly logger: Logger;
  readonly now: () => number;
}

export interface Bridging {
  readonly book: Book;
  /** For burns on the other blockchain; undefined where there is none. */
  readonly desk: OpenBurnDesk | undefined;
  /** For the sequencer. */
  readonly errands: Errands;
  start(): void;
  stop(): Promise<void>;
}

/** Of the pool's chain, about; only words of time come from it. */
const HOME_BLOCK_SECS = 12;
const STUCK_AFTER_MS = 30_000;
const MAX_FEE_PER_GAS = 500_000_000_000n;
const EXCHANGE = "perpvenue";

/** Begins to watch; `start` begins to act. */
export async function openBridging(parts: BridgingParts): Promise<Bridging> {
  const { settings, store, chain, logger, now } = parts;
  const home = {
    ...{ chain, confirmations: parts.confirmations },
    ...{ blockSecs: HOME_BLOCK_SECS, pollIntervalMs: pollOf(HOME_BLOCK_SECS) },
  };
  const book = await openBook({
    ...{ settings, home, store, onHomeBlock: parts.onHomeBlock },
    logger: logger.child({ part: "book" }),
  });
  const attester = createAttesterClient({ url: settings.attesterUrl });
  const worker = createWorker({
    ...{ book, attester, now, logger, pollIntervalMs: parts.pollIntervalMs },
    ...{ hasLease: parts.hasLease, wakeSequencer: parts.wakeSequencer },
    exchange: settings.perpvenue === undefined ? undefined : createExchangeClient(settings.perpvenue.apiUrl),
    screeningUrl: settings.screening?.url,
    sender: parts.gasWallet,
    readSink: (text) => decodeShieldedAddress(text, parts.addressPrefix),
    feesOf: ({ developerId, terms }) => parts.rulesFor(developerId, terms.asset, "deposit"),
    home: {
      ...{ name: HOME_CHAIN, chainId: chain.chainId, domain: settings.home.domain },
      contracts: { forwarders: settings.factory, transmitter: settings.home.transmitter },
      gas: () => gasLeft(chain, parts.gasWallet, MAX_FEE_PER_GAS),
    },
    far: await Promise.all(farChains(settings).map((far) => openFar(far, settings, logger, now))),
  });
  const desk = await openDesk(parts, book, worker.attesterFees);
  const closing = startClosing({
    ...{ store, book, now },
    onFault: (error) => logger.error({ err: error }, "bridge requests could not be looked through"),
  });
  return {
    ...{ book, desk, errands: worker.errands },
    start() {
      worker.start();
      desk?.start();
    },
    async stop() {
      closing.stop();
      await Promise.all([worker.stop(), desk?.stop(), book.stop()]);
    },
  };
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
  const chain = createChain(rpcUrl, BigInt(chainId));
  const wallet = createGasWallet(await loadSecret(senderKeyFile), chain.chainId);
  const sender = createChainSender({
    ...{ chain, wallet, now, logger: logger.child({ chain: name }) },
    ...{ stuckAfterMs: STUCK_AFTER_MS, maxFeePerGas: MAX_FEE_PER_GAS },
  });
  const contracts = { forwarders: factory, transmitter };
  const gas = () => gasLeft(chain, sender.address, MAX_FEE_PER_GAS);
  return { name, chainId: chain.chainId, domain, contracts, sender, gas };
}

async function openDesk(
  { settings, pollIntervalMs, logger }: BridgingParts,
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
