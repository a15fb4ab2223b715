// Suite "sequencer": payments through the whole local service, from the request to the block, with every party in a
// process of its own. Proofs are simulated under keys whose trapdoor is public (bench/trapdoor/), which only this
// bench's pool, enclave and proxy take, and a production proxy refuses: real ones would take hours. They are verified
// like real ones.

import path from "node:path";
import type { JsonRpcProvider } from "ethers";
import { randomField } from "../../../shared/notes/note.ts";
import { signalCount } from "../../../shared/protocol/statements.ts";
import { ROOMY_KEYS } from "../../stack/proxy-settings.ts";
import { onStage, type Stage, type StageOptions } from "../../stack/stage.ts";
import { pinsOf } from "../../stack/stack-wallet.ts";
import { startChild, type Child } from "./child.ts";
import { openDoor, type Door } from "./door.ts";
import {
  BLOCK_MS,
  cpuMs,
  figure,
  quantile,
  tell,
  type Figure,
  type Figures,
  type SuiteOptions,
} from "./figures.ts";
import type { LoadAnswer, LoadAsk } from "./sequencer/load.ts";
import { benchLongQueue } from "./sequencer/long-queue.ts";
import { QuickChain } from "./sequencer/quick-chain.ts";
import { usageOf, type Usage } from "./sequencer/processes.ts";
import { writeTrapdoorKeys } from "./trapdoor/keys.ts";
import { openSimulator } from "./trapdoor/simulator.ts";

const USERS = 40;
const WARM_UP = 96;
const BURST = 320;
/** Requests under way in a burst. */
const UNDER_WAY = 32;
const SIMULATED = 500;
const NO_LIMIT = "1000000";

type Parties = Readonly<Record<"proxy" | "enclave" | "chain" | "load", number>>;

export async function benchSequencer(options: SuiteOptions): Promise<Figures> {
  const simulating = await benchSimulator();
  const load = await startChild<LoadAsk, LoadAnswer>("sequencer/load.ts");
  const doors: Door[] = [];
  try {
    return await onStage(
      "bench",
      (folder) => prepare(folder, options, doors),
      async (service) => ({
        ...(await benchNetwork(service, load, options)),
        ...(options.queue === 0 ? {} : await benchLongQueue(service, options.queue)),
        ...simulating,
      }),
    );
  } finally {
    for (const door of doors) door.stop();
    await load.stop();
  }
}

async function prepare(
  folder: string,
  { blockMs, nodeMs }: SuiteOptions,
  doors: Door[],
): Promise<StageOptions> {
  const verificationKeys = path.join(folder, "keys");
  await writeTrapdoorKeys(verificationKeys);
  const proxySettings = {
    ...ROOMY_KEYS,
    CLOISTER_LIMIT_SESSION_PER_MINUTE: NO_LIMIT,
    CLOISTER_MAX_WAITING: NO_LIMIT,
    CLOISTER_OPERATIONS_PORT: "0",
    CLOISTER_BLOCK_POLL_MS: String(Math.floor(blockMs / 4)),
  };
  if (nodeMs === 0) return { verificationKeys, proxySettings };
  const eachProxy: StageOptions["eachProxy"] = async (_, settings) => {
    const door = await openDoor(settings["CLOISTER_RPC_URL"]!, nodeMs);
    doors.push(door);
    return { ...settings, CLOISTER_RPC_URL: door.url };
  };
  return { verificationKeys, proxySettings, eachProxy };
}

async function benchNetwork(
  { network, apiKey, chain: provider, client }: Stage,
  load: Child<LoadAsk, LoadAnswer>,
  { runs, perSecond, seconds, blockMs, nodeMs }: SuiteOptions,
): Promise<Figures> {
  const { entry, chain } = network;
  await load.ask({ type: "open", baseUrl: entry.base_url, apiKey, users: USERS, pins: pinsOf(entry) });
  const perRound = perSecond * seconds;
  await load.ask({ type: "prepare", count: WARM_UP + runs * (perRound + BURST) });
  await load.ask({ type: "send", count: WARM_UP, pace: { underWay: UNDER_WAY } });

  const parties = {
    proxy: network.proxy().pid,
    enclave: network.enclave().pid,
    chain: chain.pid,
    load: load.pid,
  };
  // Each look is a question more: figures of the usual setting are taken without.
  const isUsual = blockMs === BLOCK_MS && nodeMs === 0;
  const quick = isUsual ? undefined : await QuickChain.start(provider, client, blockMs);
  const before = usagesOf(parties);
  const startedAt = performance.now();
  const steady: LoadAnswer[] = [];
  const memory: number[] = [];
  for (let round = 0; round < runs; round++) {
    steady.push(await load.ask({ type: "send", count: perRound, pace: { perSecond } }));
    memory.push(usageOf(parties.proxy)?.anonymousMb ?? NaN);
  }
  const between = usagesOf(parties);
  const steadySecs = (performance.now() - startedAt) / 1000;

  const bursts: LoadAnswer[] = [];
  for (let round = 0; round < runs; round++)
    bursts.push(await load.ask({ type: "send", count: BURST, pace: { underWay: UNDER_WAY } }));
  const after = usagesOf(parties);
  const behind = await quick?.stop();

  const pace = `${String(perSecond)} private transfers a second for ${String(seconds)} s`;
  return {
    ...tell(`${String(USERS)} users, ${pace}, blocks every ${String(blockMs)} ms`, {
      tickets_per_second: figure(ratesOf(steady), "1/s"),
      ...steadyFigures(steady),
      ...(behind && {
        index_behind_p50_blocks: figure(quantile(behind, 0.5), "blocks"),
        index_behind_p99_blocks: figure(quantile(behind, 0.99), "blocks"),
      }),
    }),
    ...tell(`${String(BURST)} as fast as they are taken, ${String(UNDER_WAY)} requests under way`, {
      burst_per_second: figure(ratesOf(bursts), "1/s"),
      burst_accept_p99_ms: figure(quantiles(bursts, "accepted", 0.99), "ms"),
    }),
    ...tell("processors at the steady rate, memory at the start and at the end", {
      ...usageFigures(before, between, after, { steadySecs, payments: runs * perRound }),
      ...growthFigures(memory),
    }),
    ...tell(
      "what the gas wallet paid for, root updates included",
      await gasFigures(provider, [...steady, ...bursts]),
    ),
  };
}

