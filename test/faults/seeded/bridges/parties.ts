/** The parties beside a proxy that a scenario begins anew: the chains, the attester as a process that has only its keys, the other blockchain and the exchange. */
import { cp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { JsonRpcProvider } from "ethers";
import { startAnvil, type Anvil } from "../../../../scripts/stand-ins/anvil.ts";
import type { Child } from "../../../../scripts/base/child.ts";
import { choosePorts, freePort } from "../../../../scripts/stack/ports.ts";
import type { AttesterSettingsFile } from "../../../../scripts/stand-ins/venues/attester/settings.ts";
import { stateFileOf } from "../lane-process.ts";
import type { Program } from "../program.ts";
import { calmFees } from "../world.ts";
import { Alt } from "./alt.ts";
import { Exchange } from "./exchange.ts";
import type { LaneChain } from "./lane-chain.ts";
import { startProgram } from "./party-program.ts";
import { CHAINS, chainsOf, type BridgeFacts, type ChainName, type Extras } from "./world.ts";

/** Of a fast message, in blocks of where it goes: soon enough that one expires in a scenario. */
export const EXPIRES_AFTER_BLOCKS = 60;
/** Until the attester calls a block final, and the exchange; deeper than a scenario takes blocks back. */
const FINAL_BLOCKS = 6;

export interface Parties {
  readonly chains: Readonly<Record<ChainName, LaneChain>>;
  readonly attesterUrl: string;
  readonly alt: Alt;
  readonly exchange: Exchange;
  /** Everything as it is at the snapshot; the other blockchain empty, and it and the exchange only where they are needed. */
  renew(extras: Extras): Promise<void>;
  stop(): Promise<void>;
}

export async function openParties(
  facts: BridgeFacts,
  {
    worldFolder,
    folder,
    program,
  }: { readonly worldFolder: string; readonly folder: string; readonly program: Program },
): Promise<Parties> {
  // One that the system gives to no connection, since the chain is started again on it.
  const start = async (name: ChainName, port?: number): Promise<Anvil> =>
    startAnvil({
      port: port ?? (await freePort()),
      chainId: facts.chains[name].chainId,
      args: ["--no-mining", "--load-state", path.join(worldFolder, stateFileOf(name))],
    });
  const anvils: Record<ChainName, Anvil> = {
    home: await start("home"),
    other: await start("other"),
    exchange: await start("exchange"),
  };
  const [port, altPort, exchangePort] = (await choosePorts([
    { wanted: 0, usual: 0, option: "the attester" },
    { wanted: 0, usual: 0, option: "the other blockchain" },
    { wanted: 0, usual: 0, option: "the exchange" },
  ])) as [number, number, number];
  const alt = new Alt(`http://127.0.0.1:${String(altPort)}`);
  const providers = Object.fromEntries(
    CHAINS.map((name) => [
      name,
      new JsonRpcProvider(anvils[name].url, facts.chains[name].chainId, {
        staticNetwork: true,
        cacheTimeout: -1,
      }),
    ]),
  ) as Record<ChainName, JsonRpcProvider>;
  const chainOf = (name: ChainName): LaneChain => ({
    url: anvils[name].url,
    rpc: (method, params = []) => providers[name].send(method, [...params]) as Promise<unknown>,
  });
  const chains = { home: chainOf("home"), other: chainOf("other"), exchange: chainOf("exchange") };
  const exchange = new Exchange({
    ...{ facts, chains, port: exchangePort, program: program.exchange },
    ...{ folder: path.join(folder, "exchange"), finalBlocks: FINAL_BLOCKS },
  });
  let running: Child | undefined;
  let foreign: Child | undefined;

  /** From nothing, in about a second: what it keeps is a journal that is played again, with nothing to be put back. */
  async function renewAlt(isThere: boolean): Promise<void> {
    await foreign?.kill();
    foreign = undefined;
    if (!isThere) return;
    const own = path.join(folder, "altchain");
    await rm(own, { recursive: true, force: true });
    foreign = await startProgram(program.altchain, [
      ...["--folder", own, "--slot-ms", "0", "--port", String(altPort)],
    ]);
    await alt.begin(facts.alt);
  }

  return {
    ...{ chains, alt, exchange },
    attesterUrl: `http://127.0.0.1:${String(port)}`,
    async renew(extras) {
      await running?.kill();
      await exchange.end();
      if (!extras.exchange) await anvils.exchange.kill();
      await Promise.all([
        renewAlt(extras.alt),
        ...chainsOf(extras).map(async (name) => {
          await anvils[name].kill();
          anvils[name] = await start(name, anvils[name].port);
          await calmFees(chains[name].rpc);
        }),
      ]);
      if (extras.exchange) await exchange.begin();
      const settings = settingsOf(facts, chains, extras.alt ? alt : undefined, chainsOf(extras));
      const own = await freshFolder(facts, path.join(folder, "attester"), settings);
      running = await startProgram(program.attester, [
        "--folder",
        own,
        "--settings",
        path.join(own, "settings.json"),
        "--port",
        String(port),
      ]);
    },
    async stop() {
      await running?.kill();
      await foreign?.kill();
      await exchange.end();
      for (const name of CHAINS) {
        providers[name].destroy();
        await anvils[name].stop();
      }
    },
  };
}

function settingsOf(
  facts: BridgeFacts,
  chains: Parties["chains"],
  alt: Alt | undefined,
  followed: readonly ChainName[],
): AttesterSettingsFile {
  const { mint, domain: altDomain, messenger: altMessenger } = facts.alt;
  return {
    ...(alt === undefined
      ? {}
      : { altchain: { domain: altDomain, rpc: alt.url, mint, messenger: altMessenger } }),
    chains: followed.map((name) => {
      const { domain, transmitter, messenger, height } = facts.chains[name];
      return {
        ...{ domain, transmitter, messenger, rpc: chains[name].url, from_block: height + 1 },
        ...{ fast_blocks: 1, final_blocks: FINAL_BLOCKS },
      };
    }),
    expires_after_blocks: EXPIRES_AFTER_BLOCKS,
    poll_ms: 120,
  };
}

/** With the keys that the contracts know and an empty book. */
async function freshFolder(
  { attesterFolder }: BridgeFacts,
  folder: string,
  settings: AttesterSettingsFile,
): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(attesterFolder))
    if (name.endsWith(".key")) await cp(path.join(attesterFolder, name), path.join(folder, name));
  await writeFile(path.join(folder, "settings.json"), JSON.stringify(settings));
  return folder;
}
