/** From nothing to booting: the configuration and the verifier. Whatever fails here gives an enclave that is halted. */
import { parseConfiguration } from "./configuration.ts";
import { Enclave } from "./phase.ts";
import type { Platform } from "./platform.ts";
import { startVerifierPool } from "./verifier-pool.ts";

export async function boot(platform: Platform, readConfiguration: () => Promise<string>): Promise<Enclave> {
  try {
    const configuration = parseConfiguration(await readConfiguration());
    const verifier = await startVerifierPool(platform, configuration.verificationKeys);
    return new Enclave({ platform, configuration, verifier });
  } catch {
    // Nobody reads a log here; the host sees the phase.
    return new Enclave(undefined);
  }
}
