/**
 * What all scenarios of bridges begin with: the pool's chain and another, with forwarders and CCTP's stand-in on both, a
 * real enclave, and the addresses of one wallet, computed by the client library, that nobody has asked for yet. Made once;
 * each scenario begins with new chains that stand as these do.
 */
import { cp, readFile } from "node:fs/promises";
import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import { computeAddress, JsonRpcProvider } from "ethers";
import { altchainRemote } from "../../../../scripts/stack/bridges/altchain.ts";
import { pepperFile } from "../../../../scripts/stack/development-credential.ts";
import { localProxySettings } from "../../../../scripts/stack/proxy-settings.ts";
import { bridgePins } from "../../../../scripts/stack/stack-wallet.ts";
import type { NetworkEntry } from "../../../../scripts/base/stack-file.ts";
import type { Anvil } from "../../../../scripts/stand-ins/anvil.ts";
import { venueFolder } from "../../../../scripts/stack/bridges/settle.ts";
import { newSeed } from "../../../../shared/client/index.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { startTestStack, type TestStack } from "../../../support/stack.ts";
import { until } from "../../../support/until.ts";
import { Alt, type AltFacts } from "./alt.ts";
import { person } from "./persons.ts";
import { requestsOf, type Prebuilt } from "./requests.ts";
import { REST_BLOCKS, rest, stock } from "./world-chains.ts";
import { fillExchange, type ExchangeFacts } from "./world-exchange.ts";

/** As many blocks as any chain here has to have on what is final. */
export const CONFIRMATIONS = 5;

/** In every scenario. */
export const OWN_CHAINS = ["home", "other"] as const;
export const CHAINS = [...OWN_CHAINS, "exchange"] as const;
export type ChainName = (typeof CHAINS)[number];
/** With the other blockchain, which is a process of its own and has no blocks that anvil could take back. */
export const PLACES = [...CHAINS, "alt"] as const;
export type PlaceName = (typeof PLACES)[number];

export interface ChainFacts {
  readonly name: ChainName;
  readonly chainId: number;
  readonly domain: number;
  readonly usdc: Address;
  /** A token that is no dollar of ours. */
  readonly wrong: Address;
  readonly messenger: Address;
  readonly transmitter: Address;
  /** Gets the fees of fast messages. */
  readonly feeRecipient: Address;
  /** Who sends what a proxy sends there. */
  readonly sender: string;
  /** Block of the snapshot. */
  readonly height: number;
}

/** What only some scenarios have: they take as long as without it, as others of their requests go. */
export interface Extras {
  /** The other blockchain. */
  readonly alt: boolean;
  /** The exchange, with its chain. */
  readonly exchange: boolean;
}

export const chainsOf = ({ exchange }: Extras): readonly ChainName[] => (exchange ? CHAINS : OWN_CHAINS);

export interface BridgeFacts {
  readonly entry: NetworkEntry;
  readonly apiKey: string;
  readonly stackFolder: string;
  readonly chains: Readonly<Record<ChainName, ChainFacts>>;
  readonly alt: AltFacts;
  readonly exchange: ExchangeFacts;
  readonly factory: Address;
  /** Whose addresses they all are. */
  readonly seed: Uint8Array;
  readonly serviceSeed: Uint8Array;
  readonly requests: readonly Prebuilt[];
  /** Who is paid on the other chain. */
  readonly recipients: readonly Address[];
  /** Of a proxy on the embedded store, without where its data and relays are. */
  readonly settings: Readonly<Record<string, string>>;
  /** What CLOISTER_BRIDGES names, as it stands in the file. */
  readonly bridgeSettings: Readonly<Record<string, unknown>>;
  readonly vsockPath: string;
  /** With the attester's keys. */
  readonly attesterFolder: string;
  readonly template: string;
  readonly folder: string;
}

export interface MadeBridgeWorld {
  readonly facts: BridgeFacts;
  readonly rpc: Readonly<
    Record<ChainName, (method: string, params?: readonly unknown[]) => Promise<unknown>>
  >;
  stop(): Promise<void>;
}

