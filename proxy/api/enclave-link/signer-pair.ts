/**
 * A signer's pair as the host keeps it: the sealed key and the birth certificate that genesis gave, and which
 * KMS key opens it. Neither is a secret by itself: only KMS opens the sealed key, and only for the enclave.
 * Nothing is verified here; the enclave does that at every restore, the operator before a signer is registered.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";

export interface SignerPair {
  readonly signer: Address;
  readonly sealedKey: Uint8Array;
  /** COSE_Sign1: the genesis document. */
  readonly birthCertificate: Uint8Array;
  /** ARN, as KMS's replies spell it. */
  readonly kmsKeyId: string;
  /** Of the image that made the key. */
  readonly configurationHash: Bytes32;
}

const bytes = z.base64().transform((text) => new Uint8Array(Buffer.from(text, "base64")));

const shape = z.strictObject({
  signer: z.string().transform((text, context) => asAddress(text) ?? unfit(context, "not an address")),
  sealedKey: bytes,
  birthCertificate: bytes,
  kmsKeyId: z
    .string()
    .regex(/^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key\/[\w-]+$/, "not the ARN of a KMS key"),
  configurationHash: z
    .string()
    .transform((text, context) => asBytes32(text) ?? unfit(context, "not 32 bytes")),
});

/** Throws for anything but a pair. */
export function parsePair(text: string): SignerPair {
  return shape.parse(JSON.parse(text));
}

export async function readPair(file: string): Promise<SignerPair> {
  return parsePair(await readFile(file, "utf8"));
}

/** What `parsePair` reads. */
export function pairText({ sealedKey, birthCertificate, ...pair }: SignerPair): string {
  const base64 = (value: Uint8Array): string => Buffer.from(value).toString("base64");
  const { signer, ...rest } = pair;
  const written = {
    signer,
    sealedKey: base64(sealedKey),
    birthCertificate: base64(birthCertificate),
    ...rest,
  };
  return `${JSON.stringify(written, undefined, 2)}\n`;
}

function unfit(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: "custom", message });
  return z.NEVER;
}
