// The signer of a development enclave: the pair that a folder keeps, or a new one, born of this image and
// verified by the operator's own code. Nothing here could make a signer that a production operator refuses.
import { randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseConfiguration, type Configuration } from "../../enclave/configuration.ts";
import { createLink } from "../../proxy/api/enclave-link/link.ts";
import { pairText, parsePair, type SignerPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { developmentConfiguration } from "../image/configuration.ts";
import { kmsPolicy } from "../image/kms-policy.ts";
import { ENCLAVE_FOLDER, measureImage, type Measurement, type ProgramName } from "../image/measurement.ts";
import { makePair, pairFault } from "../operator/birth.ts";
import { DEVELOPMENT_ROLE } from "../stand-ins/kms/signature.ts";
import { DEVELOPMENT_ACCOUNT, developmentKeyArn } from "../image/development-keys.ts";

/** An image as a verifier knows it. */
export interface KnownImage {
  readonly program: ProgramName;
  readonly configuration: Configuration;
  readonly measurement: Measurement;
}

/** The enclave as it is built now, by default in enclave/, with the development configuration, by default of the committed keys. */
export async function developmentImage(
  enclaveFolder = ENCLAVE_FOLDER,
  verificationKeys?: string,
  program: ProgramName = "first",
): Promise<KnownImage> {
  const text = await developmentConfiguration(verificationKeys, program);
  const measurement = await measureImage(enclaveFolder, { configuration: text, program });
  return { program, configuration: parseConfiguration(text), measurement };
}

/** The production policy, for the development KMS and its one caller. */
export function developmentPolicy(measurement: Measurement): string {
  return kmsPolicy({ measurement, account: DEVELOPMENT_ACCOUNT, hostRole: DEVELOPMENT_ROLE });
}

export interface KeptPair {
  readonly pair: SignerPair;
  /** Whether it was born just now. */
  readonly isNew: boolean;
}

export interface BirthWishes {
  /** What the certificate of a new one answers. Default: drawn. */
  readonly challenge?: () => Promise<Uint8Array>;
  /** Whether a kept one is of use. Default: always. */
  readonly isUseful?: (kept: SignerPair) => Promise<boolean>;
}

/**
 * What `file` holds, when an enclave of this image can restore it; else a new pair, asked of the enclave at
 * `vsockPath`, which must be booting. A pair that another image made, or that is of no use, is kept beside it, under its
 * signer.
 */
export async function keptOrNewPair(
  file: string,
  vsockPath: string,
  { program, configuration, measurement }: KnownImage,
  {
    challenge = () => Promise.resolve(new Uint8Array(randomBytes(32))),
    isUseful = () => Promise.resolve(true),
  }: BirthWishes = {},
): Promise<KeptPair> {
  const policy = { configuration, measurements: [measurement] };
  const text = await readFile(file, "utf8").catch(() => undefined);
  const kept = text === undefined ? undefined : parsePair(text);
  if (kept !== undefined && pairFault(kept, policy) === undefined && (await isUseful(kept)))
    return { pair: kept, isNew: false };

  const link = createLink({ path: vsockPath, port: ENCLAVE_PORT });
  try {
    const pair = await makePair(
      link,
      { ...policy, challenge: await challenge() },
      developmentKeyArn(program),
    );
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    if (kept !== undefined) await rename(file, file.replace(/(\.json)?$/, `.${kept.signer}.json`));
    await writeFile(file, pairText(pair), { mode: 0o600, flag: "wx" });
    return { pair, isNew: true };
  } finally {
    link.close();
  }
}
