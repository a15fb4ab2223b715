/**
 * WebAuthn as JSON, in the spelling of the specification (PublicKeyCredential.toJSON): options go to the browser as
 * they are, answers come back as they are. Bytes are base64url. What is in them is judged by the server's WebAuthn
 * library; these shapes bound it.
 */
import * as z from "../../../shared/api/zod.ts";

const bytes = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[A-Za-z0-9_-]*$/, "base64url");
const credentialId = bytes(1366).min(1);

const descriptor = z.object({
  id: z.string(),
  type: z.literal("public-key"),
  transports: z.array(z.string()).optional(),
});
const verification = z.enum(["required", "preferred", "discouraged"]);

/** `optionsJSON` of startRegistration. */
export const creationOptions = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string(), name: z.string() }),
  user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
  pubKeyCredParams: z.array(z.object({ alg: z.int(), type: z.literal("public-key") })),
  timeout: z.number().optional(),
  attestation: z.literal("none"),
  excludeCredentials: z.array(descriptor),
  authenticatorSelection: z.object({
    residentKey: z.literal("required"),
    requireResidentKey: z.literal(true),
    userVerification: z.literal("required"),
  }),
});
export type CreationOptions = z.infer<typeof creationOptions>;

/** `optionsJSON` of startAuthentication. Without `allowCredentials` the browser offers the passkeys that it has. */
export const requestOptions = z.object({
  challenge: z.string(),
  rpId: z.string(),
  timeout: z.number().optional(),
  userVerification: verification,
  allowCredentials: z.array(descriptor).optional(),
});
export type RequestOptions = z.infer<typeof requestOptions>;

/** What a browser adds and the server does not look at is dropped here. */
const credential = {
  id: credentialId,
  rawId: credentialId,
  type: z.literal("public-key"),
  authenticatorAttachment: z.enum(["platform", "cross-platform"]).nullish(),
  clientExtensionResults: z.looseObject({}).default({}),
};

/** Result of startRegistration. */
export const registrationResponse = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: bytes(4096).min(1),
    attestationObject: bytes(16_384).min(1),
    transports: z.array(z.string().max(32)).max(8).optional(),
  }),
});
export type RegistrationResponse = z.infer<typeof registrationResponse>;

/** Result of startAuthentication. */
export const authenticationResponse = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: bytes(4096).min(1),
    authenticatorData: bytes(4096).min(1),
    signature: bytes(4096).min(1),
    userHandle: bytes(128).nullish(),
  }),
});
export type AuthenticationResponse = z.infer<typeof authenticationResponse>;
