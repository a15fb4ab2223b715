// What stands between a tampered enclave and the pool, shown on a real stack: each attack by somebody who owns the
// host, and who refuses it for which reason. Exit code 0 only if every one was refused as it must be.
import { runStackCommand, speaker, stoppingOnce } from "../../stack/command.ts";
import { CASES } from "./cases.ts";
import { Ledger, type Case } from "./ledger.ts";
import { TamperStage } from "./stage.ts";

const HELP = `Usage: npm run demo:tamper -- [options]

Starts a stack of its own (one network, in a temporary folder) and attacks its enclave: one byte changed in a copy
of it, a substituted key, a birth certificate of another sealed key, a debug-mode document, a foreign root,
registrations without the pool's owner, a complete old pair of a signer that was removed; and a false proof where two
verifiers have to sign and one of them is wrong. Shows who refuses each and why; controls show that the honest way
works at the same place.

  --json   print the result as one JSON object, last on standard output
  --help   this text

Exit code: 0 when everything was refused (and every control worked) as it must, 1 when not, 2 for wrong arguments.`;

const COMMAND = {
  help: HELP,
  options: { json: { type: "boolean", default: false }, help: { type: "boolean" } },
} as const;

await runStackCommand(COMMAND, async ({ values: { json } }) => {
  const say = speaker(json);
  const stage = await TamperStage.on(say);
  const close = stoppingOnce(() => stage.close());
  const cases: Case[] = [];
  try {
    for (const { name, attack, play } of CASES) {
      const ledger = new Ledger(name, attack);
      await play(ledger, stage);
      cases.push(ledger);
      say(report(ledger));
    }
  } finally {
    await close();
  }
  const ok = cases.every(isAsExpected);
  say(
    ok
      ? "\nEvery attack was refused, each for its own reason."
      : "\nNOT everything went as it must; see above.",
  );
  if (json) console.log(JSON.stringify({ ok, cases }));
  return ok ? 0 : 1;
});

function isAsExpected({ checks }: Case): boolean {
  return checks.every(({ expected, actual }) => expected === actual);
}

function report({ name, attack, checks }: Case): string {
  const width = Math.max(...checks.map(({ what }) => what.length));
  const lines = checks.map(({ what, expected, actual }) => {
    const verdict = expected === actual ? actual : `WRONG: ${actual}, where ${expected} was to come`;
    return `    ${what.padEnd(width)}  ${verdict}`;
  });
  return [`\n  ${name}`, `    (${attack})`, ...lines].join("\n");
}
