// Suite "client": how long a user waits for a proof, and what it costs the device; how fast a wallet reads. Each prover
// runs in a process of its own, so that its peak memory is its own; the client library and bare snarkjs take turns, so
// that a busy moment hits both.

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { readManifest, type CircuitEntry } from "../../build/circuits/artefacts.ts";
import { startChild } from "./child.ts";
import type { Ask, Measured } from "./client/proving-process.ts";
import type { HistoryAnswer, HistoryQuestion } from "./http/history-service.ts";
import type { Restored, RestoreQuestion } from "./client/restoring-process.ts";
import type { Stored, StoreQuestion, Way } from "./client/storing-process.ts";
import type { Scanned, ScanQuestion } from "./client/scanning-process.ts";
import { figure, ratios, spreadOf, tell, type Figure, type Figures, type SuiteOptions } from "./figures.ts";

/** As the figures are called. */
const SHORT: Readonly<Record<Kind, string>> = {
  "deposit-shield": "deposit",
  spend: "spend",
  spend9: "spend9",
  "private-swap": "swap",
};

export async function benchClient({ runs }: SuiteOptions): Promise<Figures> {
  const manifest = await readManifest();
  const figures: Record<string, Figure> = { ...(await benchScanning(runs)) };
  for (const [name, leaves] of POOLS) Object.assign(figures, await benchStoring(name, leaves, runs));
  for (const history of HISTORIES) Object.assign(figures, await benchRestore(history, runs));
  for (const kind of KIND_NAMES) {
    const entry = manifest?.circuits[kind];
    if (entry?.zkey === undefined) {
      console.log(`${kind}: has no proving key yet`);
      continue;
    }
    Object.assign(figures, await benchKind(kind, entry, entry.zkey, runs));
  }
  return figures;
}

/** Outputs that one round reads. */
const OUTPUTS = 20_000;

async function benchScanning(runs: number): Promise<Figures> {
  const child = await startChild<ScanQuestion, Scanned>("client/scanning-process.ts");
  await child.ask({ type: "make", outputs: OUTPUTS });
  const rates: number[] = [];
  let peakMb = 0;
  for (let i = 0; i <= runs; i++) {
    const scanned = await child.ask({ type: "scan" });
    // The first round warms up.
    if (i > 0) rates.push(scanned.outputs / scanned.cpuSeconds);
    ({ peakMb } = scanned);
  }
  await child.stop();
  return tell(`reading ${String(OUTPUTS)} outputs, in processor time`, {
    scan_notes_per_s: figure(rates, "1/s"),
    scan_peak_mb: figure(peakMb, "MB"),
  });
}

/** As the figures are called. */
const POOLS = [
  ["100k", 100_000],
  ["1m", 1_000_000],
] as const;

const WAYS = ["parts", "whole"] as const;

async function benchStoring(name: string, leaves: number, runs: number): Promise<Figures> {
  const folders = await mkdtemp(path.join(os.tmpdir(), "cloister-bench-"));
  const start = () => startChild<StoreQuestion, Stored>("client/storing-process.ts");
  const opened: Record<Way, Stored[]> = { parts: [], whole: [] };
  const saved: Record<Way, Stored[]> = { parts: [], whole: [] };
  const wallets = [];
  for (const way of WAYS) {
    const folder = path.join(folders, way);
    await mkdir(folder);
    const making = await start();
    await making.ask({ type: "make", folder, way, leaves });
    await making.stop();
    // Another one, whose memory has never seen the whole pool.
    wallets.push({ way, folder, child: await start() });
  }
  for (let round = 0; round <= runs; round++)
    for (const { way, folder, child } of wallets) {
      const open = await child.ask({ type: "open", folder, way });
      const save = await child.ask({ type: "pay" });
      // The first round warms up.
      if (round === 0) continue;
      opened[way].push(open);
      saved[way].push(save);
    }
  for (const { child } of wallets) await child.stop();
  await rm(folders, { recursive: true });
  const seconds = (all: readonly Stored[]): number[] => all.map((one) => one.seconds);
  const bytes = (all: readonly Stored[]): number[] => all.map((one) => one.bytes);
  const { parts, whole } = saved;
  return tell(`a wallet in a pool of ${String(leaves)} leaves, in files`, {
    [`save_bytes_${name}`]: figure(bytes(parts), "bytes"),
    [`save_bytes_${name}_vs_whole`]: figure(ratios(bytes(parts), bytes(whole)), "x"),
    [`save_ms_${name}`]: figure(
      seconds(parts).map((one) => one * 1e3),
      "ms",
    ),
    [`save_${name}_vs_whole`]: figure(ratios(seconds(parts), seconds(whole)), "x"),
    [`open_${name}_s`]: figure(seconds(opened.parts), "s"),
    [`open_${name}_vs_whole`]: figure(ratios(seconds(opened.parts), seconds(opened.whole)), "x"),
    [`state_mb_${name}`]: figure((parts.at(-1)?.storedBytes ?? NaN) / 1e6, "MB"),
    [`state_mb_${name}_whole`]: figure((whole.at(-1)?.storedBytes ?? NaN) / 1e6, "MB"),
    [`store_peak_mb_${name}`]: figure(parts.at(-1)?.peakMb ?? NaN, "MB"),
    [`store_peak_mb_${name}_whole`]: figure(whole.at(-1)?.peakMb ?? NaN, "MB"),
  });
}

