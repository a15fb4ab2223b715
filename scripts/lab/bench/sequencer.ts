// Suite "sequencer": payments through the whole local service, from the request to the block, with every party in a
// process of its own. Proofs are simulated under keys whose trapdoor is public (bench/trapdoor/), which only this
// bench's pool, enclave and proxy take, and a production proxy refuses: real ones would take hours. They are verified
// like real ones.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { JsonRpcProvider } from "ethers";
import { randomField } from "../../../shared/notes/note.ts";
import { signalCount } from "../../../shared/protocol/statements.ts";
import type { LocalNetwork } from "../../stack/local-network.ts";
import { startStack } from "../../stack/local-stack.ts";
import { ROOMY_KEYS } from "../../stack/proxy-settings.ts";
import { pinsOf } from "../../stack/stack-wallet.ts";
import { figure, quantile, spreadOf, type Figure, type Figures, type SuiteOptions } from "./figures.ts";
import { startChild } from "./http/child.ts";
import type { LoadAnswer, LoadAsk } from "./sequencer/load.ts";
import { benchLongQueue } from "./sequencer/long-queue.ts";
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

type Load = ReturnType<typeof startChild<LoadAsk, LoadAnswer>>;
type Parties = Readonly<Record<"proxy" | "enclave" | "chain" | "load", number>>;

