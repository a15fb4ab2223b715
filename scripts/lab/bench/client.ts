// Suite "client": how long a user waits for a proof, and what it costs the device. Each prover runs in a process
// of its own, so that its peak memory is its own; the client library and bare snarkjs take turns, so that
// a busy moment hits both.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { readManifest, type CircuitEntry } from "../../build/circuits/artefacts.ts";
import type { Ask, Measured, Way } from "./client/proving-process.ts";
import { figure, spreadOf, type Figure, type Figures, type SuiteOptions } from "./figures.ts";

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
  entry: CircuitEntry,
  zkey: NonNullable<CircuitEntry["zkey"]>,
  runs: number,
): Promise<Figures> {
  const client = new ProvingProcess(kind, "client");
  const bare = new ProvingProcess(kind, "snarkjs");
  const loaded = await client.ask("load");
  await bare.ask("load");
  // The first proof starts the worker threads.
  const first = await client.ask("prove");
  await bare.ask("prove");
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let i = 0; i < runs; i++) {
    ours.push(await client.ask("prove"));
    theirs.push(await bare.ask("prove"));
  }
  const peakMb = (await client.ask("end")).peakMb;
  const barePeakMb = (await bare.ask("end")).peakMb;

  const time = spreadOf(ours.map(({ seconds }) => seconds));
  const cpu = spreadOf(ours.map(({ cpuSeconds }) => cpuSeconds));
  const bareTime = spreadOf(theirs.map(({ seconds }) => seconds));
  const ratio = spreadOf(ours.map(({ seconds }, i) => (theirs[i]?.seconds ?? NaN) / seconds)).median;
  const s = (value: number): string => `${value.toFixed(2)} s`;
  console.log(
    [
      `${kind} (${String(entry.constraints)} constraints)`,
      `  prove          ${s(time.median)}  (${s(time.least)} to ${s(time.most)}; processor time ${s(cpu.median)})`,
      `  first proof    ${s(first.seconds)}, starting the workers included`,
      `  bare snarkjs   ${s(bareTime.median)}  (${s(bareTime.least)} to ${s(bareTime.most)}), ratio ${ratio.toFixed(2)}`,
      `  key            ${mb(zkey.compressedBytes)} as shipped, ${mb(zkey.bytes)} in memory, loaded and checked in ${s(loaded.seconds)}`,
      `  peak memory    ${peakMb.toFixed(0)} MB (bare snarkjs ${barePeakMb.toFixed(0)} MB)`,
    ].join("\n"),
  );
  const name = SHORT[kind];
  return {
    [`prove_${name}_s`]: figure(time.median, "s"),
    [`prove_${name}_least_s`]: figure(time.least, "s"),
    [`prove_${name}_most_s`]: figure(time.most, "s"),
    [`prove_${name}_cpu_s`]: figure(cpu.median, "s"),
    [`prove_${name}_first_s`]: figure(first.seconds, "s"),
    [`prove_${name}_vs_snarkjs`]: figure(ratio, "x"),
    [`prove_${name}_peak_mb`]: figure(peakMb, "MB"),
    [`key_load_${name}_s`]: figure(loaded.seconds, "s"),
    [`proving_key_${name}_mb`]: figure(zkey.compressedBytes / 1e6, "MB"),
  };
}

/** A prover in a child process; one question at a time. */
class ProvingProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown[]>;

  constructor(kind: Kind, way: Way) {
    const file = fileURLToPath(new URL("client/proving-process.ts", import.meta.url));
    this.#child = fork(file, [kind, way], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#exit = once(this.#child, "exit");
  }

  async ask(question: Ask): Promise<Measured> {
    const answer = once(this.#child, "message");
    const end = this.#exit.then(([code]) => {
      throw new Error(`the proving process ended with ${String(code)} before it answered "${question}"`);
    });
    this.#child.send(question);
    // Whichever comes later has nobody who waits for it.
    end.catch(() => undefined);
    const [measured] = (await Promise.race([answer, end])) as [Measured];
    return measured;
  }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
