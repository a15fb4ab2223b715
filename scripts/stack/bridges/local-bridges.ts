// The bridges of a local network, each party in a process of its own: two EVM chains beside the pool's, the attester, the
// exchange, and the other blockchain. What they are made of lies in the network's folder, so that a second start resumes
// it. DEVELOPMENT ONLY.
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import type { BridgesEntry } from "../../base/stack-file.ts";
import { startAnvil, type Anvil } from "../../stand-ins/anvil.ts";
import { Parties } from "../../base/parties.ts";
import { choosePorts } from "../ports.ts";
import type { Service } from "../../base/service.ts";
import type { Liar } from "../liar.ts";
import type { NetworkFolder } from "../stack-folder.ts";
import { startAttester } from "../../stand-ins/venues/attester/start.ts";
import { startExchange } from "../../stand-ins/venues/exchange/start.ts";
import { startLocalAltchain } from "./altchain.ts";
import { bridgesEntry, writeBridgeSettings, type BridgeParties } from "./settings.ts";
import { readBridges, settleBridges, venueFolder, type BridgesDeployment } from "./settle.ts";
import { BRIDGE_CHAINS, CHAINS, DOMAINS, FINAL_BLOCKS, type BridgeChainName } from "./terms.ts";

export interface LocalBridgesOptions {
  readonly folder: NetworkFolder;
  /** The pool's chain. */
  readonly home: Anvil;
  readonly usdc: Address;
  readonly blockTimeSecs: number;
  /** Stands before every party. */
  readonly liar?: Liar | undefined;
  readonly say: (text: string) => void;
}

export interface LocalBridges {
  /** What the proxy is told by CLOISTER_BRIDGES. */
  readonly settingsFile: string;
  /** What stack.json says of them. */
  readonly entry: BridgesEntry;
  readonly chains: Readonly<Record<BridgeChainName, Anvil>>;
  /** Those of other people: each may be stopped and started again. */
  readonly venues: Readonly<Record<"attester" | "exchange" | "altchain", Service>>;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;
  stop(): Promise<void>;
}

export function startLocalBridges(options: LocalBridgesOptions): Promise<LocalBridges> {
  return Parties.start((parties) => startAll(options, parties));
}

async function startAll(options: LocalBridgesOptions, parties: Parties): Promise<LocalBridges> {
  const { folder, home, usdc, blockTimeSecs, liar, say } = options;
  const isNew = (await readBridges(folder)) === undefined;
  const beside = await startChains(options, isNew, parties);
  const chains = { home, ...beside };
  const altchain = parties.add(await startLocalAltchain(folder));
  const deployment = await settleBridges({
    ...{ folder, chains, usdc, blockTimeSecs },
    altchain: { domain: DOMAINS.altchain, messenger: altchain.messenger, token: altchain.token },
  });
  const attester = parties.add(await startAttesterFor(folder, chains, deployment, altchain));
  const exchange = parties.add(await startExchangeFor(folder, chains, deployment));
  const venues = { attester, exchange, altchain };
  for (const [name, { ended }] of Object.entries(venues))
    parties.watch(ended, (how) => `the ${name} ended (${how}); see ${folder.log(name)}`);
  const told = {
    ...{ folder, deployment, chains, blockTimeSecs },
    ...{ attesterUrl: attester.url, exchangeUrl: exchange.url },
    altchain: { url: altchain.url, mint: altchain.mint, feePayerKeyFile: altchain.feePayerKeyFile },
  };
  for (const name of BRIDGE_CHAINS)
    say(`${name.padEnd(8)} ${chains[name].url} (chain id ${String(chains[name].chainId)})`);
  say(`venues   exchange ${exchange.url}, other blockchain ${altchain.url}, attester ${attester.url}`);
  return {
    ...{ settingsFile: await writeBridgeSettings(await behind(liar, told)), entry: await bridgesEntry(told) },
    ...{ chains: beside, venues, failed: parties.failed },
    stop: () => parties.stop(),
  };
}

/** What the services are told of the same parties. */
async function behind(liar: Liar | undefined, told: BridgeParties): Promise<BridgeParties> {
  if (liar === undefined) return told;
  const { chains, altchain, attesterUrl, exchangeUrl } = told;
  const [other, exchange] = [await liar.node(chains.other.url), await liar.node(chains.exchange.url)];
  return {
    ...told,
    chains: {
      ...chains,
      other: { ...chains.other, url: other },
      exchange: { ...chains.exchange, url: exchange },
    },
    altchain: { ...altchain, url: await liar.node(altchain.url) },
    ...{ attesterUrl: await liar.attester(attesterUrl), exchangeUrl: await liar.exchange(exchangeUrl) },
  };
}

async function startChains(
  { folder, blockTimeSecs }: LocalBridgesOptions,
  isNew: boolean,
  parties: Parties,
): Promise<Record<BridgeChainName, Anvil>> {
  const ports = await choosePorts(
    BRIDGE_CHAINS.map((name) => ({ wanted: undefined, usual: CHAINS[name].usualPort, option: "" })),
  );
  const start = async (name: BridgeChainName): Promise<Anvil> => {
    const anvil = parties.add(
      await startAnvil({
        port: ports[BRIDGE_CHAINS.indexOf(name)] ?? 0,
        chainId: CHAINS[name].chainId,
        stateFile: folder.inside(`${name}-state.json`),
        // A new chain makes its blocks at once until everything is deployed.
        ...(isNew ? {} : { blockTimeSecs }),
        args: ["--state-interval", "15"],
      }),
    );
    parties.watch(anvil.ended, () => `the chain "${name}" ended`);
    return anvil;
  };
  return { other: await start("other"), exchange: await start("exchange") };
}

type Chains = Parameters<typeof settleBridges>[0]["chains"];

function startAttesterFor(
  folder: NetworkFolder,
  chains: Chains,
  deployment: BridgesDeployment,
  altchain: { readonly url: string; readonly mint: string; readonly messenger: Bytes32 },
) {
  const follow = (name: keyof Chains) => ({
    ...{ domain: deployment[name].domain, rpc: chains[name].url, from_block: deployment[name].block },
    ...{ transmitter: deployment[name].transmitter, messenger: deployment[name].messenger },
    ...{ fast_blocks: 1, final_blocks: FINAL_BLOCKS },
  });
  return startAttester({
    folder: venueFolder(folder, "attester"),
    settings: {
      chains: [follow("home"), follow("other"), follow("exchange")],
      altchain: {
        ...{ domain: DOMAINS.altchain, rpc: altchain.url },
        ...{ mint: altchain.mint, messenger: altchain.messenger },
      },
    },
    logFile: folder.log("attester"),
  });
}

function startExchangeFor(folder: NetworkFolder, chains: Chains, { exchange, forwarder }: BridgesDeployment) {
  return startExchange({
    folder: venueFolder(folder, "exchange"),
    settings: {
      own: {
        ...{ rpc: chains.exchange.url, chain_id: CHAINS.exchange.chainId, usdc: exchange.usdc },
        ...{ domain: exchange.domain, messenger: exchange.messenger, forwarder },
        from_block: exchange.block,
      },
    },
    logFile: folder.log("exchange"),
  });
}