export async function makeBridgeWorld(): Promise<MadeBridgeWorld> {
  const on = await startTestStack({ bridges: true });
  const beside = on.local.bridges?.chains;
  if (beside === undefined) {
    await on.stop();
    throw new Error("a stack without bridges");
  }
  const options = { staticNetwork: true, cacheTimeout: -1 } as const;
  const at = ({ url, chainId }: Anvil): JsonRpcProvider => new JsonRpcProvider(url, chainId, options);
  const far = { other: at(beside.other), exchange: at(beside.exchange) };
  const stop = async (): Promise<void> => {
    for (const each of Object.values(far)) each.destroy();
    await on.stop();
  };
  try {
    const facts = await fill(on, far);
    const rpcOf =
      (provider: JsonRpcProvider) =>
      (method: string, params: readonly unknown[] = []): Promise<unknown> =>
        provider.send(method, [...params]) as Promise<unknown>;
    const rpc = { home: rpcOf(on.chain), other: rpcOf(far.other), exchange: rpcOf(far.exchange) };
    return { facts, rpc, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Far = Readonly<Record<"other" | "exchange", JsonRpcProvider>>;

async function fill(on: TestStack, far: Far): Promise<BridgeFacts> {
  const { entry, local, chain } = on;
  const { bridges } = entry;
  const { folder } = local;
  const deployment = await folder.readDeployment();
  const made = await readJson(folder.inside("bridges.json"));
  const bridgeSettings = await readJson(local.bridges!.settingsFile);
  if (bridges === undefined || deployment === undefined) throw new Error("a stack without a deployment");
  const wrong = {
    home: await stock(chain, entry.usdc),
    other: await stock(far.other, bridges.chains[0]!.usdc),
    exchange: await stock(far.exchange, bridges.perpvenue.usdc),
  };
  const exchange = await fillExchange(entry, {
    folder: venueFolder(folder, "exchange"),
    copy: folder.inside("exchange-template"),
  });

  await on.setMining(false);
  await on.mine(REST_BLOCKS);
  for (const each of Object.values(far)) await rest(each);
  const height = await chain.getBlockNumber();
  await until("the index to be there", async () => (await on.client.merkleRoot()).block_number === height);
  await Promise.all([local.proxy().stop(), local.relay().stop()]);
  const template = folder.inside("template");
  await cp(folder.inside("store"), template, { recursive: true });

  const farSender = computeAddress((await folder.secrets.text("bridge-sender.key")).trim());
  const cctp = made as unknown as Record<ChainName, Deployed>;
  const chainFacts = async (name: ChainName, chainId: number, provider: JsonRpcProvider) => ({
    ...{ name, chainId, domain: cctp[name].domain, height: await provider.getBlockNumber() },
    ...{ usdc: must(cctp[name].usdc), wrong: wrong[name], feeRecipient: cctp[name].feeRecipient },
    ...{ messenger: must(cctp[name].messenger), transmitter: must(cctp[name].transmitter) },
    sender: name === "home" ? await on.sender() : farSender,
  });
  const chains: BridgeFacts["chains"] = {
    home: await chainFacts("home", entry.chain_id, chain),
    other: await chainFacts("other", bridges.chains[0]!.chain_id, far.other),
    exchange: await chainFacts("exchange", bridges.perpvenue.chain_id, far.exchange),
  };
  const settings = {
    ...(await localProxySettings({
      ...{ name: "first", folder, rpcUrl: local.chain.url, ports: { proxy: 0 }, deployment },
      pepperFile: await pepperFile(on.stack.folder.secrets),
      serviceAddress: entry.service_address,
    })),
    CLOISTER_CONFIRMATIONS: String(CONFIRMATIONS),
    CLOISTER_BLOCK_POLL_MS: "100",
    CLOISTER_LIMIT_KEY_PER_MINUTE: "1000000",
    CLOISTER_LIMIT_KEY_PER_DAY: "10000000",
  };
  const seed = newSeed();
  const recipients = [must(person(20).address)];
  return {
    ...{ entry, chains, exchange, seed, recipients, settings, template, bridgeSettings },
    alt: {
      ...{
        mint: bridges.altchain.mint,
        decimals: bridges.altchain.decimals,
        domain: bridges.altchain.domain,
      },
      slot: await new Alt((bridgeSettings as unknown as WorldSettings).altchain.rpcUrl).slot(),
      messenger: altchainRemote(bridges.altchain.mint).messenger,
      feePayer: base58.encode(
        ed25519.getPublicKey(fromHexText(await folder.secrets.text("bridge-fee-payer.key"))),
      ),
    },
    apiKey: on.stack.file.api_key,
    stackFolder: on.stack.folder.path,
    factory: must(bridges.factory),
    serviceSeed: fromHexText(await folder.secrets.text("service-wallet.seed")),
    requests: requestsOf({ entry, seed, recipients, exchange, pins: bridgePins(entry.usdc, bridges) }),
    vsockPath: String(local.enclave().ready["vsockPath"]),
    attesterFolder: folder.inside("attester"),
    folder: folder.path,
  };
}

/** As far as the world is made of it. */
interface WorldSettings {
  readonly altchain: { readonly rpcUrl: string };
}

/** As `bridges.json` of a network has it. */
interface Deployed {
  readonly domain: number;
  readonly usdc: string;
  readonly messenger: string;
  readonly transmitter: string;
  readonly feeRecipient: Address;
}

function must(text: string): Address {
  const address = asAddress(text.toLowerCase());
  if (address === undefined) throw new TypeError(`no address: ${text}`);
  return address;
}

const fromHexText = (text: string): Uint8Array =>
  Uint8Array.from(Buffer.from(text.trim().replace(/^0x/, ""), "hex"));

async function readJson(file: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(file, "utf8")) as Record<string, unknown>;
}
