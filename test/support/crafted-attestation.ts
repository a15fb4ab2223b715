// Attestation documents under a root of our own, in which every part can be made wrong: certificates
// written field by field, a chain as AWS's (root, region, zone, leaf), payload and COSE envelope.
import { createHash, createPublicKey, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import { concatBytes, mustFromHex } from "../../shared/protocol/bytes.ts";
import { encodeCbor, type Cbor } from "../../shared/protocol/cbor.ts";

// ---------------------------------------------------------------- DER

export function der(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const body = concatBytes(...contents);
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return concatBytes(Uint8Array.of(tag, ...size), body);
}

export const hex = (digits: string): Uint8Array => mustFromHex(`0x${digits}`);
export const sequence = (...parts: readonly Uint8Array[]): Uint8Array => der(0x30, ...parts);
const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

/** `Date` at its border: the form a certificate of that year has to use. */
export function time(date: Date): Uint8Array {
  const digits = `${date.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`;
  return date.getUTCFullYear() < 2050 ? der(0x17, ascii(digits.slice(2))) : der(0x18, ascii(digits));
}

export const utcTime = (text: string): Uint8Array => der(0x17, ascii(text));
export const generalizedTime = (text: string): Uint8Array => der(0x18, ascii(text));

// ---------------------------------------------------------------- certificates

export const ECDSA_WITH_SHA384 = hex("300a06082a8648ce3d040303");
export const ECDSA_WITH_SHA256 = hex("300a06082a8648ce3d040302");

/** Identifier in hex, value as it stands in the octet string. */
export function extension(id: string, critical: boolean, value: Uint8Array): Uint8Array {
  return sequence(der(0x06, hex(id)), ...(critical ? [hex("0101ff")] : []), der(0x04, value));
}

export const BASIC_CONSTRAINTS = "551d13";
export const KEY_USAGE = "551d0f";
export const authority = (pathLength?: number): Uint8Array =>
  extension(
    BASIC_CONSTRAINTS,
    true,
    pathLength === undefined
      ? hex("30030101ff")
      : sequence(hex("0101ff"), der(0x02, Uint8Array.of(pathLength))),
  );
export const endEntity = (): Uint8Array => extension(BASIC_CONSTRAINTS, true, hex("3000"));
/** digitalSignature, keyCertSign, cRLSign, as AWS's root. */
export const authorityUsage = (): Uint8Array => extension(KEY_USAGE, true, hex("03020186"));
/** digitalSignature, nonRepudiation, not critical, as AWS's leaves. */
export const leafUsage = (): Uint8Array => extension(KEY_USAGE, false, hex("030206c0"));

export interface CertificateParts {
  readonly version: Uint8Array;
  readonly serial: Uint8Array;
  readonly algorithm: Uint8Array;
  readonly outerAlgorithm: Uint8Array;
  readonly issuer: string;
  readonly from: Uint8Array;
  readonly until: Uint8Array;
  /** Instead of from and until. */
  readonly validity?: Uint8Array;
  readonly subject: string;
  readonly key: Uint8Array;
  /** Between key and extensions. */
  readonly uniqueIds?: Uint8Array;
  readonly extensions: readonly Uint8Array[];
  readonly signer: KeyObject;
  readonly hash: "sha384" | "sha256";
  readonly unusedSignatureBits: number;
  /** Applied to the finished certificate. */
  readonly alter?: (certificate: Uint8Array) => Uint8Array;
}

export function certificateOf(parts: CertificateParts): Uint8Array {
  const toBeSigned = sequence(
    parts.version,
    parts.serial,
    parts.algorithm,
    nameOf(parts.issuer),
    parts.validity ?? sequence(parts.from, parts.until),
    nameOf(parts.subject),
    parts.key,
    parts.uniqueIds ?? new Uint8Array(0),
    der(0xa3, sequence(...parts.extensions)),
  );
  const signature = der(
    0x03,
    Uint8Array.of(parts.unusedSignatureBits),
    sign(parts.hash, toBeSigned, parts.signer),
  );
  const certificate = sequence(toBeSigned, parts.outerAlgorithm, signature);
  return parts.alter?.(certificate) ?? certificate;
}

function nameOf(commonName: string): Uint8Array {
  return sequence(der(0x31, sequence(hex("0603550403"), der(0x0c, ascii(commonName)))));
}

export interface KeyPair {
  readonly privateKey: KeyObject;
  readonly spki: Uint8Array;
}

export function ecKey(namedCurve: "P-384" | "P-256" = "P-384"): KeyPair {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve });
  return {
    privateKey,
    spki: new Uint8Array(createPublicKey(privateKey).export({ type: "spki", format: "der" })),
  };
}

