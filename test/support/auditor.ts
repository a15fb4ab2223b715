/** `npm run audit`, as a reviewer runs it. */
import { runProgram } from "./program.ts";

export interface Audit {
  readonly code: number | null;
  readonly findings: readonly { readonly what: string; readonly ok: boolean; readonly detail: string }[];
  /** Whether they hold, of the findings that `words` fit. */
  about(words: RegExp): boolean[];
}

export async function audited(...options: readonly string[]): Promise<Audit> {
  const { code, out, err } = await runProgram("scripts/audit/main.ts", ["--json", ...options]);
  const line = out.trim().split("\n").at(-1) ?? "";
  if (!line.startsWith("{")) throw new Error(`no report, exit code ${String(code)}: ${err}`);
  const { findings } = JSON.parse(line) as Audit;
  return {
    ...{ code, findings },
    about: (words) => findings.filter(({ what }) => words.test(what)).map(({ ok }) => ok),
  };
}
