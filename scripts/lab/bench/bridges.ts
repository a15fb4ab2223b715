// Suite "bridges": what it costs to watch many open addresses, and how soon money that arrives is seen and swept. Ten
// addresses and ten thousand are measured in one run by one proxy, which is started anew for each, so that what remains of
// opening them is in neither.

import { setTimeout as delay } from "node:timers/promises";
import { crowd, detect, type Crowd, type Detected } from "./bridges/arrivals.ts";
import { memoryOf, type Standing } from "./bridges/memory.ts";
import { Payer } from "./bridges/payer.ts";
import { CHAINS, onStage, type PerChain, type Stage } from "./bridges/stage.ts";
import { listen, openAddresses } from "./bridges/user.ts";
import { figure, tell, type Figure, type Figures, type SuiteOptions } from "./figures.ts";

const FEW = 10;
const MANY = 10_000;
/** Arrivals are at addresses of their own, which stay open. */
const BESIDE = 5_000;
const CROWD = 100;
/** From another chain each is a burn, an attestation and a delivery before it is swept. */
const CROWD_FROM_OTHER = 20;
const COUNTED_BLOCKS = 30;
/** For reading the store and looking back on the chains. */
const SETTLE_MS = 15_000;

interface Measured {
  readonly memory: Standing;
  readonly startMs: number;
  readonly calls: PerChain<number>;
  readonly detected: readonly Detected[];
  readonly crowds: readonly Crowd[];
  readonly fromOther: Crowd;
}

export function benchBridges({ runs }: SuiteOptions): Promise<Figures> {
  return onStage(MANY + BESIDE, async (stage) => {
    const { client } = stage.on;
    await openAddresses(client, FEW);
    const few = await measure(stage, "few", runs);
    const openedAt = performance.now();
    await openAddresses(client, MANY - FEW);
    const openedSecs = (performance.now() - openedAt) / 1000;
    const many = await measure(stage, "many", runs);
    return { ...report(few, many), bridge_opened_per_s: figure((MANY - FEW) / openedSecs, "1/s") };
  });
}

async function measure(stage: Stage, sub: string, runs: number): Promise<Measured> {
  const { bridges, chains } = stage;
  const { network, entry, folder, apiKey } = stage.on;
  await network.relay().stop();
  const beganAt = performance.now();
  await network.restartRelay();
  const startMs = performance.now() - beganAt;
  await delay(SETTLE_MS);
  const memory = await memoryOf(network.relay().pid, folder);
  const calls = await stage.callsPerBlock(COUNTED_BLOCKS);

  const [other] = bridges.chains;
  if (other === undefined) throw new Error("no other chain");
  const listener = await listen(entry.base_url, apiKey, sub);
  const payers = {
    home: await Payer.open({ rpc: entry.chain_rpc, chain_id: entry.chain_id, usdc: entry.usdc }),
    other: await Payer.open(other),
  };
  try {
    const detected: Detected[] = [];
    const crowds: Crowd[] = [];
    const terms = { factory: bridges.factory, home: chains.home };
    for (let round = 0; round < runs; round++) {
      detected.push(...(await detect(listener, payers.home, payers.other)));
      crowds.push(await crowd(listener, payers.home, { ...terms, from: "home", count: CROWD }));
    }
    const fromOther = await crowd(listener, payers.other, {
      ...{ ...terms, from: "other", count: CROWD_FROM_OTHER },
    });
    return { memory, startMs, calls, detected, crowds, fromOther };
  } finally {
    listener.stop();
    payers.home.stop();
    payers.other.stop();
  }
}

function report(few: Measured, many: Measured): Figures {
  const added = (MANY - FEW) / 10_000;
  return {
    ...tell(`memory after a collection, ${String(FEW)} and ${String(MANY)} addresses open`, {
      bridge_memory_mb_per_10000: figure((many.memory.liveMb - few.memory.liveMb) / added, "MB"),
      bridge_resident_mb_per_10000: figure((many.memory.anonymousMb - few.memory.anonymousMb) / added, "MB"),
      bridge_live_mb: figure(many.memory.liveMb, "MB"),
      bridge_start_ms: figure(many.startMs, "ms"),
      bridge_start_ratio: figure(many.startMs / few.startMs, "x"),
    }),
    ...tell("questions of the bridges to each chain's node, a block", callFigures(few.calls, many.calls)),
    ...tell("from an arrival's block to the stream that tells of it", detectionFigures(few, many)),
    ...tell(`${String(CROWD)} arrivals in one block, blocks every second`, crowdFigures(few, many)),
    ...tell(`${String(CROWD_FROM_OTHER)} arrivals in one block of another chain, to the last sweep`, {
      [`bridge_from_other_${String(CROWD_FROM_OTHER)}_s`]: figure(
        [few.fromOther.seconds, many.fromOther.seconds],
        "s",
      ),
    }),
  };
}

function callFigures(few: PerChain<number>, many: PerChain<number>): Figures {
  const figures: Record<string, Figure> = {};
  for (const name of CHAINS) {
    figures[`bridge_rpc_calls_per_block_${name}_${String(FEW)}`] = figure(few[name], "calls");
    figures[`bridge_rpc_calls_per_block_${name}_${String(MANY)}`] = figure(many[name], "calls");
  }
  const most = (calls: PerChain<number>): number => Math.max(...CHAINS.map((name) => calls[name]));
  figures["bridge_rpc_calls_per_block"] = figure(most(many), "calls");
  figures["bridge_rpc_calls_ratio"] = figure(most(many) / most(few), "x");
  return figures;
}

function detectionFigures(few: Measured, many: Measured): Figures {
  const detected = [...few.detected, ...many.detected];
  return {
    bridge_detection_blocks_max: figure(Math.max(...detected.map(({ blocks }) => blocks)), "blocks"),
    [`bridge_detection_ms_${String(FEW)}`]: figure(
      few.detected.map(({ ms }) => ms),
      "ms",
    ),
    [`bridge_detection_ms_${String(MANY)}`]: figure(
      many.detected.map(({ ms }) => ms),
      "ms",
    ),
  };
}

function crowdFigures(few: Measured, many: Measured): Figures {
  const all = [...few.crowds, ...many.crowds];
  const secs = (crowds: readonly Crowd[]): number[] => crowds.map(({ seconds }) => seconds);
  const ratio = secs(many.crowds).map((each, round) => each / (few.crowds[round]?.seconds ?? NaN));
  return {
    [`bridge_sweep_${String(CROWD)}_s`]: figure(secs(many.crowds), "s"),
    [`bridge_sweep_${String(CROWD)}_s_beside_${String(FEW)}`]: figure(secs(few.crowds), "s"),
    [`bridge_sweep_${String(CROWD)}_ratio`]: figure(ratio, "x"),
    [`bridge_sweep_${String(CROWD)}_blocks`]: figure(
      all.map(({ blocks }) => blocks),
      "blocks",
    ),
    [`bridge_sweep_${String(CROWD)}_transactions`]: figure(
      all.map(({ transactions }) => transactions),
      "calls",
    ),
    [`bridge_completed_${String(CROWD)}_s`]: figure(
      all.map(({ completedSeconds }) => completedSeconds),
      "s",
    ),
    bridge_gas_per_sweep: figure(
      all.map(({ gasPerSweep }) => gasPerSweep),
      "gas",
    ),
  };
}
