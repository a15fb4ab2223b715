/**
 * X.509 certificates for simulated attestation documents: a test root of our own, an intermediate, and
 * short-lived leaves, all P-384 with ECDSA and SHA-384 as in AWS's chain. Development only: nobody but
 * a development configuration may pin this root.
 */
import {
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from "node:crypto";

export interface Authority {
  readonly name: string;
  readonly privateKey: KeyObject;
  readonly certificate: Uint8Array;
}

const DAY_MS = 86_400_000;
export const ROOT_NAME = "Cloister development root (not for production)";

/** A root of fresh chance, foreign to every configuration. */
export function makeRoot(now: Date): Authority {
  return issue(ROOT_NAME, undefined, { authority: true, from: now, lifeMs: 3650 * DAY_MS });
}

export interface RootParts extends Pick<Terms, "serial" | "from" | "until"> {
  readonly privateKey: KeyObject;
  /** DER of an ECDSA signature over SHA-384. */
  readonly sign: (toBeSigned: Uint8Array) => Uint8Array;
}

/** A root of which nothing is left to chance: the same parts give the same bytes. */
export function makeRootFrom({ privateKey, sign, ...validity }: RootParts): Authority {
  const terms = { issuer: ROOT_NAME, name: ROOT_NAME, authority: true, ...validity };
  return { name: ROOT_NAME, privateKey, certificate: certificateOf(terms, privateKey, sign) };
}

export function makeIntermediate(root: Authority, now: Date): Authority {
  return issue("Cloister development platform", root, { authority: true, from: now, lifeMs: 20 * DAY_MS });
}

/** Three hours, as Nitro's leaves live. */
export function makeLeaf(issuer: Authority, name: string, now: Date): Authority {
  return issue(name, issuer, { authority: false, from: now, lifeMs: DAY_MS / 8 });
}

export function toPem(certificate: Uint8Array): string {
  return new X509Certificate(certificate).toString();
}

function issue(
  name: string,
  issuer: Authority | undefined,
  { authority, from, lifeMs }: { readonly authority: boolean; readonly from: Date; readonly lifeMs: number },
): Authority {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
  const serial = new Uint8Array(randomBytes(16));
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  const terms: Terms = {
    ...{ issuer: issuer?.name ?? name, name, authority, serial },
    // A minute back, for a verifier whose clock is behind.
    from: new Date(from.getTime() - 60_000),
    until: new Date(from.getTime() + lifeMs),
  };
  const signer = issuer?.privateKey ?? privateKey;
  const signWith = (bytes: Uint8Array): Uint8Array => new Uint8Array(sign("sha384", bytes, signer));
  return { name, privateKey, certificate: certificateOf(terms, privateKey, signWith) };
}

interface Terms {
  readonly issuer: string;
  readonly name: string;
  readonly authority: boolean;
  /** RFC 5280: positive, at most 20 bytes. */
  readonly serial: Uint8Array;
  readonly from: Date;
  readonly until: Date;
}

function certificateOf(
  { issuer, name, authority, serial, from, until }: Terms,
  subject: KeyObject,
  signWith: (toBeSigned: Uint8Array) => Uint8Array,
): Uint8Array {
  const toBeSigned = sequence(
    tagged(0xa0, integer(Uint8Array.of(2))), // version 3
    integer(serial),
    ECDSA_WITH_SHA384,
    commonName(issuer),
    sequence(time(from), time(until)),
    commonName(name),
    new Uint8Array(createPublicKey(subject).export({ type: "spki", format: "der" })),
    tagged(0xa3, sequence(...extensions(authority))),
  );
  return sequence(toBeSigned, ECDSA_WITH_SHA384, bitString(signWith(toBeSigned), 0));
}

/** RFC 5280 4.2.1.9 and 4.2.1.3, both critical. */
function extensions(authority: boolean): Uint8Array[] {
  const basicConstraints = authority ? sequence(TRUE) : sequence();
  // keyCertSign and cRLSign are bits 5 and 6, digitalSignature is bit 0.
  const keyUsage = authority ? bitString(Uint8Array.of(0x06), 1) : bitString(Uint8Array.of(0x80), 7);
  return [
    sequence(objectId(0x55, 0x1d, 0x13), TRUE, tagged(0x04, basicConstraints)),
    sequence(objectId(0x55, 0x1d, 0x0f), TRUE, tagged(0x04, keyUsage)),
  ];
}

// ---------------------------------------------------------------- DER (X.690)

function tagged(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(contents);
  const length =
    body.length < 0x80
      ? [body.length]
      : body.length < 0x100
        ? [0x81, body.length]
        : [0x82, body.length >> 8, body.length & 0xff];
  return new Uint8Array(Buffer.concat([Uint8Array.of(tag, ...length), body]));
}

const sequence = (...parts: readonly Uint8Array[]): Uint8Array => tagged(0x30, ...parts);
const integer = (positive: Uint8Array): Uint8Array => tagged(0x02, positive);
const objectId = (...encoded: readonly number[]): Uint8Array => tagged(0x06, Uint8Array.from(encoded));
const bitString = (bytes: Uint8Array, unusedBits: number): Uint8Array =>
  tagged(0x03, Uint8Array.of(unusedBits), bytes);
const TRUE = tagged(0x01, Uint8Array.of(0xff));

/** 1.2.840.10045.4.3.3 */
const ECDSA_WITH_SHA384 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03));

/** 2.5.4.3, UTF8String */
function commonName(name: string): Uint8Array {
  return sequence(
    tagged(0x31, sequence(objectId(0x55, 0x04, 0x03), tagged(0x0c, new TextEncoder().encode(name)))),
  );
}

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280 4.1.2.5). */
function time(date: Date): Uint8Array {
  const digits = date
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:T]/g, "");
  const utc = date.getUTCFullYear() < 2050;
  return tagged(utc ? 0x17 : 0x18, new TextEncoder().encode(utc ? digits.slice(2) : digits));
}
