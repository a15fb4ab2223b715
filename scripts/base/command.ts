// What commands do alike with their arguments: options are read, --help is answered, what was typed wrong is said with the
// exit code 2, and a failure ends with 1.
import { parseArgs, type ParseArgsConfig } from "node:util";

/** What was typed is wrong; said without a stack. */
export class UsageError extends Error {}

/** Ends the process with what `main` resolves with. `failure` is what is said of an error. */
export async function runCommand<T extends ParseArgsConfig>(
  {
    help,
    failure = (error) => error,
    ...config
  }: T & { help: string; failure?: (error: unknown) => unknown },
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

function isOfParseArgs(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
}

/** What an option names; 10_000 is read as well. */
export function wholeNumber(option: string, text: string, least = 0, most = Number.MAX_SAFE_INTEGER): number {
  const number = /^(0|[1-9][0-9_]*)$/.test(text) ? Number(text.replaceAll("_", "")) : NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`${option} takes a whole number from ${String(least)} to ${String(most)}`);
}