function steadyFigures(rounds: readonly LoadAnswer[]): Figures {
  return {
    accept_p50_ms: figure(quantiles(rounds, "accepted", 0.5), "ms"),
    accept_p99_ms: figure(quantiles(rounds, "accepted", 0.99), "ms"),
    confirm_p50_ms: figure(quantiles(rounds, "confirmed", 0.5), "ms"),
    confirm_p99_ms: figure(quantiles(rounds, "confirmed", 0.99), "ms"),
  };
}

/** From the first request to the last confirmation, of each round: what stays behind makes it less than what was sent. */
function ratesOf(rounds: readonly LoadAnswer[]): number[] {
  return rounds.map(({ confirmed, seconds }) => confirmed.length / seconds);
}

/** Of each round. */
function quantiles(rounds: readonly LoadAnswer[], what: "accepted" | "confirmed", part: number): number[] {
  return rounds.map((round) => quantile(round[what], part));
}

/** Nothing where the platform does not tell. */
function usageFigures(
  before: ReadonlyMap<string, Usage>,
  between: ReadonlyMap<string, Usage>,
  after: ReadonlyMap<string, Usage>,
  { steadySecs, payments }: { readonly steadySecs: number; readonly payments: number },
): Figures {
  const figures: Record<string, Figure> = {};
  for (const [name, start] of before) {
    const [middle, end] = [between.get(name), after.get(name)];
    if (middle === undefined || end === undefined) continue;
    const used = middle.cpuSeconds - start.cpuSeconds;
    figures[`${name}_cores`] = figure(used / steadySecs, "cores");
    figures[`${name}_cpu_ms_per_payment`] = figure((1000 * used) / payments, "ms");
    figures[`${name}_start_mb`] = figure(start.anonymousMb, "MB");
    figures[`${name}_end_mb`] = figure(end.anonymousMb, "MB");
  }
  return figures;
}

/** Of the proxy, from the end of the first round to the end of the last; nothing where there is one round only. */
function growthFigures(memory: readonly number[]): Figures {
  const [first, last] = [memory[0], memory.at(-1)];
  if (memory.length < 2 || first === undefined || last === undefined) return {};
  return { rss_growth_mb: figure(last - first, "MB") };
}

async function gasFigures(provider: JsonRpcProvider, rounds: readonly LoadAnswer[]): Promise<Figures> {
  const transactions = new Set(rounds.flatMap((round) => round.transactions));
  const tickets = rounds.reduce((sum, { confirmed }) => sum + confirmed.length, 0);
  let gas = 0n;
  for (const transaction of transactions) {
    const receipt = await provider.getTransactionReceipt(transaction);
    if (receipt === null) throw new Error("a transaction without a receipt");
    gas += receipt.gasUsed;
  }
  return {
    gas_per_transfer: figure(Number(gas) / tickets, "gas"),
    tickets_per_transaction: figure(tickets / transactions.size, "tickets"),
  };
}

/** What making proofs costs, to tell it from what is measured. */
async function benchSimulator(): Promise<Figures> {
  const simulator = await openSimulator();
  const signals = Array.from({ length: signalCount("spend") }, randomField);
  simulator.prove("spend", signals);
  const ms = await cpuMs(SIMULATED, () => simulator.prove("spend", signals));
  return tell("simulating proofs under benchmark keys, which production refuses, processor time", {
    simulated_proofs_per_s: figure(1000 / ms, "1/s"),
  });
}

function usagesOf(parties: Parties): Map<string, Usage> {
  const found = new Map<string, Usage>();
  for (const [name, pid] of Object.entries(parties)) {
    const usage = usageOf(pid);
    if (usage !== undefined) found.set(name, usage);
  }
  return found;
}
