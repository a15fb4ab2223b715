// How the commands of the local stack begin and end: options are read, --help is answered, what was typed wrong is said
// with the help (exit code 2), and a failure ends with 1.
import { parseArgs, type ParseArgsConfig } from "node:util";
import { StackError } from "../product/stack-file.ts";

/** What was typed is wrong. */
export class UsageError extends Error {}

/** Ends the process with what `main` resolves with. `failure` is what is said of an error. */
export async function runCommand<T extends ParseArgsConfig>(
  { help, failure = inOwnWords, ...config }: T & { help: string; failure?: (error: unknown) => unknown },
  main: (typed: ReturnType<typeof parseArgs<T>>) => Promise<number>,
): Promise<void> {
  try {
    const typed = parseArgs(config as unknown as T);
    if (!("help" in typed.values)) process.exit(await main(typed));
    console.log(help);
    process.exit(0);
  } catch (error) {
    const isUsage = error instanceof UsageError || isOfParseArgs(error);
    console.error(isUsage ? `${error.message}\n\n${help}` : failure(error));
    process.exit(isUsage ? 2 : 1);
  }
}

/** A StackError is meant for the person at the keyboard; anything else shows where it came from. */
function inOwnWords(error: unknown): unknown {
  return error instanceof StackError ? error.message : error;
}

function isOfParseArgs(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** With --json, standard output carries the result alone. */
export function speaker(json: boolean): (text: string) => void {
  return json ? (text) => void process.stderr.write(`${text}\n`) : console.log;
}

/** Resolves at Ctrl-C. */
export function interruption(): Promise<"interrupted"> {
  return new Promise((resolve) => {
    const interrupt = (): void => resolve("interrupted");
    process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  });
}

/** Stops once, however often it is called; at Ctrl-C too, and the process ends then. */
export function stoppingOnce(stop: () => Promise<void>): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const once = (): Promise<void> => (stopping ??= stop());
  const interrupted = (): void => void once().finally(() => process.exit(130));
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted);
  return once;
}
