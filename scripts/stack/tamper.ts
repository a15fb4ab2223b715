// What stands between a tampered enclave and the pool, shown on a real stack: each attack by somebody who owns the
// host, and who refuses it for which reason. Exit code 0 only if every one was refused as it must be.
import { parseArgs } from "node:util";
import { StackError } from "../product/stack-file.ts";
import { CASES, type Case } from "./tamper/cases.ts";
import { TamperStage } from "./tamper/stage.ts";

const HELP = `Usage: npm run demo:tamper -- [options]

Starts a stack of its own (one network, in a temporary folder) and attacks its enclave: one byte changed in a copy
of it, a substituted key, a birth certificate of another sealed key, a debug-mode document, a foreign root, and a
complete old pair of a signer that was removed. Shows who refuses each and why; controls show that the honest way
works at the same place.

  --json   print the result as one JSON object, last on standard output
  --help   this text

Exit code: 0 when everything was refused (and every control worked) as it must, 1 when not, 2 for wrong arguments.`;

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { json: { type: "boolean" }, help: { type: "boolean" } } });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  // With --json, standard output carries the result alone.
  const say =
    values.json === true ? (text: string): void => void process.stderr.write(`${text}\n`) : console.log;
  const stage = await TamperStage.open(say);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= stage.close());
  const interrupted = (): void => void close().finally(() => process.exit(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  const cases: Case[] = [];
  try {
    for (const play of CASES) {
      const played = await play(stage);
      cases.push(played);
      say(report(played));
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
  if (values.json === true) console.log(JSON.stringify({ ok, cases }));
  return ok ? 0 : 1;
}

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

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS")) {
      console.error(`${(error as Error).message}\n\n${HELP}`);
      process.exit(2);
    }
    console.error(error instanceof StackError ? error.message : error);
    process.exit(1);
  },
);
