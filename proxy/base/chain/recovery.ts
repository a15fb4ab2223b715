/**
 * Who signed a digest with secp256k1: bitcoin-core's library, compiled to WASM, at a sixth of the time of one in
 * JavaScript. Everything given is untrusted.
 */
import { recover } from "tiny-secp256k1";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { bytesToUint, mustFromHex, toAddress } from "../../../shared/protocol/bytes.ts";
import { keccak256 } from "../../../shared/protocol/hash.ts";
import { yieldToEventLoop } from "../event-loop.ts";

/** Half of the group's order, rounded down: SEC 2, section 2.4.1. */
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Four milliseconds. One in a turn would let whatever else fills the turns set the pace. */
export const RECOVERIES_IN_A_TURN = 8;
let recoveries = 0;
let lastTurn: Promise<unknown> = Promise.resolve();

/**
 * The same as `recoverSigner`, a few in each turn of the event loop: an enclave answers a batch at once, and all of
 * them in a row would keep every other caller waiting.
 */
export async function recoverInTurn(
  digest: Uint8Array | Bytes32,
  signature: Uint8Array,
): Promise<Address | undefined> {
  if (recoveries++ % RECOVERIES_IN_A_TURN === 0) lastTurn = lastTurn.then(yieldToEventLoop);
  await lastTurn;
  return recoverSigner(digest, signature);
}

/** Who signed, undefined for bytes that are no canonical signature (r ‖ s ‖ v, v 27 or 28, s in the lower half). */
export function recoverSigner(digest: Uint8Array | Bytes32, signature: Uint8Array): Address | undefined {
  const v = signature[64];
  if (signature.length !== 65 || (v !== 27 && v !== 28)) return undefined;
  // EIP-2. The library takes the upper half as well; the pool does not.
  if (bytesToUint(signature.subarray(32, 64)) > HALF_ORDER) return undefined;
  const hash = typeof digest === "string" ? mustFromHex(digest) : digest;
  try {
    const key = recover(hash, signature.subarray(0, 64), v === 27 ? 0 : 1, false);
    return key === null ? undefined : toAddress(keccak256(key.subarray(1)).subarray(12));
  } catch {
    return undefined;
  }
}
