/**
 * Reads and verifies attestation documents of AWS Nitro: COSE_Sign1 (RFC 9052) over a CBOR payload
 * that carries its own certificate chain. Input is untrusted; trust comes from the policy alone.
 * Fields and limits are those of AWS's "Nitro Enclaves Attestation Process".
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { equalBytes, toHex } from "./bytes.ts";
import { decodeCbor, encodeCbor, itemsOf, mapOf, type Cbor } from "./cbor.ts";
import { decodeUserData, type UserData } from "./user-data.ts";
import { isSigned, readCertificate, verifyChain } from "./x509.ts";

/** AWS's cap of the payload, and so a little less for it here. */
export const MAX_DOCUMENT_BYTES = 16_384;
/** How far the clock of the platform may be ahead of ours. */
const CLOCK_AHEAD_MS = 60_000;

/** SHA-384 of image, kernel and application, 96 lower-case hex digits each. */
export interface Measurement {
  readonly pcr0: string;
  readonly pcr1: string;
  readonly pcr2: string;
}

export interface AttestationPolicy {
  /** SHA-256 of the DER of each root that may stand at the head of the chain: 64 lower-case hex digits. */
  readonly roots: readonly string[];
  /** Unix milliseconds at which the chain must be valid. Leaves live for hours: live documents are judged at the present, kept ones at their own time. */
  readonly at: number | "its own time";
  /** With a number as `at`: how old the document may be then. */
  readonly maxAgeMs?: number;
  /** One of them must match. Without them any measurement passes but that of debug mode. */
  readonly measurements?: readonly Measurement[];
  readonly nonce?: Uint8Array;
  /** The user data must be ours, and of this type. */
  readonly type?: UserData["type"];
}

export type VerifiedAttestation = Readonly<Extract<ReturnType<typeof verifyAttestation>, object>>;
export type AttestationFault = Extract<ReturnType<typeof verifyAttestation>, string>;

/** In this order: is it a document, of a pinned root, signed under it, of real code, and the one that was asked for. */
export function verifyAttestation(document: Uint8Array, policy: AttestationPolicy) {
  const read = readAttestation(document);
  if (read === undefined) return "MALFORMED";
  const { chain, measurement, timestampMs, userData, nonce } = read;

  if (!policy.roots.includes(toHex(sha256(chain[0]!)).slice(2))) return "ROOT_UNKNOWN";
  const certificates = chain.map(readCertificate);
  const fault = verifyChain(certificates, policy.at === "its own time" ? timestampMs : policy.at);
  if (fault !== undefined) return fault;
  const leafKey = certificates.at(-1)!.publicKey;
  if (!isSigned(read.signed, read.signature, leafKey, "compact")) return "SIGNATURE_INVALID";

  // In debug mode the host reads the enclave's memory, and the platform says so by measuring nothing.
  if (isSame(measurement, NOTHING)) return "DEBUG_MODE";
  if (policy.at !== "its own time") {
    if (timestampMs > policy.at + CLOCK_AHEAD_MS) return "FROM_FUTURE";
    if (policy.maxAgeMs !== undefined && timestampMs < policy.at - policy.maxAgeMs) return "STALE";
  }
  if (policy.measurements?.some((wanted) => isSame(wanted, measurement)) === false)
    return "MEASUREMENT_MISMATCH";
  if (policy.nonce && !(nonce && equalBytes(nonce, policy.nonce))) return "NONCE_MISMATCH";
  const claims = policy.type && userData && decodeUserData(userData);
  if (claims?.type !== policy.type) return "TYPE_MISMATCH";
  const { pcrs, moduleId, publicKey } = read;
  /** `claims`: the user data as read, where the policy names a type. */
  return { measurement, pcrs, timestampMs, moduleId, publicKey, userData, nonce, claims };
}

const ZERO = "0".repeat(96);
const NOTHING: Measurement = { pcr0: ZERO, pcr1: ZERO, pcr2: ZERO };

function isSame(a: Measurement, b: Measurement): boolean {
  return a.pcr0 === b.pcr0 && a.pcr1 === b.pcr1 && a.pcr2 === b.pcr2;
}

