/**
 * X.509 certificates (RFC 5280) as the chain of an attestation document has them: version 3, P-384,
 * ecdsa-with-SHA384, in strict DER. Whatever else a certificate could be is refused. Input is
 * untrusted; trust comes from the caller alone, who has pinned the root.
 */
import { p384 } from "@noble/curves/nist.js";
import { childrenOf, readAsn1, TAG, type Element } from "./asn1.ts";
import { equalBytes, toHex } from "./bytes.ts";

export type Certificate = Readonly<NonNullable<ReturnType<typeof readCertificate>>>;

const DIGITAL_SIGNATURE = 0x80;
const KEY_CERT_SIGN = 0x04;

const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
/** Version, serial, algorithm, issuer, validity, subject, key, extensions; no unique identifiers. */
const FIELDS = [
  ...([VERSION, TAG.integer, TAG.sequence, TAG.sequence] as const),
  ...([TAG.sequence, TAG.sequence, TAG.sequence, EXTENSIONS] as const),
] as const;
const VERSION_3 = "0xa003020102";
/** 1.2.840.10045.4.3.3, no parameters. */
const ECDSA_WITH_SHA384 = "0x300a06082a8648ce3d040303";
/** id-ecPublicKey on secp384r1, and 04, which says that x and y follow. Its lengths fix all the rest. */
const P384_KEY = "0x3076301006072a8648ce3d020106052b8104002203620004";
const P384_POINT_BYTES = 97;

/** Undefined for anything but exactly one certificate of the kind above. */
export function readCertificate(der: Uint8Array) {
  const parts = childrenOf(readAsn1(der, "DER"), TAG.sequence, TAG.sequence, TAG.sequence, TAG.bitString);
  const fields = childrenOf(parts?.[0], TAG.sequence, ...FIELDS);
  const rights = readRights(childrenOf(fields?.[7], EXTENSIONS, TAG.sequence)?.[0].children ?? []);
  if (!parts || !fields || !rights) return undefined;
  const [toBeSigned, outerAlgorithm, signature] = parts;
  const [version, , algorithm, issuer, validity, subject, key] = fields;
  const [notBeforeMs, notAfterMs, ...others] = validity.children.map(readTime);
  if (notBeforeMs === undefined || notAfterMs === undefined || others.length > 0) return undefined;
  const isAsAgreed =
    toHex(version.whole) === VERSION_3 &&
    toHex(algorithm.whole) === ECDSA_WITH_SHA384 &&
    // The inner name is signed and the outer one is not: they must be one.
    toHex(outerAlgorithm.whole) === ECDSA_WITH_SHA384 &&
    signature.body[0] === 0 &&
    toHex(key.whole).startsWith(P384_KEY);
  if (!isAsAgreed) return undefined;
  return {
    toBeSigned: toBeSigned.whole,
    /** DER of r and s, not yet looked at. */
    signature: signature.body.slice(1),
    /** Names are compared byte by byte and never read. */
    issuer: issuer.whole,
    subject: subject.whole,
    notBeforeMs,
    notAfterMs,
    /** 04 ‖ x ‖ y, not yet known to be on the curve. */
    publicKey: key.body.slice(-P384_POINT_BYTES),
    ...rights,
  };
}

/**
 * Root first, leaf last. The root is trusted already, so its own signature says nothing and is not
 * looked at; everything else about it counts. Names and signatures come before dates: only a real
 * certificate has expired.
 */
export function verifyChain(
  chain: readonly (Certificate | undefined)[],
  atMs: number,
): "CHAIN_INVALID" | "CERTIFICATE_EXPIRED" | "CERTIFICATE_NOT_YET_VALID" | undefined {
  const holds = chain.every((certificate, i) => {
    const issuer = chain[i - 1];
    const authoritiesBelow = chain.length - 2 - i;
    const isLeaf = authoritiesBelow < 0;
    return (
      certificate !== undefined &&
      // An authority as leaf could sign documents nobody issued it for; a leaf as authority, certificates.
      certificate.isAuthority !== isLeaf &&
      (certificate.keyUsage & (isLeaf ? DIGITAL_SIGNATURE : KEY_CERT_SIGN)) !== 0 &&
      certificate.pathLength >= authoritiesBelow &&
      (i === 0 ||
        (issuer !== undefined &&
          equalBytes(certificate.issuer, issuer.subject) &&
          isSigned(certificate.toBeSigned, certificate.signature, issuer.publicKey, "der")))
    );
  });
  if (!holds) return "CHAIN_INVALID";
  // Told apart, because "not yet" is mostly the fault of the clock that `atMs` was read from.
  if (!chain.every((one) => atMs <= one!.notAfterMs)) return "CERTIFICATE_EXPIRED";
  return chain.every((one) => one!.notBeforeMs <= atMs) ? undefined : "CERTIFICATE_NOT_YET_VALID";
}

