// Leaving alone, shown on a stack of its own: the service is stopped, and a private payment and the whole way out need
// nothing of it. Exit code 0 only if every balance is exact to the last unit.
import { messageOf, runStackCommand, speaker, stoppingOnce } from "../stack/command.ts";
import { PROVED_DELAY_SECS, showExit } from "./exit.ts";
import { asData, report } from "./report.ts";
import { begin, Stage } from "../stack/stage.ts";
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
  const beganAt = performance.now();
  const poolTerms = { provedDelay: PROVED_DELAY_SECS };
  const stage = new Stage(await begin("exit", { poolTerms, say }));
  const close = stoppingOnce(() => stage.close());
  try {
    const result = await showExit({ stack: stage.stack, prover: await stage.prover(), say });
    const exact = result.checks.every(({ expected, actual }) => expected === actual);
    report(result, exact, say);
    say(`Took ${((performance.now() - beganAt) / 1000).toFixed(0)} s with the start.`);
    if (json) console.log(JSON.stringify(asData(result, exact)));
    return exact ? 0 : 1;
  } finally {
    await close();
  }
});
