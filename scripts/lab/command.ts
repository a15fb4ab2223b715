// What every command of this folder does with its arguments: options are read, help is told, and what cannot be is
// refused with exit code 2.
import { parseArgs, type ParseArgsConfig } from "node:util";

/** Said without a stack. */
export class UsageError extends Error {}

/** Sets the exit code to what `main` resolves with. */
export async function runCommand<const Config extends ParseArgsConfig>(
  help: string,
  config: Config,
  main: (given: ReturnType<typeof parseArgs<Config>>) => Promise<number>,
): Promise<void> {
  try {
    const options = { ...config.options, help: { type: "boolean" } } as const;
    const given = parseArgs({ ...config, options }) as ReturnType<typeof parseArgs<Config>>;
    if ("help" in given.values) console.log(help);
    else process.exitCode = await main(given);
  } catch (error) {
    const isParsing = String((error as { code?: unknown }).code).startsWith("ERR_PARSE_ARGS");
    if (!isParsing && !(error instanceof UsageError)) throw error;
    console.error(`${(error as Error).message}\nSee --help.`);
    process.exitCode = 2;
  }
}

/** The number that an option names; `otherwise` where it is absent. */
export function wholeNumber(
  option: string,
  text: string | undefined,
  otherwise: number,
  [least, most]: readonly [number, number] = [1, Number.MAX_SAFE_INTEGER],
): number {
  if (text === undefined) return otherwise;
  const number = /^\d[\d_]*$/.test(text) ? Number(text.replaceAll("_", "")) : NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`--${option} is a whole number from ${String(least)} to ${String(most)}`);
}