// ---------------------------------------------------------------- the chain

export const NOW = Date.parse("2026-03-01T12:00:00Z");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ROLES = ["root", "region", "zone", "leaf"] as const;
export type Role = (typeof ROLES)[number];

/** One set of keys for all: making them takes longer than all else here. */
export const KEYS: Readonly<Record<Role | "foreign", KeyPair>> = {
  root: ecKey(),
  region: ecKey(),
  zone: ecKey(),
  leaf: ecKey(),
  foreign: ecKey(),
};

const LIFE: Readonly<Record<Role, readonly [number, number]>> = {
  root: [NOW - 3000 * DAY, NOW + 8000 * DAY],
  region: [NOW - 10 * DAY, NOW + 10 * DAY],
  zone: [NOW - DAY, NOW + DAY],
  leaf: [NOW - HOUR, NOW + 2 * HOUR],
};

const EXTENSIONS: Readonly<Record<Role, readonly Uint8Array[]>> = {
  root: [authority(), authorityUsage()],
  region: [authority(1), authorityUsage()],
  zone: [authority(0), authorityUsage()],
  leaf: [endEntity(), leafUsage()],
};

export function partsOf(role: Role, changes: Partial<CertificateParts> = {}): CertificateParts {
  const issuer = ROLES[Math.max(ROLES.indexOf(role) - 1, 0)]!;
  const [from, until] = LIFE[role];
  return {
    version: hex("a003020102"),
    serial: hex("020101"),
    algorithm: ECDSA_WITH_SHA384,
    outerAlgorithm: ECDSA_WITH_SHA384,
    issuer,
    from: time(new Date(from)),
    until: time(new Date(until)),
    subject: role,
    key: KEYS[role].spki,
    extensions: EXTENSIONS[role],
    signer: KEYS[issuer].privateKey,
    hash: "sha384",
    unusedSignatureBits: 0,
    ...changes,
  };
}

export type ChainChanges = Partial<Record<Role, Partial<CertificateParts>>>;

/** Made once: a second signature over the same would be another root. */
const SOUND = new Map(ROLES.map((role) => [role, certificateOf(partsOf(role))]));

/** Root first, leaf last. */
export function chainOf(changes: ChainChanges = {}): readonly Uint8Array[] {
  return ROLES.map((role) => {
    const change = changes[role];
    return change === undefined ? SOUND.get(role)! : certificateOf(partsOf(role, change));
  });
}

export function hashOf(certificate: Uint8Array): string {
  return createHash("sha256").update(certificate).digest("hex");
}

// ---------------------------------------------------------------- the document

export const register = (byte: number, length = 48): Uint8Array => new Uint8Array(length).fill(byte);

export function payloadOf(
  chain: readonly Uint8Array[],
  changes: Readonly<Record<string, Cbor>> = {},
): Map<string, Cbor> {
  return new Map(
    Object.entries({
      module_id: "i-crafted-enc0",
      digest: "SHA384",
      timestamp: NOW,
      pcrs: new Map(Array.from({ length: 16 }, (_, i) => [i, register(i < 3 ? i + 1 : 0)])),
      certificate: chain.at(-1)!,
      cabundle: chain.slice(0, -1),
      public_key: null,
      user_data: null,
      nonce: null,
      ...changes,
    }),
  );
}

export interface DocumentParts {
  readonly header: Cbor;
  readonly unprotected: Cbor;
  readonly payload: Cbor;
  readonly signer: KeyObject;
  readonly signature?: Cbor;
}

/** `payload` as bytes, or as the fields that are to be encoded. */
export function documentOf(
  payload: Uint8Array | ReadonlyMap<string, Cbor>,
  changes: Partial<DocumentParts> = {},
): Uint8Array {
  const parts: DocumentParts = {
    header: hex("a1013822"),
    unprotected: new Map(),
    payload: payload instanceof Uint8Array ? payload : encodeCbor(payload),
    signer: KEYS.leaf.privateKey,
    ...changes,
  };
  const signed = encodeCbor(["Signature1", parts.header, new Uint8Array(0), parts.payload]);
  const signature = new Uint8Array(sign("sha384", signed, { key: parts.signer, dsaEncoding: "ieee-p1363" }));
  return encodeCbor([parts.header, parts.unprotected, parts.payload, parts.signature ?? signature]);
}
