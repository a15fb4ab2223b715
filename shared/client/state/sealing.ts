/**
 * What a wallet gives to a storage, sealed under a key of the wallet: a stolen file tells nothing, and a changed one is
 * noticed. Damage, another wallet's file and another pool's file are told apart, and none of them is ever taken for an empty
 * wallet. A large pool's are megabytes, so what is done with them gives the thread back in between.
 *
 * The beginning is magic[8] version[1] sha256[32] of what is sealed. The sum tells damage from another key.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { randomBytes } from "@noble/hashes/utils.js";
import { concatBytes, equalBytes } from "../../protocol/bytes.ts";
import type { Home } from "../../protocol/statements.ts";
import { ClientError } from "../base/errors.ts";
import { decryptInTurns, encryptInTurns, PIECE_BYTES } from "./sliced-cipher.ts";
import type { Turns } from "../base/turns.ts";

const MAGIC = new TextEncoder().encode("CLSTRWLT");
export const NONCE_BYTES = 24;
const SUM_BYTES = 32;
const SUM_AT = MAGIC.length + 1;
export const SEALED_AT = SUM_AT + SUM_BYTES;

/** Throws STORAGE_CORRUPT for what no wallet wrote. */
export function versionOf(bytes: Uint8Array): number {
  const version = bytes[MAGIC.length];
  if (!equalBytes(bytes.slice(0, MAGIC.length), MAGIC) || version === undefined)
    throw corrupt("not a wallet");
  return version;
}

/** A beginning and, behind it, `plain`, sealed. */
export async function sealBegun(
  version: number,
  plain: Uint8Array,
  key: Uint8Array,
  turns: Turns,
): Promise<Uint8Array> {
  const header = concatBytes(MAGIC, Uint8Array.of(version));
  const nonce = randomBytes(NONCE_BYTES);
  const sealed = concatBytes(nonce, await encryptInTurns({ key, nonce, header }, plain, turns));
  return concatBytes(header, await sumOf(sealed, turns), sealed);
}

/** What is sealed behind a beginning. Throws STORAGE_CORRUPT where it was damaged, STORAGE_FOREIGN for another key. */
export async function openBegun(bytes: Uint8Array, key: Uint8Array, turns: Turns): Promise<Uint8Array> {
  const header = bytes.slice(0, SUM_AT);
  const sealed = bytes.slice(SEALED_AT);
  if (!equalBytes(await sumOf(sealed, turns), bytes.slice(SUM_AT, SEALED_AT))) throw corrupt("damaged");
  const nonce = sealed.slice(0, NONCE_BYTES);
  const plain = await decryptInTurns({ key, nonce, header }, sealed.subarray(NONCE_BYTES), turns);
  if (plain === undefined) throw new ClientError("STORAGE_FOREIGN", "sealed by another key");
  return plain;
}

/** Throws STORAGE_FOREIGN. */
export function requireHome({ chainId, pool }: { chainId: string; pool: string }, home: Home): void {
  if (chainId !== String(home.chainId) || pool !== home.pool)
    throw new ClientError("STORAGE_FOREIGN", "of another chain or pool");
}

/**
 * A part's nonce is drawn for it alone, and is its name: who names it means these bytes and no older ones of the same place.
 * `place` is what the part is of, and is authenticated too.
 */
export async function sealPart(
  nonce: Uint8Array,
  place: string,
  plain: Uint8Array,
  key: Uint8Array,
  turns: Turns,
): Promise<Uint8Array> {
  return encryptInTurns({ key, nonce, header: new TextEncoder().encode(place) }, plain, turns);
}

/** Undefined for anything but what was sealed under that nonce for that place. */
export async function openPart(
  nonce: Uint8Array,
  place: string,
  sealed: Uint8Array,
  key: Uint8Array,
  turns: Turns,
): Promise<Uint8Array | undefined> {
  return decryptInTurns({ key, nonce, header: new TextEncoder().encode(place) }, sealed, turns);
}

async function sumOf(bytes: Uint8Array, turns: Turns): Promise<Uint8Array> {
  const sum = sha256.create();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await turns.pause();
    sum.update(bytes.subarray(at, at + PIECE_BYTES));
  }
  return sum.digest();
}

export function corrupt(detail: string, cause?: unknown): ClientError {
  return new ClientError("STORAGE_CORRUPT", detail, { cause });
}
