// Fuzzes the enclave's parsers: mutated cases, kept when they reach a new place of the code. Fails when
// a parser throws or works longer than its input is worth.
import { randomInt } from "node:crypto";
import { Worker } from "node:worker_threads";
import { runCommand, UsageError, wholeNumber } from "../base/command.ts";
import { campaign, smallest, type Subject } from "./fuzz/campaign.ts";
import { loadTargets, TARGETS } from "./fuzz/targets.ts";

const DEFAULT_CASES = 50_000;

const HELP = `Usage: npm run fuzz [-- OPTIONS]

Fuzzes the parsers that read bytes of strangers inside the enclave, guided by the places their cases reach.
Exit code 1 when a parser throws or works longer than its input is worth.

  --cases N        over all targets (${DEFAULT_CASES.toLocaleString("en")})
  --million        the same as --cases 1000000
  --target NAME    only this one, may be repeated: ${Object.keys(TARGETS).join(", ")}
  --seed N         repeats a run (drawn, and printed, when absent)
  --help           this text`;

/** One case takes well under a millisecond. */
const HANG_LIMIT_MS = 30_000;
const MAX_SEED = 2 ** 32 - 1;

const OPTIONS = {
  cases: { type: "string" },
  million: { type: "boolean" },
  target: { type: "string", multiple: true, default: Object.keys(TARGETS) },
  seed: { type: "string" },
  help: { type: "boolean" },
} as const;

await runCommand({ help: HELP, options: OPTIONS }, async ({ values }) => {
  const cases =
    values.million === true ? 1_000_000 : wholeNumber("--cases", values.cases ?? String(DEFAULT_CASES), 1);
  const seed = wholeNumber("--seed", values.seed ?? String(randomInt(MAX_SEED)), 0, MAX_SEED);
  const unknown = values.target.filter((name) => !(name in TARGETS));
  if (unknown.length > 0) throw new UsageError(`no target is called ${unknown.join(", ")}`);

  console.log(`${cases.toLocaleString("en")} cases, seed ${seed}`);
  const targets = await loadTargets(values.target);
  const watch = startWatchdog();
  let faults = 0;
  try {
    for (const [name, subject] of targets)
      if (!holds(name, subject, Math.ceil(cases / targets.size), seed, watch.onCase)) faults += 1;
  } finally {
    await watch.stop();
  }
  return faults === 0 ? 0 : 1;
});

/** Tells how the parser did; false when a case failed. */
function holds(
  name: string,
  subject: Subject,
  cases: number,
  seed: number,
  onCase: (input: Uint8Array) => void,
): boolean {
  const started = performance.now();
  const { failure, ...outcome } = campaign(subject, { cases, seed, onCase });
  const seconds = (performance.now() - started) / 1000;
  console.log(
    [
      name.padEnd(12),
      `${outcome.cases.toLocaleString("en")} cases in ${seconds.toFixed(1)} s`,
      `${outcome.reached} places reached (${outcome.reachedBySeeds} by the seeds)`,
      `${outcome.corpus} kept`,
      `at most ${(100 * outcome.heaviest).toFixed(0)} % of the work allowed`,
    ].join("  "),
  );
  if (failure === undefined) return true;
  console.error(
    `\n${name} FAILED at case ${failure.at}: ${failure.error.stack ?? failure.error.message}\n` +
      `  input ${hex(failure.input)}\n  least ${hex(smallest(subject, failure))}\n` +
      `  again: npm run fuzz -- --target ${name} --seed ${seed} --cases ${failure.at + 1}\n`,
  );
  return false;
}

function startWatchdog(): { onCase: (input: Uint8Array) => void; stop: () => Promise<unknown> } {
  const memory = new SharedArrayBuffer(1 << 20);
  const header = new Int32Array(memory, 0, 2);
  const bytes = new Uint8Array(memory, 8);
  const worker = new Worker(new URL("./fuzz/watchdog.mjs", import.meta.url), {
    workerData: { memory, limitMs: HANG_LIMIT_MS },
    execArgv: [],
  });
  return {
    onCase(input) {
      header[1] = Math.min(input.length, bytes.length);
      bytes.set(input.subarray(0, bytes.length));
      Atomics.add(header, 0, 1);
    },
    stop: () => worker.terminate(),
  };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
