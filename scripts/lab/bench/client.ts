// Suite "client": how long a user waits for a proof, and what it costs the device. Each prover runs in a process
// of its own, so that its peak memory is its own; the client library and bare snarkjs take turns, so that
// a busy moment hits both.

import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { readManifest, type CircuitEntry } from "../../build/circuits/artefacts.ts";
import { startChild } from "./child.ts";
import type { Ask, Measured } from "./client/proving-process.ts";
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
  const figures: Record<string, Figure> = {};
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

async function benchKind(
  kind: Kind,
  { constraints }: CircuitEntry,
  zkey: NonNullable<CircuitEntry["zkey"]>,
  runs: number,
): Promise<Figures> {
  const client = startChild<Ask, Measured>("client/proving-process.ts");
  const bare = startChild<Ask, Measured>("client/proving-process.ts");
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
