// Benchmarks: `npm run bench -- <suite> [--json]`. One suite a file; every figure has a name that stays, so that
// results of different commits can be compared. No test looks at these numbers.

import { BLOCK_MS, describeMachine, jsonLine, type Figures, type SuiteOptions } from "./bench/figures.ts";
import { runCommand, UsageError, wholeNumber } from "../base/command.ts";

interface Suite {
  readonly about: string;
  readonly runs: number;
  run(options: SuiteOptions): Promise<Figures>;
}

/** Each is loaded when it runs, since the parts that it measures come with it. */
const SUITES: Readonly<Record<string, Suite>> = {
  enclave: {
    about: "verifying beside snarkjs, one request over the socket, root updates, signing",
    runs: 15,
    run: async (options) => (await import("./bench/enclave.ts")).benchEnclave(options),
  },
  second: {
    about: "the second verifier: proofs a second in batches, root updates",
    runs: 7,
    run: async (options) => (await import("./bench/second.ts")).benchSecond(options),
  },
  client: {
    about:
      "proving with the client library: time, memory, size of the keys; reading outputs; storing a wallet",
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
  store: {
    about: "what lists of ended tickets, sums of usage and the audit log cost, in processor time",
    runs: 7,
    run: async (options) => (await import("./bench/store.ts")).benchStore(options),
  },
  tree: {
    about: "the index at scale: first start, later start, append, memory",
    runs: 5,
    run: async (options) => (await import("./bench/tree.ts")).benchTree(options),
  },
  bridges: {
    about: "open addresses: memory and questions to nodes; from an arrival to its notice and to its sweep",
    runs: 3,
    run: async (options) => (await import("./bench/bridges.ts")).benchBridges(options),
  },
};

/** Below what the sequencer can do, so that nothing piles up. */
const RATE = 12;
const SECS = 20;
const MAX_QUEUE = 500_000;
const EXPONENT = 20;

const LIST = Object.entries(SUITES).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`);

const HELP = `Usage: npm run bench -- <suite> [--json] [--runs <n>]

${LIST.join("\n")}

  --json      one JSON object last: {"suite", "commit", "machine", "figures": {name: {"value", "unit"}}}
  --runs <n>  repetitions, 1 to 1000
  --rate <n>  of suite sequencer: payments a second, 1 to 1000 (default ${String(RATE)})
  --secs <n>  of suite sequencer: for how long in each repetition, 1 to 1000 (default ${String(SECS)})
  --block-ms <n> of suite sequencer: time between two blocks, 100 to 1000 (default ${String(BLOCK_MS)})
  --node-ms <n>  of suite sequencer: what each question to the node takes longer, 0 to 1000 (default 0)
  --queue <n> of suite sequencer: also measures acceptance and memory with so many tickets waiting, up to 500000
  --exponent <n> of suite tree: 2 to this power is the number of leaves, 10 to 24 (default ${String(EXPONENT)})
  --help      this text

Medians are reported, with least and most beside them. Other work on the machine makes all of them larger, so
run it on an idle one, or compare ratios.`;

const OPTIONS = {
  json: { type: "boolean" },
  runs: { type: "string" },
  rate: { type: "string" },
  secs: { type: "string" },
  "block-ms": { type: "string" },
  "node-ms": { type: "string" },
  queue: { type: "string" },
  exponent: { type: "string" },
  help: { type: "boolean" },
} as const;

await runCommand(
  { help: HELP, allowPositionals: true, options: OPTIONS },
  async ({ values, positionals }) => {
    const name = positionals.join(" ");
    const suite = Object.hasOwn(SUITES, name) ? SUITES[name] : undefined;
    if (suite === undefined) {
      const problem = name === "" ? "Which suite?" : `There is no suite "${name}".`;
      throw new UsageError(`${problem}\nThere are:\n${LIST.join("\n")}`);
    }
    const options: SuiteOptions = {
      runs: wholeNumber("--runs", values.runs ?? String(suite.runs), 1, 1000),
      perSecond: wholeNumber("--rate", values.rate ?? String(RATE), 1, 1000),
      seconds: wholeNumber("--secs", values.secs ?? String(SECS), 1, 1000),
      blockMs: wholeNumber("--block-ms", values["block-ms"] ?? String(BLOCK_MS), 100, 1000),
      nodeMs: wholeNumber("--node-ms", values["node-ms"] ?? "0", 0, 1000),
      queue: wholeNumber("--queue", values.queue ?? "0", 0, MAX_QUEUE),
      exponent: wholeNumber("--exponent", values.exponent ?? String(EXPONENT), 10, 24),
    };
    const machine = describeMachine();
    console.log(`${machine}\n`);
    const figures = await suite.run(options);
    console.log(`\nafterwards: ${describeMachine()}`);
    if (values.json === true) console.log(jsonLine(name, machine, figures));
    return 0;
  },
);
