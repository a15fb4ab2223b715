/** The proxy as a process. */
import { readConfig, type Config } from "./config.ts";
import type { Logger } from "./logging.ts";
import { runProgram } from "./program.ts";
import { configHelp } from "./settings.ts";

/** `start` answers how to stop what it has started. */
export function runProcess(
  start: (config: Config, logger: Logger) => Promise<() => Promise<void>>,
): Promise<void> {
  const help = `Usage: node --import tsx proxy/main.ts\n\n${configHelp()}`;
  return runProgram({ name: "proxy", help, read: readConfig, start });
}
