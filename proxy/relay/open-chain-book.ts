/** The book of an instance: followers of all chains that its settings name, fed with the open requests of the store. */
import { altchainNode } from "../../shared/altchain/node.ts";
import { parseAltchainAddress } from "../../shared/altchain/token.ts";
import { TIMEOUT_SECS } from "../../shared/protocol/host/forwarders.ts";
import { openNodes } from "../base/chain/nodes.ts";
import type { Chain } from "../base/chain/provider.ts";
import type { Logger } from "../base/logging.ts";
import { HOME_CHAIN, type BridgeRecord } from "../base/store/bridge-records.ts";
import type { BridgeStore } from "../base/store/bridges.ts";
import type { BridgeSettings } from "../base/bridge/bridge.settings.ts";
import { createAttesterClient } from "./chains/attester-client.ts";
import { WatchingBook, type BookChain, type BookOptions } from "./chain-book.ts";
import { keyOf, type Key } from "./chains/events.ts";
import type { WatchedCctp } from "./chains/logs-seen.ts";

export interface OpenBookParts {
  readonly settings: BridgeSettings;
  /** The pool's. */
  readonly home: {
    readonly chain: Chain;
    readonly confirmations: number;
    readonly blockSecs: number;
    readonly pollIntervalMs: number;
  };
  readonly store: Pick<BridgeStore, "open" | "follow">;
  readonly logger: Logger;
}

/** Other names of the settings, as the status says them. */
const ALTCHAIN = "altchain";
const EXCHANGE = "perpvenue";
/** Of that chain's slots; what is confirmed there has not been taken back yet. */
const ALT = { commitment: "confirmed", confirmations: 1 } as const;
const ATTESTER_POLL_MS = 1_000;
/** Several times a block, so that a deposit is seen in the one after it. */
const POLLS_A_BLOCK = 3;
const LONGEST_POLL_MS = 5_000;

/** Watches, too, until `stop`. */
export async function openBook({
  store,
  ...parts
}: OpenBookParts): Promise<{ readonly book: WatchingBook; stop(): Promise<void> }> {
  const book = new WatchingBook(bookOptions(parts), parts.logger);
  const take = (record: BridgeRecord): void => {
    if (record.closedAt === undefined) book.watch(record);
    else book.unwatch(record.id);
  };
  // First what comes from now on: what is opened while the open ones are read would be missed the other way round.
  const stopFollowing = store.follow(take);
  for await (const page of store.open()) for (const record of page) book.watch(record);
  book.start();
  return {
    book,
    async stop() {
      stopFollowing();
      await book.stop();
    },
  };
}

export function bookOptions({
  settings,
  home,
  logger,
}: Pick<OpenBookParts, "settings" | "home" | "logger">): BookOptions {
  const { altchain, assets, attesterUrl, chains, perpvenue } = settings;
  const forwarders = settings.factory.toLowerCase();
  const senders = sendersOf(settings);
  const far = (name: string, at: FarChain): Omit<BookChain, "contracts"> => ({
    ...{ name, where: "source" },
    chain: openNodes(at.rpcUrl, BigInt(at.chainId), { logger: logger.child({ chain: name }) }).chain,
    ...{ confirmations: at.confirmations, blockSecs: at.blockSecs, pollIntervalMs: pollOf(at.blockSecs) },
  });
  const homeChain: BookChain = {
    ...{ name: HOME_CHAIN, where: "home", ...home },
    contracts: {
      ...{ tokens: assets.map(({ asset }) => asset.toLowerCase()), forwarders },
      cctp: cctpOf(settings.home, senders),
    },
  };
  return {
    timeoutSecs: TIMEOUT_SECS,
    bridgingSecs: Math.max(...[altchain, perpvenue, ...chains].map((one) => one?.estimatedSecs ?? 0)),
    attester: { client: createAttesterClient({ url: attesterUrl }), pollIntervalMs: ATTESTER_POLL_MS },
    chains: [
      homeChain,
      ...chains.map((one): BookChain => ({
        ...far(one.name, one),
        contracts: { tokens: [one.token.toLowerCase()], forwarders, cctp: cctpOf(one, senders) },
      })),
      ...(perpvenue === undefined ? [] : [exchangeChain(perpvenue)]),
    ],
    ...(altchain === undefined
      ? {}
      : {
          altchain: {
            ...{ name: ALTCHAIN, node: altchainNode(altchain.rpcUrl), domain: altchain.domain, ...ALT },
            ...{ blockSecs: altchain.blockSecs, pollIntervalMs: altchain.blockSecs * 1_000 },
            token: { mint: parseAltchainAddress(altchain.mint), decimals: altchain.decimals },
          },
        }),
  };

  function exchangeChain({ chain, exit }: NonNullable<BridgeSettings["perpvenue"]>): BookChain {
    const { transmitter, token } = chain;
    const cctp = { domain: exit.domain, transmitter: transmitter.toLowerCase(), senders };
    return {
      ...far(EXCHANGE, chain),
      contracts: {
        ...{ tokens: [token.toLowerCase()], forwarders, exchange: exit.forwarder.toLowerCase() },
        cctp: { ...cctp, messenger: (chain.messenger ?? settings.home.messenger).toLowerCase() },
      },
    };
  }
}

interface FarChain {
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly confirmations: number;
  readonly blockSecs: number;
}

interface Cctp {
  readonly domain: number;
  readonly messenger: string;
  readonly transmitter: string;
}

const cctpOf = ({ domain, messenger, transmitter }: Cctp, senders: WatchedCctp["senders"]): WatchedCctp => ({
  ...{ domain, messenger: messenger.toLowerCase(), transmitter: transmitter.toLowerCase(), senders },
});

function sendersOf({ home, chains }: BridgeSettings): Readonly<Record<number, Key>> {
  return Object.fromEntries([home, ...chains].map(({ domain, messenger }) => [domain, keyOf(messenger)]));
}

export const pollOf = (blockSecs: number): number =>
  Math.min(LONGEST_POLL_MS, Math.ceil((blockSecs * 1000) / POLLS_A_BLOCK));