export async function benchSequencer(options: SuiteOptions): Promise<Figures> {
  const simulating = await benchSimulator();
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-bench-"));
  const load = startChild<LoadAsk, LoadAnswer>("../sequencer/load.ts");
  try {
    console.log("starting the service …");
    const verificationKeys = path.join(folder, "keys");
    await writeTrapdoorKeys(verificationKeys);
    const stack = await startStack({
      folder: path.join(folder, "stack"),
      networks: ["first"],
      ports: { first: { proxy: 0, chain: 0 } },
      verificationKeys,
      proxySettings: {
        ...ROOMY_KEYS,
        CLOISTER_LIMIT_SESSION_PER_MINUTE: NO_LIMIT,
        CLOISTER_MAX_WAITING: NO_LIMIT,
        CLOISTER_OPERATIONS_PORT: "0",
      },
    });
    try {
      const network = stack.network("first");
      const key = stack.file.api_key;
      const carried = await benchNetwork(network, key, load, options);
      const waiting = options.queue === 0 ? {} : await benchLongQueue(network, key, options.queue);
      return { ...carried, ...waiting, ...simulating };
    } finally {
      await stack.stop();
    }
  } finally {
    await load.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function benchNetwork(
  network: LocalNetwork,
  apiKey: string,
  load: Load,
  { runs, perSecond, seconds }: SuiteOptions,
): Promise<Figures> {
  const { entry, enclave, chain } = network;
  const provider = new JsonRpcProvider(entry.chain_rpc, entry.chain_id, {
    staticNetwork: true,
    cacheTimeout: -1,
  });
  try {
    await load.ask({ type: "open", baseUrl: entry.base_url, apiKey, users: USERS, pins: pinsOf(entry) });
    const perRound = perSecond * seconds;
    await load.ask({ type: "prepare", count: WARM_UP + runs * (perRound + BURST) });
    await load.ask({ type: "send", count: WARM_UP, pace: { underWay: UNDER_WAY } });

    const parties = { proxy: network.proxy().pid, enclave: enclave.pid, chain: chain.pid, load: load.pid };
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

    console.log(
      `${String(USERS)} users, ${String(perSecond)} private transfers a second for ${String(seconds)} s, blocks every second`,
    );
    return {
      ...tellSteady(steady),
      ...tellBursts(bursts),
      ...tellUsage(before, between, after, steadySecs),
      ...tellGrowth(memory),
      ...(await gasPerTicket(provider, [...steady, ...bursts])),
    };
  } finally {
    provider.destroy();
  }
}

function tellSteady(rounds: readonly LoadAnswer[]): Figures {
  const figures: Record<string, Figure> = {};
  for (const [name, what] of [
    ["accept", "accepted"],
    ["confirm", "confirmed"],
  ] as const) {
    const p50 = spreadOf(rounds.map((round) => quantile(round[what], 0.5)));
    const p99 = spreadOf(rounds.map((round) => quantile(round[what], 0.99)));
    console.log(
      `  ${what.padEnd(10)} half within ${p50.median.toFixed(0)} ms (${p50.least.toFixed(0)} to ${p50.most.toFixed(0)}), ` +
        `99 % within ${p99.median.toFixed(0)} ms (${p99.least.toFixed(0)} to ${p99.most.toFixed(0)})`,
    );
    figures[`${name}_p50_ms`] = figure(p50.median, "ms");
    figures[`${name}_p99_ms`] = figure(p99.median, "ms");
  }
  return figures;
}

function tellBursts(rounds: readonly LoadAnswer[]): Figures {
  const rate = spreadOf(rounds.map(({ confirmed, seconds }) => confirmed.length / seconds));
  const p99 = spreadOf(rounds.map(({ accepted }) => quantile(accepted, 0.99)));
  console.log(
    `${String(BURST)} as fast as they are taken, ${String(UNDER_WAY)} requests under way\n` +
      `  ${rate.median.toFixed(1)} tickets a second confirmed (${rate.least.toFixed(1)} to ${rate.most.toFixed(1)}), ` +
      `99 % accepted within ${p99.median.toFixed(0)} ms`,
  );
  return {
    tickets_per_second: figure(rate.median, "1/s"),
    burst_accept_p99_ms: figure(p99.median, "ms"),
  };
}

/** Nothing where the platform does not tell. */
function tellUsage(
  before: ReadonlyMap<string, Usage>,
  between: ReadonlyMap<string, Usage>,
  after: ReadonlyMap<string, Usage>,
  steadySecs: number,
): Figures {
  const figures: Record<string, Figure> = {};
  for (const [name, start] of before) {
    const [middle, end] = [between.get(name), after.get(name)];
    if (middle === undefined || end === undefined) continue;
    const cores = (middle.cpuSeconds - start.cpuSeconds) / steadySecs;
    console.log(
      `  ${name.padEnd(10)} ${cores.toFixed(2)} cores at the steady rate, ` +
        `${start.anonymousMb.toFixed(0)} MB at the start, ${end.anonymousMb.toFixed(0)} MB at the end`,
    );
    figures[`${name}_cores`] = figure(cores, "cores");
    figures[`${name}_start_mb`] = figure(start.anonymousMb, "MB");
    figures[`${name}_end_mb`] = figure(end.anonymousMb, "MB");
  }
  return figures;
}

/** Of the proxy, from the end of the first round to the end of the last; nothing where there is one round only. */
function tellGrowth(memory: readonly number[]): Figures {
  const [first, last] = [memory[0], memory.at(-1)];
  if (memory.length < 2 || first === undefined || last === undefined) return {};
  console.log(`  memory of the proxy after each round: ${memory.map((mb) => mb.toFixed(0)).join(", ")} MB`);
  return { rss_growth_mb: figure(last - first, "MB") };
}

/** What the gas wallet paid for, root updates included. */
async function gasPerTicket(provider: JsonRpcProvider, rounds: readonly LoadAnswer[]): Promise<Figures> {
  const transactions = new Set(rounds.flatMap((round) => round.transactions));
  const tickets = rounds.reduce((sum, { confirmed }) => sum + confirmed.length, 0);
  let gas = 0n;
  for (const transaction of transactions) {
    const receipt = await provider.getTransactionReceipt(transaction);
    if (receipt === null) throw new Error("a transaction without a receipt");
    gas += receipt.gasUsed;
  }
  const each = Number(gas) / tickets;
  const members = tickets / transactions.size;
  console.log(`  ${each.toFixed(0)} gas a ticket, ${members.toFixed(1)} tickets a transaction`);
  return { gas_per_transfer: figure(each, "gas"), tickets_per_transaction: figure(members, "tickets") };
}

/** What making proofs costs, to tell it from what is measured; of processor time. */
async function benchSimulator(): Promise<Figures> {
  const simulator = await openSimulator();
  const signals = Array.from({ length: signalCount("spend") }, randomField);
  simulator.prove("spend", signals);
  const before = process.cpuUsage();
  for (let i = 0; i < SIMULATED; i++) simulator.prove("spend", signals);
  const { user, system } = process.cpuUsage(before);
  const rate = SIMULATED / ((user + system) / 1e6);
  console.log(
    `proofs are simulated, ${rate.toFixed(0)} a second of processor time, under benchmark keys, which production refuses`,
  );
  return { simulated_proofs_per_s: figure(rate, "1/s") };
}

function usagesOf(parties: Parties): Map<string, Usage> {
  const found = new Map<string, Usage>();
  for (const [name, pid] of Object.entries(parties)) {
    const usage = usageOf(pid);
    if (usage !== undefined) found.set(name, usage);
  }
  return found;
}
