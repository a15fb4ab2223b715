// Contracts of the local bridges: deployed once on the pool's chain and the two beside it, and found again at every later
// start. DEVELOPMENT ONLY.
import { JsonRpcProvider, NonceManager, Wallet } from "ethers";
import { z } from "zod";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";
import { deployTestUsdc } from "../../deploy/pool.ts";
import { deployForwarders } from "../../deploy/forwarders.ts";
import { readStackJson, StackError } from "../../base/stack-file.ts";
import type { Anvil } from "../../stand-ins/anvil.ts";
import type { Remote } from "../../stand-ins/cctp.ts";
import { giveCoins } from "../../stand-ins/local-chain.ts";
import { writeJson, type NetworkFolder } from "../stack-folder.ts";
import { attesterAddresses } from "../../stand-ins/venues/attester/start.ts";
import {
  deployCctp,
  deployExchangeForwarder,
  type CctpContracts,
} from "../../stand-ins/venues/cctp-contracts.ts";
import { DOMAINS, type BridgeChainName } from "./terms.ts";

const address = z.custom<Address>((text) => typeof text === "string" && text === asAddress(text));
const bytes32 = z.custom<Bytes32>((text) => typeof text === "string" && text === asBytes32(text));
const cctp = z.object({
  domain: z.int(),
  ...{ usdc: address, transmitter: address, messenger: address, minter: address, feeRecipient: address },
  block: z.int(),
});

/** `bridges.json` of a network: what is on the chains. */
const deployment = z.object({
  factory: z.object({ address, vaultCodeHash: bytes32 }),
  home: cctp,
  other: cctp,
  exchange: cctp,
  /** The exchange's contract on its chain. */
  forwarder: address,
});
export type BridgesDeployment = z.infer<typeof deployment>;

export interface BridgeChains extends Readonly<Record<BridgeChainName, Anvil>> {
  readonly home: Anvil;
}

export interface SettlingBridges {
  readonly folder: NetworkFolder;
  readonly chains: BridgeChains;
  readonly usdc: Address;
  readonly blockTimeSecs: number;
  /** How the other blockchain's burns are named in messages. */
  readonly altchain: Remote;
}

const FILE = "bridges.json";
const RICH = 10_000n * 10n ** 18n;

/** Undefined where none has been made. */
export function readBridges(folder: NetworkFolder): Promise<BridgesDeployment | undefined> {
  return readStackJson(folder.inside(FILE), deployment);
}

/** Folders of the venues' programs. Each holds keys that no other party reads. */
export const venueFolder = (folder: NetworkFolder, venue: "attester" | "exchange"): string =>
  folder.inside(venue);

export async function settleBridges(settling: SettlingBridges): Promise<BridgesDeployment> {
  const { folder, blockTimeSecs } = settling;
  const opened = await openAll(settling);
  try {
    const existing = await readBridges(folder);
    if (existing === undefined) {
      // Blocks at their time would make each of some hundred transactions wait for one.
      for (const { provider } of Object.values(opened)) await provider.send("evm_setAutomine", [true]);
      const made = await deploy(settling, opened);
      await writeJson(folder.inside(FILE), made);
      return made;
    }
    for (const [name, { provider }] of Object.entries(opened))
      if ((await provider.getCode(existing.factory.address)) === "0x")
        throw new StackError(
          `the saved chain of ${name} does not hold the bridges. Begin again with: npm start -- --fresh`,
        );
    return existing;
  } finally {
    for (const { provider } of Object.values(opened)) {
      await provider.send("evm_setAutomine", [false]);
      await provider.send("evm_setIntervalMining", [blockTimeSecs]);
      provider.destroy();
    }
  }
}

interface Opened {
  readonly provider: JsonRpcProvider;
  readonly owner: NonceManager;
}
type AllOpened = Readonly<Record<keyof BridgeChains, Opened>>;

async function openAll({ folder, chains }: SettlingBridges): Promise<AllOpened> {
  const key = await folder.secrets.text("owner.key");
  const open = async ({ url, chainId }: Anvil): Promise<Opened> => {
    const options = { staticNetwork: true, cacheTimeout: -1, pollingInterval: 25 };
    const provider = new JsonRpcProvider(url, chainId, options);
    const wallet = new Wallet(key, provider);
    await giveCoins(provider, wallet.address, RICH);
    return { provider, owner: new NonceManager(wallet) };
  };
  return {
    home: await open(chains.home),
    other: await open(chains.other),
    exchange: await open(chains.exchange),
  };
}

async function deploy(
  { folder, usdc, altchain }: SettlingBridges,
  { home, other, exchange }: AllOpened,
): Promise<BridgesDeployment> {
  const chains = [
    { domain: DOMAINS.home, owner: home.owner, usdc },
    { domain: DOMAINS.other, owner: other.owner, usdc: (await deployTestUsdc(other.owner)).address },
    { domain: DOMAINS.exchange, owner: exchange.owner, usdc: (await deployTestUsdc(exchange.owner)).address },
  ];
  const attesters = await attesterAddresses(venueFolder(folder, "attester"));
  const [atHome, atOther, atExchange] = await deployCctp({ chains, attesters, foreign: [altchain] });
  if (atHome === undefined || atOther === undefined || atExchange === undefined)
    throw new Error("not every chain has its messenger");
  const forwarder = await deployExchangeForwarder({
    folder: venueFolder(folder, "exchange"),
    ...{ own: atExchange, ownChain: exchange.provider, ownOwner: exchange.owner },
  });
  let factory;
  for (const { owner } of [home, other, exchange]) factory = await deployForwarders(owner);
  if (factory === undefined) throw new Error("no chain");
  await fundSenders(folder, other, exchange);
  return { factory, ...withHome(atHome, atOther, atExchange), forwarder };
}

const withHome = (home: CctpContracts, other: CctpContracts, exchange: CctpContracts) => ({
  home,
  other,
  exchange,
});

/** Gas of what the service sends on the chains beside the pool's. */
async function fundSenders(folder: NetworkFolder, ...chains: readonly Opened[]): Promise<void> {
  const sender = new Wallet(await folder.secrets.text("bridge-sender.key"));
  for (const { provider } of chains) await giveCoins(provider, sender.address, RICH);
}