/**
 * ECDSA on P-384 over SHA-384. AWS does not normalise s, so both halves are accepted: who holds a
 * signature can make a second one, and nothing may tell documents apart by their bytes.
 */
export function isSigned(
  message: Uint8Array,
  signature: Uint8Array,
  publicKey: Uint8Array,
  format: "der" | "compact",
): boolean {
  return p384.verify(signature, message, publicKey, { prehash: true, lowS: false, format });
}

const BASIC_CONSTRAINTS = "0x551d13"; // 2.5.29.19
const KEY_USAGE = "0x551d0f"; // 2.5.29.15
/** Empty; or cA, true; or that and a path length below 128. */
const CONSTRAINTS = /^0x30(00|030101ff|060101ff0201([0-7][0-9a-f]))$/;
/** A bit string of one byte, and how many of its bits are padding. */
const USAGE = /^0x03020([0-7])([0-9a-f]{2})$/;

/**
 * Whether it is an authority, how many of them may stand between it and the leaf, and the first byte of the bit string
 * of usages: bit 0 of RFC 5280 is the highest.
 */
function readRights(extensions: readonly Element[]) {
  const values = new Map<string, string>();
  const critical = new Set<string>();
  for (const extension of extensions) {
    const plain = childrenOf(extension, TAG.sequence, TAG.objectId, TAG.octetString);
    const marked = childrenOf(extension, TAG.sequence, TAG.objectId, TAG.boolean, TAG.octetString);
    const [id, value] = (marked ? [marked[0], marked[2]] : (plain ?? [])).map(({ body }) => toHex(body));
    if (id === undefined || value === undefined || values.has(id)) return undefined;
    values.set(id, value);
    // True is one byte, ff, and "not critical" is said by leaving it out (X.690 8.2.1, 11.1, 11.5).
    if (marked && toHex(marked[1].body) !== "0xff") return undefined;
    if (marked) critical.add(id);
  }
  // A critical extension that is not understood could take back what the certificate seems to grant.
  if ([...critical].some((id) => id !== BASIC_CONSTRAINTS && id !== KEY_USAGE)) return undefined;
  const [, authority, limit] = CONSTRAINTS.exec(values.get(BASIC_CONSTRAINTS) ?? "0x3000") ?? [];
  const [unused, keyUsage] = (USAGE.exec(values.get(KEY_USAGE) ?? "") ?? [])
    .slice(1)
    .map((hex) => Number(`0x${hex}`));
  if (authority === undefined || unused === undefined || keyUsage === undefined) return undefined;
  // Padding is zeros, and the last named bit a one (X.690 11.2).
  if ((keyUsage & ((2 << unused) - 1)) !== 1 << unused) return undefined;
  const isAuthority = authority !== "00";
  // RFC 5280 4.2.1.9: critical in every authority.
  if (isAuthority && !critical.has(BASIC_CONSTRAINTS)) return undefined;
  return { isAuthority, pathLength: limit === undefined ? Infinity : Number(`0x${limit}`), keyUsage };
}

type Moment = [number, number, number, number, number, number];
const TIME = /^(\d{4})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])([0-5]\d)([0-5]\d)Z$/;

/**
 * Unix milliseconds, without a clock, of UTCTime (1950 to 2049) or GeneralizedTime, to the second and
 * in Z (RFC 5280 4.1.2.5). A 31st in a shorter month is read as the 1st of the next.
 */
function readTime({ tag, body }: Element): number | undefined {
  if (tag !== TAG.utcTime && tag !== TAG.generalizedTime) return undefined;
  const text = String.fromCharCode(...body);
  const century = text < "5" ? "20" : "19";
  const parts = TIME.exec(tag === TAG.utcTime ? century + text : text);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = parts.slice(1).map(Number) as Moment;
  // Years begin in March here, so that a leap day is their last; the first day is 1 March of year 0.
  const months = 12 * year + month - 3;
  const y = Math.floor(months / 12);
  const leapDays = Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  const daysOfMonths = Math.floor((153 * (months - 12 * y) + 2) / 5);
  const days = 365 * y + leapDays + daysOfMonths + day - 1 - DAYS_TO_1970;
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
}
const DAYS_TO_1970 = 719_468;
