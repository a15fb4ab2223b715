/**
 * XChaCha20-Poly1305 over megabytes on the thread that also draws the page: the library's own is one call for all of it.
 * Built of the library's stream and its authenticator as RFC 8439, section 2.8, says; a test holds both to the same bytes.
 */
import { poly1305 } from "@noble/ciphers/_poly1305.js";
import { xchacha20 } from "@noble/ciphers/chacha.js";
import { concatBytes, equalBytes } from "../../protocol/bytes.ts";
import type { Turns } from "../base/turns.ts";

/** About a millisecond's work. Whole blocks, so that each piece begins where a block does. */
export const PIECE_BYTES = 65_536;
const BLOCK_BYTES = 64;
const TAG_BYTES = 16;

export interface Sealing {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** 24 bytes, for this text alone. */
  readonly nonce: Uint8Array;
  /** Authenticated and not encrypted. */
  readonly header: Uint8Array;
}

/** The ciphertext and behind it its tag. */
export async function encryptInTurns(sealing: Sealing, plain: Uint8Array, turns: Turns): Promise<Uint8Array> {
  const sealed = new Uint8Array(plain.length + TAG_BYTES);
  const text = sealed.subarray(0, plain.length);
  await applyStream(sealing, plain, text, turns);
  sealed.set(await tagOf(sealing, text, turns), plain.length);
  return sealed;
}

/** Undefined for another key, nonce or header, and for what was changed: nothing is decrypted before the tag is right. */
export async function decryptInTurns(
  sealing: Sealing,
  sealed: Uint8Array,
  turns: Turns,
): Promise<Uint8Array | undefined> {
  if (sealed.length < TAG_BYTES) return undefined;
  const text = sealed.subarray(0, -TAG_BYTES);
  if (!equalBytes(await tagOf(sealing, text, turns), sealed.subarray(-TAG_BYTES))) return undefined;
  const plain = new Uint8Array(text.length);
  await applyStream(sealing, text, plain, turns);
  return plain;
}

/** Block 0 of the stream is the authenticator's key. */
async function applyStream(
  { key, nonce }: Sealing,
  from: Uint8Array,
  to: Uint8Array,
  turns: Turns,
): Promise<void> {
  for (let at = 0; at < from.length; at += PIECE_BYTES) {
    await turns.pause();
    const end = at + PIECE_BYTES;
    xchacha20(key, nonce, from.subarray(at, end), to.subarray(at, end), 1 + at / BLOCK_BYTES);
  }
}

async function tagOf({ key, nonce, header }: Sealing, text: Uint8Array, turns: Turns): Promise<Uint8Array> {
  const tag = poly1305.create(xchacha20(key, nonce, new Uint8Array(32)));
  tag.update(concatBytes(header, padding(header.length)));
  for (let at = 0; at < text.length; at += PIECE_BYTES) {
    await turns.pause();
    tag.update(text.subarray(at, at + PIECE_BYTES));
  }
  const lengths = new DataView(new ArrayBuffer(16));
  lengths.setBigUint64(0, BigInt(header.length), true);
  lengths.setBigUint64(8, BigInt(text.length), true);
  return tag.update(concatBytes(padding(text.length), new Uint8Array(lengths.buffer))).digest();
}

const padding = (length: number): Uint8Array => new Uint8Array((16 - (length % 16)) % 16);
