/** The proxy as a process: `--help`, settings that are wrong, and the signals that end it. */
import { readConfig, type Config } from "./config.ts";
import { createLogger, type Logger } from "./logging.ts";
import { ConfigError, configHelp } from "./settings.ts";

/** `start` answers how to stop what it has started. */
export async function runProcess(
  start: (config: Config, logger: Logger) => Promise<() => Promise<void>>,
): Promise<void> {
  if (process.argv.includes("--help")) {
    process.stdout.write(`Usage: node --import tsx proxy/main.ts\n\n${configHelp()}`);
    return;
  }
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
    return;
  }
  const logger = createLogger(config.logLevel);
  let stop: (() => Promise<void>) | undefined;
  try {
    stop = await start(config, logger);
  } catch (error) {
    logger.fatal({ err: error }, "the proxy cannot start");
    process.exit(1);
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
