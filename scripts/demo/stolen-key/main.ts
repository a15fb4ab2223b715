// What a stolen signing key is worth, shown on a stack: forged payments and a forged root, their refutation by a watcher,
// and honest people who pay and leave without any service. Exit code 0 only if every balance is exact and the loss
// within one window's cap.
import { messageOf, runStackCommand, speaker, stoppingOnce } from "../../stack/command.ts";
import { play } from "./acts.ts";
import { StolenKeyStage, type Check } from "./stage.ts";

const HELP = `Usage: npm run demo:stolen-key -- [options]

Starts a stack of its own (one network, in a temporary folder). Honest people deposit and pay; the key of a second
signer gets into a thief's hands, who forges withdrawals, a note and a root. A watcher finds all of it and has it
refuted: the signer and its image are out, the forged leaves void, the tree is rebuilt without them. Then the service is
stopped, and an honest user pays in private and leaves by proofs alone.

  --json   print the result as one JSON object, last on standard output
  --help   this text

Exit code: 0 when every balance is exact and the loss within one window's cap, 1 when not, 2 for wrong arguments.`;

const COMMAND = {
  help: HELP,
  failure: (error: unknown) => `\nThe demo failed: ${messageOf(error)}`,
  options: { json: { type: "boolean", default: false }, help: { type: "boolean" } },
} as const;

await runStackCommand(COMMAND, async ({ values: { json } }) => {
  const say = speaker(json);
  const stage = await StolenKeyStage.on(say);
  const close = stoppingOnce(() => stage.close());
  try {
    await play(stage);
  } finally {
    await close();
  }
  const { checks } = stage;
  const ok = checks.every(({ expected, actual }) => expected === actual);
  say(report(checks));
  say(
    ok
      ? "\nWhat honest people hold is exact, and the loss is bounded."
      : "\nNOT everything is as it must be; see above.",
  );
  if (json) console.log(JSON.stringify({ ok, checks }));
  return ok ? 0 : 1;
});

function report(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map(({ name, expected, actual }) => {
    const verdict = expected === actual ? actual : `WRONG: ${actual}, where ${expected} was to come`;
    return `  ${name.padEnd(width)}  ${verdict}`;
  });
  return ["", ...lines].join("\n");
}