/** What a document says, all of it unverified. */
export type UnverifiedAttestation = Readonly<NonNullable<ReturnType<typeof readAttestation>>>;

/** CBOR tag 18, which AWS allows and Nitro leaves out. */
const COSE_SIGN1 = 0xd2;
/** Nothing but algorithm (1) = ES384 (−35, RFC 9053 2.1). */
const ES384_HEADER = "0xa1013822";
const SIGNATURE_BYTES = 96;
const FIELDS = [
  ...["module_id", "digest", "timestamp", "pcrs", "certificate", "cabundle"],
  ...["public_key", "user_data", "nonce"],
];

/** Undefined for anything but a well-formed document. Says nothing about who made it. */
export function readAttestation(document: Uint8Array) {
  if (document.length > MAX_DOCUMENT_BYTES) return undefined;
  const parts = itemsOf(decodeCbor(document[0] === COSE_SIGN1 ? document.subarray(1) : document));
  const [header, unprotected, payload, signature] = parts;
  if (parts.length !== 4 || !isBytes(header, 4, 4) || toHex(header) !== ES384_HEADER) return undefined;
  // Nobody signs the unprotected header: what stood there could be changed at will.
  if (mapOf(unprotected)?.size !== 0) return undefined;
  if (!isBytes(payload, 1) || !isBytes(signature, SIGNATURE_BYTES, SIGNATURE_BYTES)) return undefined;

  const fields = mapOf(decodeCbor(payload));
  if (!fields || [...fields.keys()].some((key) => !FIELDS.includes(key as string))) return undefined;
  const [moduleId, digest, timestampMs, pcrs, leaf, bundle, ...optional] = FIELDS.map((name) =>
    fields.get(name),
  );
  // Absent by either spelling: no key, or null.
  const [publicKey, userData, nonce] = optional.map((value) => value ?? undefined);
  const chain = [...itemsOf(bundle), leaf];
  const registers = readRegisters(pcrs);
  const isWhole =
    typeof moduleId === "string" &&
    moduleId !== "" &&
    digest === "SHA384" &&
    typeof timestampMs === "number" &&
    timestampMs > 0 &&
    registers !== undefined &&
    chain.length >= 2 &&
    chain.every((der) => isBytes(der, 1, 1024)) &&
    (publicKey === undefined || isBytes(publicKey, 1, 1024)) &&
    (userData === undefined || isBytes(userData, 0, 512)) &&
    (nonce === undefined || isBytes(nonce, 0, 512));
  if (!isWhole) return undefined;
  // RFC 9052 4.4, no external data. Header and payload as they came: encoded again they might be other bytes.
  const signed = encodeCbor(["Signature1", header, new Uint8Array(0), payload]);
  return { moduleId, timestampMs, ...registers, chain, publicKey, userData, nonce, signed, signature };
}

function readRegisters(
  value: Cbor | undefined,
): { readonly pcrs: ReadonlyMap<number, Uint8Array>; readonly measurement: Measurement } | undefined {
  const pcrs = new Map<number, Uint8Array>();
  for (const [index, register] of mapOf(value) ?? []) {
    if (typeof index !== "number" || index < 0 || index > 31) return undefined;
    if (!(register instanceof Uint8Array) || ![32, 48, 64].includes(register.length)) return undefined;
    pcrs.set(index, register);
  }
  // Those that say what runs are there, and of SHA-384.
  const [pcr0, pcr1, pcr2] = [0, 1, 2].map((index) => pcrs.get(index));
  if (!isBytes(pcr0, 48, 48) || !isBytes(pcr1, 48, 48) || !isBytes(pcr2, 48, 48)) return undefined;
  const hex = (register: Uint8Array): string => toHex(register).slice(2);
  return { pcrs, measurement: { pcr0: hex(pcr0), pcr1: hex(pcr1), pcr2: hex(pcr2) } };
}

function isBytes(value: Cbor | undefined, min: number, max = MAX_DOCUMENT_BYTES): value is Uint8Array {
  return value instanceof Uint8Array && value.length >= min && value.length <= max;
}