interface LongHistory {
  /** As the figures are called. */
  readonly name: string;
  /** A whole number of chunks, so that the stream has nothing left to tell. */
  readonly outputs: number;
  readonly own: number;
  /** Whether the stream is timed too: of a million outputs it takes too long. */
  readonly byStream: boolean;
}

const HISTORIES: readonly LongHistory[] = [
  { name: "100k", outputs: 25 * 4_096, own: 100, byStream: true },
  { name: "1m", outputs: 245 * 4_096, own: 100, byStream: false },
];

async function benchRestore({ name, outputs, own, byStream }: LongHistory, runs: number): Promise<Figures> {
  const service = await startChild<HistoryQuestion, HistoryAnswer>("http/history-service.ts");
  const { port, chunkSeconds, chunkBytes } = await service.ask({ outputs, own });
  const restore = async (by: "chunks" | "stream"): Promise<Restored> => {
    const child = await startChild<RestoreQuestion, Restored>("client/restoring-process.ts");
    const restored = await child.ask({ port, byStream: by === "stream" });
    await child.stop();
    if (restored.notes !== own) throw new Error(`found ${String(restored.notes)} of ${String(own)} notes`);
    return restored;
  };
  const byChunks: Restored[] = [];
  const others: Restored[] = [];
  for (let i = 0; i < runs; i++) {
    byChunks.push(await restore("chunks"));
    if (byStream) others.push(await restore("stream"));
  }
  await service.stop();
  const of = (all: readonly Restored[], value: (one: Restored) => number): number[] => all.map(value);
  const seconds = of(byChunks, (one) => one.seconds);
  return tell(`a wallet with ${String(own)} notes restored from ${String(outputs)} outputs, over HTTP`, {
    [`restore_${name}_s`]: figure(seconds, "s"),
    // The same under the name that aims have.
    ...(name === "100k" ? { restore_100k_events_s: figure(seconds, "s") } : {}),
    [`restore_${name}_cpu_s`]: figure(
      of(byChunks, (one) => one.cpuSeconds),
      "s",
    ),
    [`restore_${name}_peak_mb`]: figure(
      of(byChunks, (one) => one.peakMb),
      "MB",
    ),
    [`history_${name}_mb`]: figure(chunkBytes / 1e6, "MB"),
    [`history_${name}_made_s`]: figure(chunkSeconds, "s"),
    ...(byStream
      ? {
          [`restore_${name}_stream_s`]: figure(
            of(others, (one) => one.seconds),
            "s",
          ),
          [`restore_${name}_stream_peak_mb`]: figure(
            of(others, (one) => one.peakMb),
            "MB",
          ),
          [`restore_${name}_vs_stream`]: figure(
            ratios(
              of(others, (one) => one.seconds),
              seconds,
            ),
            "x",
          ),
        }
      : {}),
  });
}

async function benchKind(
  kind: Kind,
  { constraints }: CircuitEntry,
  zkey: NonNullable<CircuitEntry["zkey"]>,
  runs: number,
): Promise<Figures> {
  const client = await startChild<Ask, Measured>("client/proving-process.ts");
  const bare = await startChild<Ask, Measured>("client/proving-process.ts");
  const loaded = await client.ask({ type: "load", kind, way: "client" });
  await bare.ask({ type: "load", kind, way: "snarkjs" });
  // The first proof starts the worker threads.
  const first = await client.ask({ type: "prove" });
  await bare.ask({ type: "prove" });
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let i = 0; i < runs; i++) {
    ours.push(await client.ask({ type: "prove" }));
    theirs.push(await bare.ask({ type: "prove" }));
  }
  const { peakMb } = await client.ask({ type: "end" });
  const { peakMb: barePeakMb } = await bare.ask({ type: "end" });
  await Promise.all([client.stop(), bare.stop()]);

  const seconds = ours.map((one) => one.seconds);
  const bareSeconds = theirs.map((one) => one.seconds);
  const { least, most } = spreadOf(seconds);
  const name = SHORT[kind];
  return tell(`${kind} (${String(constraints)} constraints)`, {
    [`prove_${name}_s`]: figure(seconds, "s"),
    [`prove_${name}_least_s`]: figure(least, "s"),
    [`prove_${name}_most_s`]: figure(most, "s"),
    [`prove_${name}_cpu_s`]: figure(
      ours.map((one) => one.cpuSeconds),
      "s",
    ),
    [`prove_${name}_first_s`]: figure(first.seconds, "s"),
    [`prove_${name}_vs_snarkjs`]: figure(ratios(bareSeconds, seconds), "x"),
    [`prove_${name}_peak_mb`]: figure(peakMb, "MB"),
    [`key_load_${name}_s`]: figure(loaded.seconds, "s"),
    [`proving_key_${name}_mb`]: figure(zkey.compressedBytes / 1e6, "MB"),
    [`snarkjs_${name}_s`]: figure(bareSeconds, "s"),
    [`snarkjs_${name}_peak_mb`]: figure(barePeakMb, "MB"),
  });
}
