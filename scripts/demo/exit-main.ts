// Leaving alone, shown on a stack of its own: the service is stopped, and a private payment and the whole way out need
// nothing of it. Exit code 0 only if every balance is exact to the last unit.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { developmentProver } from "../../shared/client/node/development.ts";
import { messageOf, runStackCommand, speaker, stoppingOnce } from "../stack/command.ts";
import { PROVED_DELAY_SECS, showExit } from "./exit.ts";
import { asData, report } from "./report.ts";
import { startStack, type Stack } from "../stack/local-stack.ts";
import { StackError } from "../base/stack-file.ts";

const HELP = `Usage: npm run demo:exit -- [options]

Starts a stack of its own (the first network, in a temporary folder), deposits and pays with the service, then stops
every process of it. From the chain alone follow a private payment and everything's way out by the code of npm run exit:
the tree is extended without a signer, and the chain's time passes whenever only time helps.

  --json   print the result as one JSON object, last on standard output
  --help   this text

Exit code: 0 when every balance is exact, 1 when one is not or a step failed, 2 for wrong arguments.`;

const COMMAND = {
  help: HELP,
  failure: (error: unknown) =>
    error instanceof StackError ? error.message : `\nThe demo failed: ${messageOf(error)}`,
  options: { json: { type: "boolean", default: false }, help: { type: "boolean" } },
} as const;

await runStackCommand(COMMAND, async ({ values: { json } }) => {
  const say = speaker(json);
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-exit-"));
  let stack: Stack | undefined;
  const stop = stoppingOnce(async () => {
    await stack?.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const beganAt = performance.now();
  try {
    const ports = { first: { proxy: 0, chain: 0 } };
    stack = await startStack({
      folder,
      networks: ["first"],
      poolTerms: { provedDelay: PROVED_DELAY_SECS },
      ports,
      say,
    });
    const prover = await developmentProver();
    let result;
    try {
      result = await showExit({ stack, prover, say });
    } finally {
      await prover.close();
    }
    const exact = result.checks.every(({ expected, actual }) => expected === actual);
    report(result, exact, say);
    say(`Took ${((performance.now() - beganAt) / 1000).toFixed(0)} s with the start.`);
    if (json) console.log(JSON.stringify(asData(result, exact)));
    return exact ? 0 : 1;
  } finally {
    await stop();
  }
});
