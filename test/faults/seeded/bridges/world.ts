/**
 * What all scenarios of bridges begin with: the pool's chain and another, with forwarders and CCTP's stand-in on both, a
 * real enclave, and the addresses of one wallet, computed by the client library, that nobody has asked for yet. Made once;
 * each scenario begins with new chains that stand as these do.
 */
import { cp, readFile } from "node:fs/promises";
import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import { computeAddress, HDNodeWallet, JsonRpcProvider } from "ethers";
import { DEVELOPMENT_MNEMONIC } from "../../../../scripts/stack/anvil.ts";
import { altchainRemote } from "../../../../scripts/stack/bridges/altchain.ts";
import { pepperFile } from "../../../../scripts/stack/development-credential.ts";
import { localProxySettings } from "../../../../scripts/stack/proxy-settings.ts";
import { bridgePins } from "../../../../scripts/stack/stack-wallet.ts";
import { TestUsdc } from "../../../../scripts/stack/usdc.ts";
import { deployTestUsdc } from "../../../../scripts/product/deploy.ts";
import type { NetworkEntry } from "../../../../scripts/product/stack-file.ts";
import { newSeed } from "../../../../shared/client/index.ts";
import { asAddress, type Address, type Bytes32 } from "../../../../shared/protocol/brands.ts";
import { startTestStack, type TestStack } from "../../../support/stack.ts";
import { until } from "../../../support/until.ts";
import { requestsOf, type Prebuilt } from "./requests.ts";

/** As many blocks as any chain here has to have on what is final. */
export const CONFIRMATIONS = 5;
/** Empty blocks above the world's transactions. */
const REST_BLOCKS = 2;
const UNIT = 1_000_000n;
const RICH = 10_000_000n * UNIT;

export const CHAINS = ["home", "other"] as const;
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

/** The other blockchain; where its program listens differs from lane to lane. */
export interface AltFacts {
  readonly mint: string;
  readonly decimals: number;
  readonly domain: number;
  readonly messenger: Bytes32;
  /** Who pays the network for the service. */
  readonly feePayer: string;
}

export interface BridgeFacts {
  readonly entry: NetworkEntry;
  readonly apiKey: string;
  readonly stackFolder: string;
  readonly chains: Readonly<Record<ChainName, ChainFacts>>;
  readonly alt: AltFacts;
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

/** Unlocked accounts of every local chain: who pays, and somebody else. */
export const person = (n: number): HDNodeWallet =>
  HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, undefined, `m/44'/60'/0'/0/${String(n)}`);
export const PAYER = 7;
export const STRANGER = 8;

export interface MadeBridgeWorld {
  readonly facts: BridgeFacts;
  readonly rpc: Readonly<
    Record<ChainName, (method: string, params?: readonly unknown[]) => Promise<unknown>>
  >;
  stop(): Promise<void>;
}

export async function makeBridgeWorld(): Promise<MadeBridgeWorld> {
  const on = await startTestStack({ bridges: true });
  const other = on.local.bridges?.chains.other;
  if (other === undefined) {
    await on.stop();
    throw new Error("a stack without bridges");
  }
  const options = { staticNetwork: true, cacheTimeout: -1 } as const;
  const far = new JsonRpcProvider(other.url, other.chainId, options);
  const stop = async (): Promise<void> => {
    far.destroy();
    await on.stop();
  };
  try {
    const facts = await fill(on, far);
    const rpcOf =
      (provider: JsonRpcProvider) =>
      (method: string, params: readonly unknown[] = []): Promise<unknown> =>
        provider.send(method, [...params]) as Promise<unknown>;
    return { facts, rpc: { home: rpcOf(on.chain), other: rpcOf(far) }, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function fill(on: TestStack, far: JsonRpcProvider): Promise<BridgeFacts> {
  const { entry, local, chain } = on;
  const { bridges } = entry;
  const { folder } = local;
  const deployment = await folder.readDeployment();
  const made = await readJson(folder.inside("bridges.json"));
  const bridgeSettings = await readJson(local.bridges!.settingsFile);
  if (bridges === undefined || deployment === undefined) throw new Error("a stack without a deployment");
  const [wrongHome, wrongFar] = [await stock(chain, entry.usdc), await stock(far, bridges.chains[0]!.usdc)];

  await on.setMining(false);
  await on.mine(REST_BLOCKS);
  await far.send("evm_setAutomine", [false]);
  await far.send("evm_setIntervalMining", [0]);
  await far.send("anvil_mine", [`0x${REST_BLOCKS.toString(16)}`]);
  const height = await chain.getBlockNumber();
  await until("the index to be there", async () => (await on.client.merkleRoot()).block_number === height);
  await local.proxy().stop();
  const template = folder.inside("template");
  await cp(folder.inside("store"), template, { recursive: true });

  const farSender = computeAddress((await folder.secrets.text("bridge-sender.key")).trim());
  const cctp = made as unknown as Record<ChainName, { readonly feeRecipient: Address }>;
  const chains: BridgeFacts["chains"] = {
    home: {
      ...{ name: "home", chainId: entry.chain_id, domain: bridges.home.domain, height },
      ...{ usdc: must(entry.usdc), wrong: wrongHome, sender: await on.sender() },
      ...{ messenger: must(bridges.home.messenger), transmitter: must(bridges.home.transmitter) },
      feeRecipient: cctp.home.feeRecipient,
    },
    other: {
      ...{ name: "other", chainId: bridges.chains[0]!.chain_id, domain: bridges.chains[0]!.domain },
      ...{ usdc: must(bridges.chains[0]!.usdc), wrong: wrongFar, sender: farSender },
      messenger: must(bridges.chains[0]!.messenger),
      transmitter: must(bridges.chains[0]!.transmitter),
      ...{ feeRecipient: cctp.other.feeRecipient, height: await far.getBlockNumber() },
    },
  };
  const settings = {
    ...(await localProxySettings({
      ...{ name: "first", folder, chain: local.chain, ports: { proxy: 0 }, deployment },
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
    ...{ entry, chains, seed, recipients, settings, template, bridgeSettings },
    alt: {
      ...{
        mint: bridges.altchain.mint,
        decimals: bridges.altchain.decimals,
        domain: bridges.altchain.domain,
      },
      messenger: altchainRemote(bridges.altchain.mint).messenger,
      feePayer: base58.encode(
        ed25519.getPublicKey(fromHexText(await folder.secrets.text("bridge-fee-payer.key"))),
      ),
    },
    apiKey: on.stack.file.api_key,
    stackFolder: on.stack.folder.path,
    factory: must(bridges.factory),
    serviceSeed: fromHexText(await folder.secrets.text("service-wallet.seed")),
    requests: requestsOf({ entry, seed, recipients, pins: bridgePins(entry.usdc, bridges) }),
    vsockPath: String(local.enclave().ready["vsockPath"]),
    attesterFolder: folder.inside("attester"),
    folder: folder.path,
  };
}

/** Dollars for the payer, and a token of his that no bridge knows. */
async function stock(chain: JsonRpcProvider, usdc: string): Promise<Address> {
  const owner = await chain.getSigner(0);
  const { address } = person(PAYER);
  const wrong = await deployTestUsdc(owner);
  await (await TestUsdc.at(usdc, chain)).mint(address, RICH);
  await TestUsdc.with(wrong.address, owner).mint(address, RICH);
  for (const one of [PAYER, STRANGER])
    await chain.send("anvil_setBalance", [person(one).address, `0x${(10n ** 24n).toString(16)}`]);
  return wrong.address;
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
