/**
 * Reads, measures and writes enclave image files (EIF version 4), after AWS's aws-nitro-enclaves-image-format. The
 * measurement here is computed from the file alone: it is what a reviewer holds against the builder's word. Input
 * is untrusted; a file that another reader could take for something else is refused.
 *
 *   header, 548 bytes big-endian: ".eif", version u16, flags u16 (bit 0: arm64), default memory u64, default
 *   processors u64, reserved u16, sections u16, 32 offsets u64, 32 sizes u64, unused u32, crc32 u32 over all else
 *   section: type u16, flags u16, size u64, content
 */
import { createHash, X509Certificate } from "node:crypto";
import { crc32 } from "node:zlib";
import { decodeCbor, entryOf, itemsOf, type Cbor } from "../../shared/protocol/cbor.ts";
import type { Measurement } from "./measurement.ts";

const SECTION_TYPES = ["kernel", "cmdline", "ramdisk", "signature", "metadata"] as const;
export type SectionType = (typeof SECTION_TYPES)[number];

export interface EifSection {
  readonly type: SectionType;
  readonly content: Uint8Array;
}

export interface Eif {
  readonly architecture: "x86_64" | "aarch64";
  readonly sections: readonly EifSection[];
}

export interface EifMeasurement extends Measurement {
  /** Of the certificate that signed the file; an enclave of an unsigned file has zeroes there. */
  readonly pcr8?: string;
}

export type EifFault =
  | "TOO_SHORT"
  | "NO_EIF"
  | "VERSION"
  | "HEADER"
  | "SECTION"
  | "ORDER"
  | "LEFT_OVER"
  | "CHECKSUM"
  | "SIGNATURE";

const MAGIC = Buffer.from(".eif");
const VERSION = 4;
const HEADER_BYTES = 548;
const SECTION_HEADER_BYTES = 12;
const MAX_SECTIONS = 32;
const AT = { version: 4, flags: 6, memory: 8, processors: 16, reserved: 24, count: 26 };
const OFFSETS_AT = 28;
const SIZES_AT = OFFSETS_AT + 8 * MAX_SECTIONS;
const UNUSED_AT = SIZES_AT + 8 * MAX_SECTIONS;
const CRC_AT = UNUSED_AT + 4;

/** What AWS's builder writes; whoever starts the enclave says what it really gets. */
const DEFAULT_MEMORY = 1n << 30n;
const DEFAULT_PROCESSORS = 2n;

export function readEif(file: Uint8Array): Eif | EifFault {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.length < HEADER_BYTES) return "TOO_SHORT";
  if (!bytes.subarray(0, 4).equals(MAGIC)) return "NO_EIF";
  if (bytes.readUInt16BE(AT.version) !== VERSION) return "VERSION";
  const flags = bytes.readUInt16BE(AT.flags);
  const count = bytes.readUInt16BE(AT.count);
  if (flags > 1 || bytes.readUInt16BE(AT.reserved) !== 0 || bytes.readUInt32BE(UNUSED_AT) !== 0)
    return "HEADER";
  if (count > MAX_SECTIONS) return "HEADER";

  const sections: EifSection[] = [];
  let at = HEADER_BYTES;
  for (let i = 0; i < MAX_SECTIONS; i++) {
    const offset = bytes.readBigUInt64BE(OFFSETS_AT + 8 * i);
    const size = bytes.readBigUInt64BE(SIZES_AT + 8 * i);
    if (i >= count) {
      if (offset !== 0n || size !== 0n) return "HEADER";
      continue;
    }
    // One after the other, without gap or overlap: by the header's word and by the section's own.
    if (offset !== BigInt(at) || at + SECTION_HEADER_BYTES > bytes.length) return "SECTION";
    const type = SECTION_TYPES[bytes.readUInt16BE(at) - 1];
    if (type === undefined || bytes.readUInt16BE(at + 2) !== 0) return "SECTION";
    const start = at + SECTION_HEADER_BYTES;
    if (bytes.readBigUInt64BE(at + 4) !== size || size > BigInt(bytes.length - start)) return "SECTION";
    at = start + Number(size);
    sections.push({ type, content: bytes.subarray(start, at) });
  }
  if (at !== bytes.length) return "LEFT_OVER";
  // Hashed is the order of the file, loaded are kernel, command line and ramdisks: only so is that the same.
  const loaded = sections.map(({ type }) => type).filter((type) => type !== "metadata");
  if (!/^kernel cmdline( ramdisk)+( signature)?$/.test(loaded.join(" "))) return "ORDER";
  if (sections.filter(({ type }) => type === "metadata").length > 1) return "ORDER";
  return checksum(bytes) === bytes.readUInt32BE(CRC_AT)
    ? { architecture: flags === 1 ? "aarch64" : "x86_64", sections }
    : "CHECKSUM";
}

