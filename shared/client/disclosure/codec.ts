/** The bytes and the text of a disclosure; SPEC, section 12.3. What comes in is a stranger's. */
import { base64urlnopad } from "@scure/base";
import { asField, type Address, type Field } from "../../protocol/brands.ts";
import { mustFromHex, ByteReader, concatBytes, toAddress, uintToBytes, word } from "../../protocol/bytes.ts";
import type { Home } from "../../protocol/statements.ts";
import { isViewingKey, type ShieldedAddress } from "../../notes/address.ts";
import type { SecretProof } from "../../notes/disclosed-secret.ts";
import { ClientError } from "../base/errors.ts";
import { MOST_NAME_BYTES, requireText } from "../base/texts.ts";
import type { Discloser } from "./disclosure.ts";

const PREFIX = "cloister-disclosure1.";
const DOMAIN = new TextEncoder().encode("cloister/disclosure/v1");
const VERSION = 1;
const DISCLOSERS: readonly Discloser[] = ["payer", "payee"];
/** Of the longest name; base64 has four characters for three bytes. */
const MOST_CHARS = PREFIX.length + Math.ceil(((251 + MOST_NAME_BYTES) * 4) / 3);

/** What a disclosure says, apart from its proof. */
export interface Claim {
  readonly by: Discloser;
  readonly home: Home;
  /** Block of the leaf. */
  readonly block: number;
  readonly leafIndex: number;
  readonly to: ShieldedAddress;
  readonly asset: Address;
  readonly value: bigint;
  /** Unix seconds. */
  readonly expiresAt: number;
  readonly reader: string;
}

/** What the pool says of the leaf: nothing of it is in the text, and all of it is in what is proved. */
export interface OnChain {
  readonly commitment: Field;
  readonly ephemeralKey: Uint8Array;
  /** The leaf's place among those of its statement. */
  readonly output: number;
}

export function claimBytes(claim: Claim): Uint8Array {
  const { by, home, block, leafIndex, to, asset, value, expiresAt } = claim;
  const reader = new TextEncoder().encode(claim.reader);
  return concatBytes(
    Uint8Array.of(VERSION, DISCLOSERS.indexOf(by) + 1),
    ...[uintToBytes(home.chainId, 8), mustFromHex(home.pool)],
    ...[block, leafIndex].map((number) => uintToBytes(BigInt(number), 8)),
    ...[word(to.owner), to.viewingKey, mustFromHex(asset), uintToBytes(value, 16)],
    ...[uintToBytes(BigInt(expiresAt), 8), Uint8Array.of(reader.length), reader],
  );
}

/** What the proof is bound to. */
export function provedMessage(claim: Claim, { commitment, ephemeralKey, output }: OnChain): Uint8Array {
  return concatBytes(DOMAIN, word(commitment), ephemeralKey, Uint8Array.of(output), claimBytes(claim));
}

export function writeDisclosure(claim: Claim, { shared, challenge, response }: SecretProof): string {
  return PREFIX + base64urlnopad.encode(concatBytes(claimBytes(claim), shared, challenge, response));
}

/** Throws DISCLOSURE_INVALID unless it is what `writeDisclosure` writes, and spelled the same. */
export function readDisclosure(untrusted: unknown): { readonly claim: Claim; readonly proof: SecretProof } {
  if (typeof untrusted !== "string" || untrusted.length > MOST_CHARS || !untrusted.startsWith(PREFIX))
    throw invalid(`a text that begins with ${PREFIX}`);
  let bytes: Uint8Array;
  try {
    bytes = base64urlnopad.decode(untrusted.slice(PREFIX.length));
  } catch (cause) {
    throw invalid("not base64", cause);
  }
  const from = new ByteReader(bytes);
  const [version, by] = [from.number(1), DISCLOSERS[from.number(1) - 1]];
  const home = { chainId: from.uint(8), pool: addressOf(from) };
  const [block, leafIndex] = [from.uint(8), from.uint(8)].map(safe);
  const [owner, viewingKey] = [asField(from.uint(32)), from.take(32)];
  const [asset, value, expiresAt] = [addressOf(from), from.uint(16), safe(from.uint(8))];
  const name = from.take(from.number(1));
  const proof = { shared: from.take(32), challenge: from.take(32), response: from.take(32) };
  const isWhole = from.done() && version === VERSION && by !== undefined && owner !== undefined;
  if (!isWhole || !isViewingKey(viewingKey) || value === 0n) throw invalid("its form");
  const reader = requireText(utf8(name), MOST_NAME_BYTES, (detail) => invalid(`reader: ${detail}`));
  const to = { owner, viewingKey };
  const claim = { by, home, block: block!, leafIndex: leafIndex!, to, asset, value, expiresAt, reader };
  return { claim, proof };
}

function addressOf(from: ByteReader): Address {
  const bytes = from.take(20);
  // A short read is told by `done`.
  return toAddress(bytes.length === 20 ? bytes : new Uint8Array(20));
}

function safe(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw invalid("a number is too great");
  return Number(value);
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw invalid("reader", cause);
  }
}

export function invalid(detail: string, cause?: unknown): ClientError {
  return new ClientError("DISCLOSURE_INVALID", detail, { cause });
}
