// The stage of suite "bridges": the whole local service with the bridges' chains and venues, every party in a process of
// its own, and a counted door between the relay and each chain.
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonRpcProvider } from "ethers";
import type { BridgesEntry } from "../../../base/stack-file.ts";
import { chainAt } from "../../../stack/bridges/people.ts";
import { onStage as onAnyStage, type Stage as AnyStage, type StageOptions } from "../../../stack/stage.ts";
import { openDoor, type Door } from "../door.ts";
import { memorySettings } from "./memory.ts";

/** The two beside the pool's by their names in the stack's settings. */
export const CHAINS = ["home", "other", "exchange"] as const;
export type ChainName = (typeof CHAINS)[number];
export type PerChain<T> = Readonly<Record<ChainName, T>>;

export interface Stage {
  readonly on: AnyStage;
  readonly bridges: BridgesEntry;
  readonly chains: PerChain<JsonRpcProvider>;
  /** Questions of the bridges to each chain while it makes so many blocks, a block. */
  callsPerBlock(blocks: number): Promise<PerChain<number>>;
}

const NO_LIMIT = "1000000";

/** As the proxy's settings file has it, as far as it is changed. */
interface SettingsFile {
  chains: [{ rpcUrl: string }];
  perpvenue: { chain: { rpcUrl: string } };
  limits?: Readonly<Record<string, number>>;
}

export async function onStage<T>(mostOpen: number, measure: (stage: Stage) => Promise<T>): Promise<T> {
  const doors: Partial<Record<ChainName, Door>> = {};
  let folder = "";

  async function prepare(made: string): Promise<StageOptions> {
    folder = made;
    const proxySettings = {
      CLOISTER_LIMIT_KEY_PER_MINUTE: NO_LIMIT,
      CLOISTER_LIMIT_KEY_PER_DAY: "10000000",
      CLOISTER_LIMIT_SESSION_PER_MINUTE: NO_LIMIT,
    };
    const eachProxy: StageOptions["eachProxy"] = async (_, settings) => ({
      ...settings,
      CLOISTER_BRIDGES: await changed(settings["CLOISTER_BRIDGES"] ?? "", "of-proxies.json", () => undefined),
    });
    return { proxySettings, bridges: true, eachProxy, relaySettings: throughDoors };
  }

  /** The file of the bridges, with room for all that are to be open. */
  async function changed(told: string, name: string, change: (file: SettingsFile) => void): Promise<string> {
    const bridges = JSON.parse(await readFile(told, "utf8")) as SettingsFile;
    bridges.limits = { openPerUser: mostOpen, openPerDeveloper: mostOpen, openPerInstance: mostOpen };
    change(bridges);
    const file = path.join(folder, name);
    await writeFile(file, JSON.stringify(bridges));
    return file;
  }

  async function throughDoors(
    settings: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, string>>> {
    const { CLOISTER_BRIDGES: told = "", CLOISTER_RPC_URL: home = "", ...others } = settings;
    const bridges = JSON.parse(await readFile(told, "utf8")) as SettingsFile;
    const opened = {
      home: await openDoor(home),
      other: await openDoor(bridges.chains[0].rpcUrl),
      exchange: await openDoor(bridges.perpvenue.chain.rpcUrl),
    };
    Object.assign(doors, opened);
    const file = await changed(told, "of-relay.json", ({ chains: [other], perpvenue: { chain } }) => {
      other.rpcUrl = opened.other.url;
      chain.rpcUrl = opened.exchange.url;
    });
    const own = { CLOISTER_BRIDGES: file, CLOISTER_RPC_URL: opened.home.url };
    return { ...others, ...own, ...memorySettings(folder) };
  }

  async function onService(on: AnyStage): Promise<T> {
    const { bridges } = on.entry;
    const [other] = bridges?.chains ?? [];
    if (bridges === undefined || other === undefined) throw new Error("the stack has no bridges");
    const chains = { home: on.chain, other: chainAt(other), exchange: chainAt(bridges.perpvenue) };
    const callsPerBlock = (blocks: number): Promise<PerChain<number>> => countCalls(chains, blocks);
    try {
      return await measure({ on, bridges, chains, callsPerBlock });
    } finally {
      chains.other.destroy();
      chains.exchange.destroy();
    }
  }

  async function countCalls(chains: PerChain<JsonRpcProvider>, blocks: number): Promise<PerChain<number>> {
    const [before, heights] = [asked(), await heightsOf(chains)];
    await untilBlock(chains.home, heights.home + blocks);
    const [after, made] = [asked(), await heightsOf(chains)];
    const each = (name: ChainName): number => (after[name] - before[name]) / (made[name] - heights[name]);
    return { home: each("home"), other: each("other"), exchange: each("exchange") };
  }

  const asked = (): PerChain<number> => ({
    home: doors.home?.asked() ?? 0,
    other: doors.other?.asked() ?? 0,
    exchange: doors.exchange?.asked() ?? 0,
  });

  try {
    return await onAnyStage("bench", prepare, onService);
  } finally {
    for (const door of Object.values(doors)) door.stop();
  }
}

async function heightsOf({ home, other, exchange }: PerChain<JsonRpcProvider>): Promise<PerChain<number>> {
  return {
    home: await home.getBlockNumber(),
    other: await other.getBlockNumber(),
    exchange: await exchange.getBlockNumber(),
  };
}

async function untilBlock(chain: JsonRpcProvider, number: number): Promise<void> {
  while ((await chain.getBlockNumber()) < number) await delay(20);
}
