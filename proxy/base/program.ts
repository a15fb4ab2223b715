/** One of the proxy's programs as a process: `--help`, settings that are wrong, and the signals that end it. */
import { createLogger, type Logger } from "./logging.ts";
import { ConfigError, type Environment } from "./settings.ts";

export interface Program<Config extends { readonly logLevel: string }> {
  /** As it stands in its log. */
  readonly name: string;
  readonly help: string;
  /** Throws ConfigError. */
  readonly read: (environment: Environment) => Config;
  /** Answers how to stop what it has started. */
  readonly start: (config: Config, logger: Logger) => Promise<() => Promise<void>>;
}

export async function runProgram<Config extends { readonly logLevel: string }>(
  program: Program<Config>,
): Promise<void> {
  const { name, help, read, start } = program;
  if (process.argv.includes("--help")) {
    process.stdout.write(help);
    return;
  }
  let config: Config;
  try {
    config = read(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return;
  }
  const logger = createLogger(config.logLevel, undefined, name);
  let stop: (() => Promise<void>) | undefined;
  try {
    stop = await start(config, logger);
  } catch (error) {
    logger.fatal({ err: error }, `the ${name} cannot start`);
    const { exitCode } = Object(error) as { readonly exitCode?: unknown };
    process.exit(typeof exitCode === "number" ? exitCode : 1);
  }
  let isStopping = false;
  const end = (signal: NodeJS.Signals): void => {
    // A second signal means now.
    if (isStopping) process.exit(1);
    isStopping = true;
    logger.info({ signal }, "stopping");
    stop().then(
      () => {
        logger.info("stopped");
        process.exit(0);
      },
      (error: unknown) => {
        logger.fatal({ err: error }, "the stop failed");
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}
