/** From nothing to booting: the configuration and who judges by it. Whatever fails here gives an enclave that is halted. */
import { parseConfiguration } from "./configuration.ts";
import type { OpenJudge } from "./judge.ts";
import { Enclave } from "./phase.ts";
import type { Platform } from "./platform.ts";

export async function boot(
  platform: Platform,
  readConfiguration: () => Promise<string>,
  openJudge: OpenJudge,
): Promise<Enclave> {
  try {
    const text = await readConfiguration();
    const configuration = parseConfiguration(text);
    const judge = await openJudge(platform, configuration, text);
    return new Enclave({ platform, configuration, judge });
  } catch {
    // Nobody reads a log here; the host sees the phase.
    return new Enclave(undefined);
  }
}
