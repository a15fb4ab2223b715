/**
 * The token account that a deposit key owns on the other blockchain, computed as that chain's own program does: the first
 * address that is no public key, so that nobody can have a key for it.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base58 } from "@scure/base";
import { concatBytes } from "../../protocol/bytes.ts";

export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
export const MEMO_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const ACCOUNT_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";

const MARKER = new TextEncoder().encode("ProgramDerivedAddress");

/** Undefined for what is no base58 of 32 bytes. */
export function foreignKeyBytes(text: unknown): Uint8Array | undefined {
  if (typeof text !== "string" || !/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return undefined;
  const bytes = base58.decode(text);
  return bytes.length === 32 ? bytes : undefined;
}

/** For keys of our own; a throw is a fault of ours. */
export function mustForeignKey(text: string): Uint8Array {
  const bytes = foreignKeyBytes(text);
  if (bytes === undefined) throw new TypeError("not a key of the other blockchain");
  return bytes;
}

export function tokenAccountOf(owner: Uint8Array, mint: Uint8Array): string {
  const seeds = [owner, mustForeignKey(TOKEN_PROGRAM), mint];
  for (let bump = 255; bump >= 0; bump--) {
    const parts = [...seeds, Uint8Array.of(bump), mustForeignKey(ACCOUNT_PROGRAM), MARKER];
    const address = sha256(concatBytes(...parts));
    if (!isPublicKey(address)) return base58.encode(address);
  }
  throw new RangeError("no address for this owner and token");
}

function isPublicKey(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes, true);
    return true;
  } catch {
    return false;
  }
}
