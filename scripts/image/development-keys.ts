/**
 * The development KMS's RSA keys and the development attestation root, derived from a public phrase, so that
 * every clone makes the same image configuration and measures the same. Known to everybody, as anvil's
 * accounts are: they protect nothing, and a production configuration that names one of them is refused.
 */
import {
  checkPrimeSync,
  createHash,
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
} from "node:crypto";
import { invert } from "@noble/curves/abstract/modular.js";
import { p384 } from "@noble/curves/nist.js";
import type { ProgramName } from "./measurement.ts";
import { makeRootFrom, type Authority } from "./certificates.ts";

const PHRASE = "Cloister development keys: public, and worth nothing";

export interface DevelopmentKmsKey {
  readonly privateKey: KeyObject;
  /** DER. */
  readonly spki: Uint8Array;
}

const KMS_KEYS = {
  first: once(() => kmsKey("")),
  second: once(() => kmsKey("second program's ")),
} as const satisfies Record<ProgramName, () => DevelopmentKmsKey>;

/** RSA-2048, one for each program, since a key policy names one image; made once a process. */
export const developmentKmsKey = (program: ProgramName = "first"): DevelopmentKmsKey => KMS_KEYS[program]();

/** Where the development KMS says that it is; no AWS account and no Region of AWS. */
export const DEVELOPMENT_REGION = "zz-local-1";
export const DEVELOPMENT_ACCOUNT = "000000000000";
/** Ids are as public as the keys. */
export const DEVELOPMENT_KEY_IDS: Readonly<Record<ProgramName, string>> = {
  first: "c1015ace-0000-4000-8000-000000000001",
  second: "c1015ace-0000-4000-8000-000000000002",
};
export const developmentKeyArn = (program: ProgramName): string =>
  `arn:aws:kms:${DEVELOPMENT_REGION}:${DEVELOPMENT_ACCOUNT}:key/${DEVELOPMENT_KEY_IDS[program]}`;
export const DEVELOPMENT_KEY_ARN = developmentKeyArn("first");

/** P-384, self-signed, valid from 2026 to 2046; made once a process. */
export const developmentRoot = once((): Authority => {
  const scalar = (draw("root key", 64) % (p384.Point.Fn.ORDER - 1n)) + 1n;
  const secret = p384.Point.Fn.toBytes(scalar);
  const point = p384.getPublicKey(secret, false); // 04, x, y
  const jwk = {
    kty: "EC",
    crv: "P-384",
    x: text(point.subarray(1, 49)),
    y: text(point.subarray(49)),
    d: text(secret),
  };
  return makeRootFrom({
    privateKey: createPrivateKey({ key: jwk, format: "jwk" }),
    serial: bytesOf(draw("root serial", 15) | (1n << 118n)),
    from: new Date("2026-01-01T00:00:00Z"),
    until: new Date("2046-01-01T00:00:00Z"),
    // RFC 6979, where node:crypto would take a random nonce.
    sign: (toBeSigned) => p384.sign(toBeSigned, secret, { format: "der", lowS: false }),
  });
});

// ---------------------------------------------------------------- RSA

const PRIME_BYTES = 128;
const EXPONENT = 65_537n;

function kmsKey(label: string): DevelopmentKmsKey {
  const privateKey = createPrivateKey({ key: rsaKey(label), format: "jwk" });
  const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  return { privateKey, spki: new Uint8Array(spki) };
}

function rsaKey(label: string): JsonWebKey {
  const [p, q] = [prime(`${label}first prime`), prime(`${label}second prime`)].sort((a, b) =>
    a > b ? -1 : 1,
  ) as [bigint, bigint];
  const d = invert(EXPONENT, (p - 1n) * (q - 1n));
  const parts = { n: p * q, e: EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: invert(q, p) };
  const words = Object.entries(parts).map(([name, value]) => [name, text(bytesOf(value))] as const);
  return { kty: "RSA", ...Object.fromEntries(words) };
}

/** The first prime upward from a drawn number whose two top bits are set, so that the product has 2,048 bits. */
function prime(label: string): bigint {
  let candidate = draw(label, PRIME_BYTES) | (3n << BigInt(8 * PRIME_BYTES - 2)) | 1n;
  while ((candidate - 1n) % EXPONENT === 0n || !checkPrimeSync(candidate)) candidate += 2n;
  return candidate;
}

// ---------------------------------------------------------------- the stream

function draw(label: string, bytes: number): bigint {
  const stream = createHash("shake256", { outputLength: bytes }).update(`${PHRASE}\0${label}`);
  return BigInt(`0x${stream.digest("hex")}`);
}

function bytesOf(value: bigint): Uint8Array {
  const hex = value.toString(16);
  return new Uint8Array(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex"));
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
