// The stage of suite "bridges": the whole local service with the bridges' chains and venues, every party in a process of
// its own, and a counted door between the proxy and each chain. Beside it, when asked, a second proxy without bridges, so
// that what bridges ask of the pool's chain can be told from what the proxy asks there anyhow.

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonRpcProvider } from "ethers";
import type { BridgesEntry } from "../../../product/stack-file.ts";
import { chainAt } from "../../../stack/bridges/people.ts";
import type { StackOptions } from "../../../stack/local-stack.ts";
import { startService } from "../../../stack/service.ts";
import { onFreshService, type FreshService } from "../service.ts";
import { openDoor, type Door } from "./door.ts";
import { memorySettings } from "./memory.ts";

/** The two beside the pool's by their names in the stack's settings. */
export const CHAINS = ["home", "other", "exchange"] as const;
export type ChainName = (typeof CHAINS)[number];
export type PerChain<T> = Readonly<Record<ChainName, T>>;

export interface Stage extends FreshService {
  readonly folder: string;
  readonly bridges: BridgesEntry;
  readonly chains: PerChain<JsonRpcProvider>;
  /** Questions of the bridges to each chain while it makes so many blocks, a block. */
  callsPerBlock(blocks: number): Promise<PerChain<number>>;
}

const NO_LIMIT = "1000000";
const PLAIN_READY_MS = 5_000;

/** As the proxy's settings file has it, as far as it is changed. */
interface SettingsFile {
  chains: [{ rpcUrl: string }];
  perpvenue: { chain: { rpcUrl: string } };
  limits?: Readonly<Record<string, number>>;
}

export async function onStage<T>(mostOpen: number, measure: (stage: Stage) => Promise<T>): Promise<T> {
  const doors: Partial<Record<ChainName | "plain", Door>> = {};
  let folder = "";
  let plainSettings: Readonly<Record<string, string>> = {};

  async function prepare(made: string): Promise<Partial<StackOptions>> {
    folder = made;
    const proxySettings = {
      CLOISTER_LIMIT_KEY_PER_MINUTE: NO_LIMIT,
      CLOISTER_LIMIT_KEY_PER_DAY: "10000000",
      CLOISTER_LIMIT_SESSION_PER_MINUTE: NO_LIMIT,
      ...memorySettings(folder),
    };
    return { proxySettings, bridges: true, eachProxy: (_, settings) => throughDoors(settings) };
  }

  async function throughDoors(
    settings: Readonly<Record<string, string>>,
  ): Promise<Readonly<Record<string, string>>> {
    const { CLOISTER_BRIDGES: told = "", CLOISTER_RPC_URL: home = "", ...others } = settings;
    const bridges = JSON.parse(await readFile(told, "utf8")) as SettingsFile;
    const [other] = bridges.chains;
    const { chain: exchange } = bridges.perpvenue;
    doors.home = await openDoor(home);
    doors.plain = await openDoor(home);
    doors.other = await openDoor(other.rpcUrl);
    doors.exchange = await openDoor(exchange.rpcUrl);
    other.rpcUrl = doors.other.url;
    exchange.rpcUrl = doors.exchange.url;
    bridges.limits = { openPerUser: mostOpen, openPerInstance: mostOpen };
    const file = path.join(folder, "bridges.json");
    await writeFile(file, JSON.stringify(bridges));
    const plain = { CLOISTER_PORT: "0", CLOISTER_DATA_DIR: path.join(folder, "plain") };
    plainSettings = { ...others, ...plain, CLOISTER_RPC_URL: doors.plain.url };
    return { ...others, CLOISTER_BRIDGES: file, CLOISTER_RPC_URL: doors.home.url };
  }

  async function onService(service: FreshService): Promise<T> {
    const { entry } = service.network;
    const { bridges } = entry;
    const [other] = bridges?.chains ?? [];
    if (bridges === undefined || other === undefined) throw new Error("the stack has no bridges");
    const chains = { home: service.chain, other: chainAt(other), exchange: chainAt(bridges.perpvenue) };
    const callsPerBlock = (blocks: number): Promise<PerChain<number>> => countCalls(chains, blocks);
    try {
      return await measure({ ...service, folder, bridges, chains, callsPerBlock });
    } finally {
      chains.other.destroy();
      chains.exchange.destroy();
    }
  }

  async function countCalls(chains: PerChain<JsonRpcProvider>, blocks: number): Promise<PerChain<number>> {
    const plain = await startService({
      ...{ name: "plain-proxy", program: "proxy/api/main.ts", settings: plainSettings },
      logFile: path.join(folder, "plain.log"),
      isReady: (line) => line["msg"] === "listening",
    });
    try {
      await delay(PLAIN_READY_MS);
      const before = { ...asked(), plain: doors.plain?.asked() ?? 0 };
      const heights = await heightsOf(chains);
      await untilBlock(chains.home, heights.home + blocks);
      const after = { ...asked(), plain: doors.plain?.asked() ?? 0 };
      const made = await heightsOf(chains);
      const each = (name: ChainName): number =>
        (after[name] - before[name] - (name === "home" ? after.plain - before.plain : 0)) /
        (made[name] - heights[name]);
      return { home: each("home"), other: each("other"), exchange: each("exchange") };
    } finally {
      await plain.stop();
    }
  }

  const asked = (): PerChain<number> => ({
    home: doors.home?.asked() ?? 0,
    other: doors.other?.asked() ?? 0,
    exchange: doors.exchange?.asked() ?? 0,
  });

  try {
    return await onFreshService(prepare, onService);
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
