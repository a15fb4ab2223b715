/** `npm run test:faults`: seeded scenarios against real proxies, as many as wanted. */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { KIND_NAMES } from "./kinds.ts";
import type { StoreName } from "./stores.ts";
import { defaultWorkers, hasRedis, runSuite, type StoreReport } from "./suite.ts";

const HELP = `Usage: npm run test:faults [-- OPTIONS]

Plays seeded scenarios against real proxies, an enclave, chains and real proofs. Of payments: kills, reorganisations, lost
and lying answers, moved clocks, strangers, owners who pay by proofs, pauses, forged notes and their refutation. Of
bridges: the same of every chain that money crosses, and an attester that is away or lies. At the end of each one,
tickets or requests, chains, wallets and event stream are compared.
Exit code 1 when something was violated, or when in a hundred scenarios or more a kind of fault never struck.

  --of NAME      payments, bridges or both (both)
  --seed N       repeats a run (drawn, and printed, when absent)
  --runs N       scenarios of each, on each store (100)
  --from N       number of the first (1): one scenario again with --from N --runs 1, or a long run resumed
  --store NAME   embedded, redis (needs redis-server) or both (both)
  --threshold N  of how many enclaves, of each kind in turn, the pool of payments asks for an attestation (1)
  --workers N    scenarios that are played at a time (${String(defaultWorkers())})
  --liar         nodes, attester and exchange lie by chance in every scenario, and not in two of five
  --stop         end with the first violation
  --help         this text`;

/** A fault that is drawn at all has struck in as many. */
const ENOUGH_RUNS = 100;
const MAX_SEED = 2 ** 32;
/** A stolen key of each kind of verifier is in the world. */
const MAX_THRESHOLD = 2;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      of: { type: "string", default: "both" },
      seed: { type: "string" },
      runs: { type: "string", default: "100" },
      from: { type: "string", default: "1" },
      store: { type: "string", default: "both" },
      workers: { type: "string", default: String(defaultWorkers()) },
      threshold: { type: "string", default: "1" },
      liar: { type: "boolean", default: false },
      stop: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return;
  }
  const seed = wholeNumber(values.seed ?? String(randomInt(MAX_SEED)), MAX_SEED);
  const [runs, from] = [wholeNumber(values.runs), wholeNumber(values.from)];
  const workers = wholeNumber(values.workers, 64);
  const threshold = wholeNumber(values.threshold, MAX_THRESHOLD + 1);
  const stores = storesOf(values.store);
  const kinds = KIND_NAMES.filter((name) => values.of === "both" || values.of === name);
  const isPlayable = seed !== undefined && runs && from && workers && threshold;
  if (!isPlayable || stores === undefined || kinds.length === 0) {
    console.error(`Not a number, not a store, or nothing that is played.\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  if (stores.includes("redis") && !hasRedis()) {
    console.error(
      "there is no redis-server on this machine; install it (Debian: apt install redis-server), or give --store embedded",
    );
    process.exitCode = 2;
    return;
  }
  const reports: StoreReport[] = [];
  for (const of of kinds) {
    console.log(`${of}, seed ${String(seed)}, ${String(runs)} scenarios of each store: ${stores.join(", ")}`);
    const said = await runSuite({
      ...{ of, seed, runs, from, workers, stores, threshold },
      ...{ liar: values.liar, stop: values.stop },
      say: (text) => console.log(text),
    });
    for (const report of said) show(report);
    reports.push(...said);
    if (values.stop && isViolated(said)) break;
  }
  const isIdle = runs >= ENOUGH_RUNS && !values.stop && reports.some(({ idle }) => idle.length > 0);
  if (isIdle || isViolated(reports)) process.exitCode = 1;
}

const isViolated = (reports: readonly StoreReport[]): boolean =>
  reports.some(({ violated }) => violated.length > 0);

function show({ of, store, played, killing, kills, struck, idle, violated }: StoreReport): void {
  const share = played === 0 ? 0 : Math.round((100 * killing) / played);
  console.log(
    `\n${of}, ${store}: ${String(played)} scenarios, ${String(killing)} (${String(share)} %) with a kill, ${String(kills)} kills, ${String(violated.length)} violated`,
  );
  const rows = [...struck].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, times] of rows) console.log(`  ${name.padEnd(22)} ${String(times).padStart(6)}`);
  if (idle.length > 0) console.log(`  never struck: ${idle.join(", ")}`);
  for (const { number } of violated) console.log(`  violated: scenario ${String(number)}`);
}

function storesOf(name: string): readonly StoreName[] | undefined {
  if (name === "both") return ["embedded", "redis"];
  return name === "embedded" || name === "redis" ? [name] : undefined;
}

function wholeNumber(text: string, below = Infinity): number | undefined {
  const value = /^(0|[1-9][0-9]{0,9})$/.test(text) ? Number(text) : NaN;
  return value < below ? value : undefined;
}

await main();
