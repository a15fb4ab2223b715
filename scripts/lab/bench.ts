// Benchmarks: `npm run bench -- <suite> [--json]`. One suite a file; every figure has a name that stays, so that
// results of different commits can be compared. No test looks at these numbers.

import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { describeMachine, type Figures, type SuiteOptions } from "./bench/figures.ts";
import { repositoryRoot } from "../build/circuits/compile.ts";

/** Each is loaded when it runs, since the parts that it measures come with it. */
interface Suite {
  readonly about: string;
  readonly runs: number;
  run(options: SuiteOptions): Promise<Figures>;
}

const SUITES: Readonly<Record<string, Suite>> = {
  enclave: {
    about: "verifying beside snarkjs, one request over the socket, root updates, signing",
    runs: 15,
    run: async (options) => (await import("./bench/enclave.ts")).benchEnclave(options),
  },
  client: {
    about: "proving with the client library: time, memory, size of the keys",
    runs: 7,
    run: async (options) => (await import("./bench/client.ts")).benchClient(options),
  },
  http: {
    about: "requests a second beside bare Koa, the tree, event streams, answers while proofs are verified",
    runs: 7,
    run: async (options) => (await import("./bench/http.ts")).benchHttp(options),
  },
  sequencer: {
    about:
      "payments from request to block with simulated proofs: acceptance, confirmation, gas, processors, memory",
    runs: 3,
    run: async (options) => (await import("./bench/sequencer.ts")).benchSequencer(options),
  },
};

/** Below what the sequencer can do, so that nothing piles up. */
const RATE = 12;
const SECS = 20;
const MAX_QUEUE = 500_000;

const LIST = Object.entries(SUITES).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`);

const HELP = `Usage: npm run bench -- <suite> [--json] [--runs <n>]

${LIST.join("\n")}

  --json      one JSON object last: {"suite", "commit", "machine", "figures": {name: {"value", "unit"}}}
  --runs <n>  repetitions, 1 to 1000
  --rate <n>  of suite sequencer: payments a second, 1 to 1000 (default ${String(RATE)})
  --secs <n>  of suite sequencer: for how long in each repetition, 1 to 1000 (default ${String(SECS)})
  --queue <n> of suite sequencer: also measures acceptance and memory with so many tickets waiting, up to 500000
  --help      this text

Medians are reported, with least and most beside them. Other work on the machine makes all of them larger, so
run it on an idle one, or compare ratios.`;

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      runs: { type: "string" },
      rate: { type: "string" },
      secs: { type: "string" },
      queue: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const [name, ...others] = positionals;
  const suite = name !== undefined && Object.hasOwn(SUITES, name) ? SUITES[name] : undefined;
  if (name === undefined || suite === undefined || others.length > 0) {
    console.error(name === undefined ? "Which suite?" : `There is no suite "${positionals.join(" ")}".`);
    console.error(`There are:\n${LIST.join("\n")}`);
    return 2;
  }
  const { runs = suite.runs, rate = RATE, secs = SECS, queue = "0" } = values;
  const options = { runs: Number(runs), perSecond: Number(rate), seconds: Number(secs) };
  if (Object.values(options).some((value) => !Number.isInteger(value) || value < 1 || value > 1000)) {
    console.error("--runs, --rate and --secs must be whole numbers from 1 to 1000");
    return 2;
  }
  if (!/^\d{1,6}$/.test(queue) || Number(queue) > MAX_QUEUE) {
    console.error(`--queue must be a whole number up to ${String(MAX_QUEUE)}`);
    return 2;
  }
  const machine = describeMachine();
  console.log(`${machine}\n`);
  const figures = await suite.run({ ...options, queue: Number(queue) });
  console.log(`\nafterwards: ${describeMachine()}`);
  if (values.json === true) console.log(JSON.stringify({ suite: name, commit: commit(), machine, figures }));
  return 0;
}

/** With a plus when files differ from the commit. */
function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: repositoryRoot, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    return `${git("rev-parse", "--short=12", "HEAD").trim()}${git("status", "--porcelain") === "" ? "" : "+"}`;
  } catch {
    return "unknown";
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