/** PCR0: everything that is loaded. PCR1: kernel, command line and first ramdisk. PCR2: the other ramdisks. */
export function measureEif({ sections }: Eif): EifMeasurement | "SIGNATURE" {
  const contents = (wanted: SectionType): Uint8Array[] =>
    sections.filter(({ type }) => type === wanted).map(({ content }) => content);
  const [first, ...others] = contents("ramdisk");
  const boot = [...contents("kernel"), ...contents("cmdline"), ...(first ? [first] : [])];
  const measurement = { pcr0: register([...boot, ...others]), pcr1: register(boot), pcr2: register(others) };
  const [signature] = contents("signature");
  if (signature === undefined) return measurement;
  const certificate = signingCertificate(signature);
  return certificate ? { ...measurement, pcr8: register([certificate]) } : "SIGNATURE";
}

/** The same bytes for the same sections. */
export function writeEif({ architecture, sections }: Eif): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header.writeUInt16BE(VERSION, AT.version);
  header.writeUInt16BE(architecture === "aarch64" ? 1 : 0, AT.flags);
  header.writeBigUInt64BE(DEFAULT_MEMORY, AT.memory);
  header.writeBigUInt64BE(DEFAULT_PROCESSORS, AT.processors);
  header.writeUInt16BE(sections.length, AT.count);
  const parts: Uint8Array[] = [header];
  let at = HEADER_BYTES;
  for (const [i, { type, content }] of sections.entries()) {
    header.writeBigUInt64BE(BigInt(at), OFFSETS_AT + 8 * i);
    header.writeBigUInt64BE(BigInt(content.length), SIZES_AT + 8 * i);
    const head = Buffer.alloc(SECTION_HEADER_BYTES);
    head.writeUInt16BE(SECTION_TYPES.indexOf(type) + 1);
    head.writeBigUInt64BE(BigInt(content.length), 4);
    parts.push(head, content);
    at += SECTION_HEADER_BYTES + content.length;
  }
  const file = Buffer.concat(parts);
  file.writeUInt32BE(checksum(file), CRC_AT);
  return file;
}

function checksum(file: Buffer): number {
  return crc32(file.subarray(HEADER_BYTES), crc32(file.subarray(0, CRC_AT)));
}

/** A register starts as zeroes and is extended once. */
function register(contents: readonly Uint8Array[]): string {
  const hash = createHash("sha384");
  for (const content of contents) hash.update(content);
  return createHash("sha384").update(Buffer.alloc(48)).update(hash.digest()).digest("hex");
}

/** DER. The section is CBOR, [{signing_certificate: PEM, signature}], byte strings written as lists of numbers. */
function signingCertificate(section: Uint8Array): Buffer | undefined {
  const signatures = itemsOf(decodeCbor(new Uint8Array(section)));
  const pem = bytesOf(entryOf(signatures[0], "signing_certificate"));
  if (signatures.length !== 1 || pem === undefined) return undefined;
  try {
    return new X509Certificate(pem).raw;
  } catch {
    return undefined;
  }
}

function bytesOf(value: Cbor | undefined): Buffer | undefined {
  if (value instanceof Uint8Array) return Buffer.from(value);
  const items = itemsOf(value);
  const isByte = (item: Cbor): item is number => typeof item === "number" && item >= 0 && item <= 255;
  return items.length > 0 && items.every(isByte) ? Buffer.from(items) : undefined;
}
