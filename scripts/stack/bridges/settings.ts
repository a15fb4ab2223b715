// What the proxy is told of the local bridges (CLOISTER_BRIDGES), and what stack.json tells everybody else. Both come from
// one place, so that a client pins what the service really uses. DEVELOPMENT ONLY.
import { getAddress, Wallet } from "ethers";
import type { BridgesEntry } from "../../base/stack-file.ts";
import { writeJson, type NetworkFolder } from "../stack-folder.ts";
import type { BridgeChains, BridgesDeployment } from "./settle.ts";
import { ALTCHAIN_DECIMALS, BOUNDS, CHAINS, CONFIRMATIONS, DOMAINS } from "./terms.ts";

export interface BridgeParties {
  readonly folder: NetworkFolder;
  readonly deployment: BridgesDeployment;
  readonly chains: BridgeChains;
  readonly blockTimeSecs: number;
  readonly attesterUrl: string;
  readonly exchangeUrl: string;
  readonly altchain: { readonly url: string; readonly mint: string; readonly feePayerKeyFile: string };
}

const text = ({ minimum, feeCeiling }: { readonly minimum: bigint; readonly feeCeiling: bigint }) => ({
  minimum: String(minimum),
  feeCeiling: String(feeCeiling),
});

/** Returns the file's path. */
export async function writeBridgeSettings(parties: BridgeParties): Promise<string> {
  const { folder, deployment, chains, blockTimeSecs, attesterUrl, exchangeUrl, altchain } = parties;
  const { factory, home, other, exchange, forwarder } = deployment;
  const senderKeyFile = await folder.secrets.file("bridge-sender.key");
  const chainOf = (name: "other" | "exchange") => ({
    chainId: CHAINS[name].chainId,
    rpcUrl: chains[name].url,
    confirmations: CONFIRMATIONS,
    blockSecs: blockTimeSecs,
    transmitter: deployment[name].transmitter,
    token: deployment[name].usdc,
    senderKeyFile,
  });
  const settings = {
    factory: factory.address,
    vaultCodeHash: factory.vaultCodeHash,
    collector: await collectorOf(folder),
    home: {
      ...{ domain: DOMAINS.home, messenger: home.messenger, transmitter: home.transmitter },
      blockSecs: blockTimeSecs,
    },
    assets: [{ asset: home.usdc, ...text(BOUNDS.arrival) }],
    chains: [
      {
        name: "other",
        ...chainOf("other"),
        ...{ messenger: other.messenger, domain: DOMAINS.other },
        ...text(BOUNDS.burn),
        exit: text(BOUNDS.exit),
        estimatedSecs: 30,
      },
    ],
    perpvenue: {
      apiUrl: exchangeUrl,
      chain: { ...chainOf("exchange"), messenger: exchange.messenger },
      exit: { domain: exchange.domain, forwarder },
      ...text(BOUNDS.exchange),
      estimatedSecs: 30,
    },
    altchain: {
      rpcUrl: altchain.url,
      mint: altchain.mint,
      decimals: ALTCHAIN_DECIMALS,
      domain: DOMAINS.altchain,
      ...text(BOUNDS.burn),
      feePayerKeyFile: altchain.feePayerKeyFile,
      estimatedSecs: 30,
    },
    attesterUrl,
  };
  const file = folder.inside("bridge-settings.json");
  await writeJson(file, settings);
  return file;
}

/** Fees of an arrival are paid to the service by whoever sweeps it: the gas wallet. */
async function collectorOf(folder: NetworkFolder): Promise<string> {
  return new Wallet(await folder.secrets.text("sender.key")).address;
}

export async function bridgesEntry(parties: BridgeParties): Promise<BridgesEntry> {
  const { folder, deployment, chains, attesterUrl, exchangeUrl, altchain } = parties;
  const { factory, home, other, exchange, forwarder } = deployment;
  return {
    factory: getAddress(factory.address),
    vault_code_hash: factory.vaultCodeHash,
    collector: await collectorOf(folder),
    ...{ arrival: text(BOUNDS.arrival), attester_url: attesterUrl },
    home: {
      domain: DOMAINS.home,
      messenger: getAddress(home.messenger),
      transmitter: getAddress(home.transmitter),
    },
    chains: [
      {
        ...{ name: "other", chain_id: CHAINS.other.chainId, rpc: chains.other.url, domain: DOMAINS.other },
        usdc: getAddress(other.usdc),
        messenger: getAddress(other.messenger),
        transmitter: getAddress(other.transmitter),
        lane: text(BOUNDS.burn),
        exit: text(BOUNDS.exit),
      },
    ],
    perpvenue: {
      api_url: exchangeUrl,
      ...{ chain_id: CHAINS.exchange.chainId, rpc: chains.exchange.url, domain: DOMAINS.exchange },
      usdc: getAddress(exchange.usdc),
      transmitter: getAddress(exchange.transmitter),
      forwarder: getAddress(forwarder),
      exit: text(BOUNDS.exchange),
    },
    altchain: {
      rpc: altchain.url,
      mint: altchain.mint,
      decimals: ALTCHAIN_DECIMALS,
      domain: DOMAINS.altchain,
      ...text(BOUNDS.burn),
    },
  };
}
