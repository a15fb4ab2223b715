/**
 * Checks the Signature Version 4 of a request (AWS's "Signing AWS API requests") for the one credential that
 * the development KMS knows. The credential is public: what is exercised is that the unmodified client signs.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { DEVELOPMENT_ACCOUNT, DEVELOPMENT_REGION } from "../../image/development-keys.ts";

/** Worth nothing outside a development KMS. */
export const DEVELOPMENT_CREDENTIAL = {
  accessKeyId: "CLOISTERDEVELOPMENT0",
  secretAccessKey: "public-and-worth-nothing/development-KMS",
} as const;
/** Whom a good signature is from. */
export const DEVELOPMENT_ROLE = `arn:aws:iam::${DEVELOPMENT_ACCOUNT}:role/cloister-proxy`;

const ALGORITHM = "AWS4-HMAC-SHA256";
const MAX_SKEW_MS = 5 * 60_000;

export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

/** As AWS names them. */
export type SignatureFault =
  "MissingAuthenticationTokenException" | "UnrecognizedClientException" | "InvalidSignatureException";

/** Undefined when the signature holds. */
export function signatureFault(request: SignedRequest, nowMs: number): SignatureFault | undefined {
  const authorization = request.headers.authorization;
  if (authorization === undefined) return "MissingAuthenticationTokenException";
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      authorization,
    );
  const [, credential = "", signedHeaders = "", signature = ""] = parts ?? [];
  const [accessKeyId, ...scope] = credential.split("/");
  if (accessKeyId !== DEVELOPMENT_CREDENTIAL.accessKeyId) return "UnrecognizedClientException";

  const stamp = single(request.headers["x-amz-date"]);
  const [day = ""] = scope;
  const isOurs = scope.join("/") === `${day}/${DEVELOPMENT_REGION}/kms/aws4_request`;
  if (!isOurs || !stamp.startsWith(`${day}T`) || !isRecent(stamp, nowMs)) return "InvalidSignatureException";

  const names = signedHeaders.split(";");
  const mustBeSigned = ["host", ...Object.keys(request.headers).filter((name) => name.startsWith("x-amz-"))];
  if (!mustBeSigned.every((name) => names.includes(name))) return "InvalidSignatureException";

  const bodyHash = sha256(request.body);
  const claimedHash = request.headers["x-amz-content-sha256"];
  if (claimedHash !== undefined && claimedHash !== bodyHash) return "InvalidSignatureException";
  const canonical = [
    request.method,
    request.path,
    "", // no query
    ...names.map((name) => `${name}:${single(request.headers[name]).trim().replace(/ +/g, " ")}`),
    "",
    signedHeaders,
    bodyHash,
  ].join("\n");
  const toBeSigned = [ALGORITHM, stamp, scope.join("/"), sha256(canonical)].join("\n");
  const key = scope.reduce<Uint8Array>(
    (secret, part) => hmac(secret, part),
    Buffer.from(`AWS4${DEVELOPMENT_CREDENTIAL.secretAccessKey}`),
  );
  const isGood = timingSafeEqual(hmac(key, toBeSigned), Buffer.from(signature, "hex"));
  return isGood ? undefined : "InvalidSignatureException";
}

/** `20260301T123456Z` */
function isRecent(stamp: string, nowMs: number): boolean {
  const at = Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  return Math.abs(nowMs - at) <= MAX_SKEW_MS;
}

function single(value: string | readonly string[] | undefined): string {
  return typeof value === "string" ? value : (value ?? []).join(",");
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

function hmac(key: Uint8Array, text: string): Uint8Array {
  return createHmac("sha256", key).update(text).digest();
}
