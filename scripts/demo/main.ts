// The main job, shown with real proofs on the running stack or on one it starts: private payments on the first
// network, a private swap on the second. Exit code 0 only if every balance is exact to the last unit.
import { developmentProver } from "../../shared/client/node/development.ts";
import { UsageError } from "../base/command.ts";
import { messageOf, runStackCommand, speaker, stoppingOnce } from "../stack/command.ts";
import { showBridges } from "./bridges.ts";
import { showPayments } from "./payments.ts";
import { asData, report } from "./report.ts";
import { Stage, type Result, type StageOptions } from "./stage.ts";
import { showSwap } from "./swap.ts";
import { startStack, type Stack } from "../stack/local-stack.ts";
import { DEFAULT_FOLDER, type NetworkName, networkOf, runningStack, StackError } from "../base/stack-file.ts";
import { StackFolder } from "../stack/stack-folder.ts";

const HELP = `Usage: npm run demo -- [options]

Payments, on the first network: 100 USDC are deposited and paid on privately through three fresh wallets, one of
the payments combining many notes in one transaction, then partly withdrawn, and a wallet is restored from its key.
Swap, on the second network: wrapped ether is deposited by its owner's own transaction, dollars are swapped into
ether inside the pool, and what was bought is paid on and withdrawn.
Bridges, on the first network: money comes from an exchange, another blockchain and another EVM chain into private notes,
is paid on and leaves for the exchange and that chain; one deposit is taken back by its owner alone.
Starts the networks it needs when none run, and stops them again.

  --only payments|swap|bridges
                         show one part only
  --json                 print the result as one JSON object, last on standard output
  --folder <path>        folder of the stack (default ${DEFAULT_FOLDER})
  --help                 this text

Exit code: 0 when every balance is exact, 1 when one is not or a step failed, 2 for wrong arguments.`;

type Part = "payments" | "swap" | "bridges";

const PARTS: Readonly<
  Record<Part, { readonly network: NetworkName; readonly play: (stage: Stage) => Promise<void> }>
> = {
  payments: { network: "first", play: showPayments },
  swap: { network: "second", play: showSwap },
  bridges: { network: "first", play: showBridges },
};

const COMMAND = {
  help: HELP,
  failure: (error: unknown) =>
    error instanceof StackError ? error.message : `\nThe demo failed: ${messageOf(error)}`,
  options: {
    only: { type: "string" },
    json: { type: "boolean", default: false },
    folder: { type: "string", default: DEFAULT_FOLDER },
    help: { type: "boolean" },
  },
} as const;

await runStackCommand(COMMAND, async ({ values: { only, json, folder: path } }) => {
  const parts = partsOf(only);
  const say = speaker(json);
  const folder = new StackFolder(path);
  const running = await runningStack(path);
  let own: Stack | undefined;
  const stop = stoppingOnce(async () => own?.stop());
  const beganAt = performance.now();
  try {
    const stack = running ?? (own = await startOwn(path, parts, say)).file;
    if (running !== undefined) say(`Using the stack that runs in ${folder.path}.`);
    // All of them before the first part begins.
    for (const part of parts) networkOf(stack, PARTS[part].network);
    const readyAt = performance.now();
    const prover = await developmentProver();
    const results: Result[] = [];
    try {
      for (const part of parts) results.push(await play(part, { stack, folder, prover, say }));
    } finally {
      await prover.close();
    }
    const result = together(results);
    const exact = result.checks.every(({ expected, actual }) => expected === actual);
    report(result, exact, say);
    const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(0);
    say(
      `Took ${seconds(readyAt)} s${running === undefined ? `, ${seconds(beganAt)} s with the start` : ""}.`,
    );
    if (json) console.log(JSON.stringify(asData(result, exact)));
    return exact ? 0 : 1;
  } finally {
    await stop();
  }
});

function startOwn(folder: string, parts: readonly Part[], say: (text: string) => void): Promise<Stack> {
  say("No stack is running here: starting one.");
  const networks = parts.map((part) => PARTS[part].network);
  return startStack({ folder, networks, bridges: parts.includes("bridges"), say });
}

async function play(part: Part, options: Omit<StageOptions, "network">): Promise<Result> {
  const { network, play: playOn } = PARTS[part];
  const stage = await Stage.open({ ...options, network });
  try {
    await playOn(stage);
    return stage.result();
  } finally {
    await stage.close();
  }
}

function together(results: readonly Result[]): Result {
  return {
    checks: results.flatMap(({ checks }) => checks),
    timings: results.flatMap(({ timings }) => timings),
    transactions: results.flatMap(({ transactions }) => transactions),
  };
}

function partsOf(only: string | undefined): readonly Part[] {
  const parts = Object.keys(PARTS) as Part[];
  if (only === undefined) return parts;
  const chosen = parts.filter((part) => part === only);
  if (chosen.length === 1) return chosen;
  throw new UsageError(`--only ${only}: there is no such part`);
}
