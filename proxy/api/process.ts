/** The proxy as a process. */
import { readConfig, type Config } from "./config.ts";
import type { Logger } from "../base/logging.ts";
import { runProgram } from "../base/program.ts";
import { configHelp } from "../base/settings.ts";

/** `start` answers how to stop what it has started. */
export function runProcess(
  start: (config: Config, logger: Logger) => Promise<() => Promise<void>>,
): Promise<void> {
  const help = `Usage: node --import tsx proxy/api/main.ts\n\n${configHelp()}`;
  return runProgram({ name: "proxy", help, read: readConfig, start });
}
