/**
 * Makes the text of an image's configuration.json from its parts. Refuses for production whatever is known to
 * everybody: development roots, the development KMS key, and verification keys that one party made.
 */
import { createHash, X509Certificate } from "node:crypto";
import { parseConfiguration, type Configuration } from "../../enclave/configuration.ts";
import {
  benchmarkKeyAmong,
  developmentKeyAmong,
  developmentKeyHashes,
} from "../../proxy/base/chain/development-keys.ts";
import { AWS_NITRO_ROOT } from "../../shared/client/base/attestation.ts";
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";
import { readKeyFiles } from "../build/circuits/artefacts.ts";
import { ROOT_NAME } from "./certificates.ts";
import { developmentKmsKey, developmentRoot } from "./development-keys.ts";
import type { ProgramName } from "./measurement.ts";

export { AWS_NITRO_ROOT };

export interface ConfigurationParts {
  /** SHA-256 of the root certificate's DER, 64 hex digits. */
  readonly attestationRoot: string;
  /** SPKI DER of an RSA-2048 key. */
  readonly kmsPublicKey: Uint8Array;
  /** snarkjs's JSON by kind. */
  readonly verificationKeys: Readonly<Record<Kind, unknown>>;
}

export interface ProductionParts {
  /** SPKI DER, as KMS's GetPublicKey gives it. */
  readonly kmsPublicKey: Uint8Array;
  /** Holds `<kind>.json` of a ceremony. */
  readonly keyFolder: string;
  /** DER of another root than AWS's own. */
  readonly rootCertificate?: Uint8Array;
}

/** Throws for parts that an enclave would not take. One text for the same parts, wherever it is made. */
export function configurationText(parts: ConfigurationParts): string {
  const text = `${JSON.stringify(
    {
      attestationRoot: parts.attestationRoot,
      kmsPublicKey: Buffer.from(parts.kmsPublicKey).toString("base64"),
      verificationKeys: Object.fromEntries(KIND_NAMES.map((kind) => [kind, parts.verificationKeys[kind]])),
    },
    null,
    2,
  )}\n`;
  parseConfiguration(text);
  return text;
}

/**
 * Every part is in this tree, so every clone makes the same; with another folder of keys it is another image. Each program
 * has a KMS key of its own.
 */
export async function developmentConfiguration(
  keyFolder?: string,
  program: ProgramName = "first",
): Promise<string> {
  return configurationText({
    attestationRoot: fingerprint(developmentRoot().certificate),
    kmsPublicKey: developmentKmsKey(program).spki,
    verificationKeys: await readKeyFiles(keyFolder),
  });
}

/** Throws for parts that are for development, each for its own reason. */
export async function productionConfiguration(parts: ProductionParts): Promise<string> {
  // By its name too: every simulated platform of this project, older ones with it, calls its root so.
  if (parts.rootCertificate && new X509Certificate(parts.rootCertificate).subject.includes(ROOT_NAME))
    throw new Error("the attestation root is a development root: anybody can make documents under it");
  const text = configurationText({
    attestationRoot: parts.rootCertificate ? fingerprint(parts.rootCertificate) : AWS_NITRO_ROOT,
    kmsPublicKey: parts.kmsPublicKey,
    verificationKeys: await readKeyFiles(parts.keyFolder),
  });
  await refuseDevelopment(parseConfiguration(text));
  return text;
}

/** For a configuration that is there already. Throws when it names anything that is for development. */
export async function refuseDevelopment(configuration: Configuration): Promise<void> {
  if (configuration.attestationRoot === fingerprint(developmentRoot().certificate))
    throw new Error("the attestation root is the development root: anybody can make documents under it");
  const publicKeys = [developmentKmsKey("first"), developmentKmsKey("second")].map(({ spki }) => spki);
  if (publicKeys.some((spki) => configuration.kmsKeyHash === `0x${fingerprint(spki)}`))
    throw new Error("the KMS key is the development key: anybody can open what is sealed to it");
  const keys = new Map(KIND_NAMES.map((kind) => [kind, configuration.verificationKeys[kind]]));
  const open = benchmarkKeyAmong(keys);
  if (open !== undefined)
    throw new Error(`the ${open} key is a benchmark key, under which everybody can forge proofs`);
  const kind = developmentKeyAmong(
    new Map(Object.entries(configuration.verifyingKeyHashes)),
    await developmentKeyHashes(),
  );
  if (kind !== undefined)
    throw new Error(`the ${kind} key is a development key: whoever made it can forge proofs`);
}

function fingerprint(der: Uint8Array): string {
  return createHash("sha256").update(der).digest("hex");
}
