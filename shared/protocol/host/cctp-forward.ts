/**
 * The hook by which a burn reaches an account of the perpetuals exchange: its forwarder on its own chain reads whom to
 * credit. Fixed layout; nothing of it is optional.
 */
import type { Address } from "../brands.ts";
import { mustFromHex, bytesToUint, concatBytes, equalBytes, toAddress, uintToBytes } from "../bytes.ts";

/** Where on the exchange the money arrives. */
export const FORWARD_TO = { perps: 0, spot: 4_294_967_295 } as const;
export type ForwardTo = keyof typeof FORWARD_TO;

export interface ForwardOrder {
  readonly recipient: Address;
  readonly destination: ForwardTo;
}

/** `cctp-forward` in 24 bytes: what every hook of CCTP begins with that asks for being forwarded. */
export const FORWARD_WORDS = concatBytes(new TextEncoder().encode("cctp-forward"), new Uint8Array(12));
/** Version 0, and 24 bytes that follow. */
const PREFIX = concatBytes(FORWARD_WORDS, uintToBytes(0n, 4), uintToBytes(24n, 4));
export const FORWARD_BYTES = 56;

export const asksForForward = (hook: Uint8Array): boolean =>
  equalBytes(hook.subarray(0, FORWARD_WORDS.length), FORWARD_WORDS);

export function encodeForward({ recipient, destination }: ForwardOrder): Uint8Array {
  return concatBytes(PREFIX, mustFromHex(recipient), uintToBytes(BigInt(FORWARD_TO[destination]), 4));
}

/** Undefined for any other hook, also one with bytes after its end. */
export function parseForward(untrusted: unknown): ForwardOrder | undefined {
  if (!(untrusted instanceof Uint8Array) || untrusted.length !== FORWARD_BYTES) return undefined;
  if (!equalBytes(untrusted.subarray(0, PREFIX.length), PREFIX)) return undefined;
  const number = Number(bytesToUint(untrusted.subarray(52)));
  const recipient = toAddress(untrusted.subarray(32, 52));
  if (number === FORWARD_TO.perps) return { recipient, destination: "perps" };
  return number === FORWARD_TO.spot ? { recipient, destination: "spot" } : undefined;
}
