// A development enclave that serves, in one call: the simulated platform, a signer that is born at the first
// start and restored at every one, by the proxy's courier through a development KMS that lives just as long.
import path from "node:path";
import { parseConfiguration } from "../../enclave/configuration.ts";
import { createKeyRelease, restoreEnclave } from "../../proxy/api/enclave-link/key-courier.ts";
import { createLink } from "../../proxy/api/enclave-link/link.ts";
import type { SignerPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { developmentConfiguration } from "../image/configuration.ts";
import { developmentPolicy, keptOrNewPair } from "./development-signer.ts";
import { startDevelopmentKms } from "../stand-ins/kms/server.ts";
import { DEVELOPMENT_CREDENTIAL } from "../stand-ins/kms/signature.ts";
import {
  startSimulatedEnclave,
  type SimulatedEnclave,
  type SimulatedEnclaveOptions,
} from "../stand-ins/platform/main.ts";
import { DEVELOPMENT_REGION } from "../image/development-keys.ts";

export interface ServingEnclave extends SimulatedEnclave {
  /** What it was restored from; kept in the folder, so the next start from there has the same signer. */
  readonly pair: SignerPair;
}

export async function startServingEnclave(options: SimulatedEnclaveOptions): Promise<ServingEnclave> {
  const { program = "first" } = options;
  const text = options.configuration ?? (await developmentConfiguration(undefined, program));
  const enclave = await startSimulatedEnclave(options);
  try {
    const { vsockPath, measurement } = enclave;
    const file = path.join(options.folder, "signer.json");
    const image = { program, configuration: parseConfiguration(text), measurement };
    const { pair } = await keptOrNewPair(file, vsockPath, image);
    await restoreOnce(vsockPath, pair, developmentPolicy(measurement));
    return { ...enclave, pair };
  } catch (error) {
    await enclave.stop();
    throw error;
  }
}

/** Through a development KMS with this policy. Throws CourierFault. */
export async function restoreOnce(vsockPath: string, pair: SignerPair, policy: string): Promise<void> {
  const kms = await startDevelopmentKms({ policy });
  const release = createKeyRelease({
    region: DEVELOPMENT_REGION,
    endpoint: kms.url,
    credentials: DEVELOPMENT_CREDENTIAL,
  });
  const link = createLink({ path: vsockPath, port: ENCLAVE_PORT });
  try {
    await restoreEnclave(link, pair, release);
  } finally {
    link.close();
    release.close();
    await kms.close();
  }
}
