// Our programs in processes of their own, from the bundle where there is one: it starts in less than a third of the time.
// `test/e2e/commands.test.ts` runs them as `npm run` does.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { nodeArguments } from "../../scripts/base/programs.ts";
import { PROJECT_ROOT } from "./tree.ts";

export interface Ended {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  /** Both, in the order in which they came. */
  readonly said: string;
}

export interface Surroundings {
  /** Beside the PATH, or instead of it; nothing else is passed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** All that its standard input holds. */
  readonly input?: string;
  /** For Node itself. */
  readonly flags?: readonly string[];
}

/** `program` is a path in the repository. Whoever starts one that may not end by itself has to kill it. */
export async function startProgram(
  program: string,
  words: readonly string[],
  { env = {}, input = "", flags = [] }: Surroundings = {},
): Promise<{ readonly child: ChildProcess; readonly ended: Promise<Ended> }> {
  const args = [...flags, ...(await nodeArguments(program)), ...words];
  const child = spawn(process.execPath, args, {
    cwd: PROJECT_ROOT,
    env: { PATH: process.env["PATH"] ?? "", ...env },
    stdio: "pipe",
  });
  let [out, err, said] = ["", "", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    said += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    said += text;
  });
  // It may end without having read.
  child.stdin.on("error", () => undefined).end(input);
  const ended = once(child, "close").then(([code, signal]): Ended => {
    return { code: code as number | null, signal: signal as NodeJS.Signals | null, out, err, said };
  });
  return { child, ended };
}

export async function runProgram(...words: Parameters<typeof startProgram>): Promise<Ended> {
  return (await startProgram(...words)).ended;
}
