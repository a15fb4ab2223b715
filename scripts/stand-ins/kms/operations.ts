/**
 * What the development KMS does with a request whose caller is known: the policy first, then the operation.
 * Holds the RSA key. With an attestation document it answers as KMS does, in an envelope that only the
 * enclave behind the document opens.
 */
import { constants, privateDecrypt } from "node:crypto";
import { z } from "zod";
import { verifyAttestation } from "../../../shared/protocol/attestation-document.ts";
import {
  DEVELOPMENT_ACCOUNT,
  DEVELOPMENT_KEY_IDS,
  developmentKeyArn,
  type DevelopmentKmsKey,
} from "../../image/development-keys.ts";
import { PROGRAM_NAMES, type ProgramName } from "../../image/measurement.ts";
import { sealEnvelope, type ContentForm } from "./envelope.ts";
import { decide, type KeyPolicy } from "./policy.ts";

/** How old a document may be; AWS's own bound is five minutes too. */
const MAX_DOCUMENT_AGE_MS = 5 * 60_000;
const ALGORITHM = "RSAES_OAEP_SHA_256";
const KEY_KIND = {
  KeySpec: "RSA_2048",
  KeyUsage: "ENCRYPT_DECRYPT",
  EncryptionAlgorithms: [ALGORITHM],
} as const;

/** Becomes an error of the KMS protocol: `name` as AWS spells it, status 400. */
export class KmsRefusal extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

export interface KmsState {
  /** Whose key it is. */
  readonly program: ProgramName;
  readonly key: DevelopmentKmsKey;
  readonly policy: KeyPolicy;
  /** SHA-256 of the DER of the root certificates that attestation documents may lead to. */
  readonly roots: readonly string[];
  readonly nowMs: number;
  /** Of the envelope, if the answer is one. */
  readonly contentForm: ContentForm;
}

export interface KmsRequest {
  /** ARN of the caller. */
  readonly principal: string;
  /** `Decrypt`, `GetPublicKey` … */
  readonly operation: string;
  readonly body: unknown;
}

/** Whose key a request names, the first one's where it names none. Throws KmsRefusal. */
export function keyNamed(body: unknown): ProgramName {
  const { KeyId } = read(keyed, body);
  if (KeyId === undefined) return "first";
  for (const program of PROGRAM_NAMES)
    if ([DEVELOPMENT_KEY_IDS[program], developmentKeyArn(program)].includes(KeyId)) return program;
  throw new KmsRefusal("NotFoundException", "there is no such key");
}

/** The reply's JSON. Throws KmsRefusal. */
export function answer(state: KmsState, { principal, operation, body }: KmsRequest): object {
  const request = read(keyed, body);
  const arn = developmentKeyArn(state.program);
  const context =
    request.Recipient === undefined ? NOT_ATTESTED : attested(state, request.Recipient.AttestationDocument);

  const decision = decide(state.policy, {
    principal,
    action: `kms:${operation}`,
    context: context.conditions,
  });
  if (!decision.allowed) {
    const why =
      decision.by === undefined
        ? "no statement of the key policy allows it"
        : `key policy statement ${decision.by}`;
    throw new KmsRefusal("AccessDeniedException", `${principal} may not perform kms:${operation}: ${why}`);
  }
  switch (operation) {
    case "Decrypt":
      return decrypt(state, read(decryption, body), context.publicKey);
    case "GetPublicKey":
      return { KeyId: arn, PublicKey: base64(state.key.spki), ...KEY_KIND };
    case "DescribeKey":
      return { KeyMetadata: { ...METADATA, Arn: arn, KeyId: DEVELOPMENT_KEY_IDS[state.program] } };
    default:
      throw new KmsRefusal("UnknownOperationException", "the development KMS does not have this operation");
  }
}

const METADATA = {
  AWSAccountId: DEVELOPMENT_ACCOUNT,
  CreationDate: Date.parse("2026-01-01T00:00:00Z") / 1000,
  Description: "Cloister development key: public, and worth nothing",
  Enabled: true,
  KeyState: "Enabled",
  KeyManager: "CUSTOMER",
  MultiRegion: false,
  Origin: "AWS_KMS",
  ...KEY_KIND,
};

// ---------------------------------------------------------------- Decrypt

function decrypt(
  { program, key, contentForm }: KmsState,
  request: z.infer<typeof decryption>,
  recipient: Uint8Array | undefined,
): object {
  if (request.EncryptionAlgorithm !== ALGORITHM)
    throw new KmsRefusal("InvalidKeyUsageException", `this key decrypts ${ALGORITHM} only`);
  let plaintext: Uint8Array;
  try {
    plaintext = privateDecrypt(
      { key: key.privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" },
      request.CiphertextBlob,
    );
  } catch {
    throw new KmsRefusal("InvalidCiphertextException", "the ciphertext is not one of this key");
  }
  const reply = { KeyId: developmentKeyArn(program), EncryptionAlgorithm: ALGORITHM };
  if (request.Recipient === undefined) return { ...reply, Plaintext: base64(plaintext) };
  if (recipient === undefined)
    throw new KmsRefusal("ValidationException", "the attestation document has no public key");
  return { ...reply, CiphertextForRecipient: base64(sealEnvelope(plaintext, recipient, contentForm)) };
}

interface Attested {
  readonly conditions: ReadonlyMap<string, string>;
  readonly publicKey: Uint8Array | undefined;
}
const NOT_ATTESTED: Attested = { conditions: new Map(), publicKey: undefined };

/** AWS documents the condition keys, not the errors for a bad document: these names are our choice. */
function attested({ roots, nowMs }: KmsState, document: Uint8Array): Attested {
  const verified = verifyAttestation(document, { roots, at: nowMs, maxAgeMs: MAX_DOCUMENT_AGE_MS });
  // KMS takes a document of debug mode and compares its zeros with the policy; the outcome is the same.
  if (verified === "DEBUG_MODE")
    throw new KmsRefusal("AccessDeniedException", "the attestation document is of debug mode: DEBUG_MODE");
  if (typeof verified === "string")
    throw new KmsRefusal("ValidationException", `the attestation document is not valid: ${verified}`);
  const registers = [...verified.pcrs].map(
    ([index, value]) =>
      [`kms:RecipientAttestation:PCR${String(index)}`, Buffer.from(value).toString("hex")] as const,
  );
  return {
    conditions: new Map([
      ...registers,
      ["kms:RecipientAttestation:ImageSha384", verified.measurement.pcr0] as const,
    ]),
    publicKey: verified.publicKey,
  };
}

// ---------------------------------------------------------------- shapes

/** Limits as in AWS's API reference. */
const blob = (most: number) =>
  z
    .base64()
    .transform((text) => new Uint8Array(Buffer.from(text, "base64")))
    .refine(({ length }) => length > 0 && length <= most, { message: `1 to ${String(most)} bytes` });
const keyed = z.object({
  KeyId: z.string().optional(),
  Recipient: z
    .object({ AttestationDocument: blob(262_144), KeyEncryptionAlgorithm: z.literal(ALGORITHM) })
    .optional(),
});
const decryption = keyed.extend({
  CiphertextBlob: blob(6_144),
  // AWS's default means a symmetric key.
  EncryptionAlgorithm: z.string().default("SYMMETRIC_DEFAULT"),
});

function read<S extends z.ZodType>(shape: S, body: unknown): z.output<S> {
  const result = shape.safeParse(body);
  if (result.success) return result.data;
  const [first] = result.error.issues;
  throw new KmsRefusal("ValidationException", `${first?.path.join(".") ?? ""}: ${first?.message ?? ""}`);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
