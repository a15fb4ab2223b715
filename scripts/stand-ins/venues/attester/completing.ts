// What the attester writes into a message before it signs, and when it may: pure, so that every rule can be tried. It
// vouches that the message was emitted, for nothing that the message says.
import type { Bytes32 } from "../../../../shared/protocol/brands.ts";
import { mustFromHex, toBytes32, uintToBytes } from "../../../../shared/protocol/bytes.ts";
import { keccak256 } from "../../../../shared/protocol/hash.ts";
import {
  encodeBurn,
  encodeMessage,
  FINALITY,
  parseBurn,
  parseMessage,
  type CctpMessage,
} from "../../../../shared/protocol/host/cctp.ts";
import { asksForForward } from "../../../../shared/protocol/host/cctp-forward.ts";

/** How deep the message's own block lies: just in it, good enough for a fast message, or permanently. */
export type Depth = "seen" | "fast" | "final";

export interface Emission {
  readonly depth: Depth;
  readonly message: CctpMessage;
  /** It came from the chain's token messenger, so its body is a burn and takes fee and expiry. */
  readonly isBurn: boolean;
  readonly nonce: Bytes32;
}

export interface Terms {
  readonly fastFeeBps: number;
  /** Of the destination; undefined when nobody follows that chain or it is away, and then nothing fast goes there. */
  readonly destinationBlock: number | undefined;
  readonly expiresAfterBlocks: number;
}

export type DelayReason = "insufficient_fee";

export interface Completion {
  /** Undefined: not yet. */
  readonly message: Uint8Array | undefined;
  readonly delayReason: DelayReason | null;
}

/**
 * Names one emission permanently: the same one in another block has the same name, so it can be minted once only. A
 * transaction that burns another amount there has made another one: a fast attestation of the first is the attester's
 * own risk, and must not take the second one's name.
 */
export function nonceOf(
  sourceDomain: number,
  transaction: string,
  ordinal: number,
  content: Uint8Array,
): Bytes32 {
  const place = [uintToBytes(BigInt(sourceDomain), 4), uintToBytes(BigInt(ordinal), 4)];
  return toBytes32(keccak256(...place, new TextEncoder().encode(transaction), content));
}

export function complete(emission: Emission, terms: Terms): Completion {
  const { message, depth } = emission;
  const isFastWanted = message.minFinalityThreshold <= FINALITY.fast;
  const fee = fastFeeOf(emission, terms.fastFeeBps);
  // Who offers too little waits as long as who asked for no speed, and then pays nothing.
  const delayReason = isFastWanted && fee === undefined ? "insufficient_fee" : null;
  if (depth === "final")
    return { message: filled(emission, FINALITY.final, forwardFeeOf(emission), 0n), delayReason };
  const expiry = expiryOf(terms);
  if (!isFastWanted || fee === undefined || depth !== "fast" || expiry === undefined)
    return { message: undefined, delayReason };
  return { message: filled(emission, FINALITY.fast, fee, expiry), delayReason };
}

/**
 * A fast message once more. The fee stays, as it was earned by waiting for nobody; what is final by now never expires
 * again, everything else gets a new last block. Undefined when it cannot be renewed now.
 */
export function completeAgain(
  emission: Emission,
  attested: Uint8Array,
  terms: Terms,
): Uint8Array | undefined {
  const before = parseMessage(attested);
  if (before === undefined || before.finalityThresholdExecuted >= FINALITY.final) return undefined;
  const fee = (emission.isBurn ? parseBurn(before.body)?.feeExecuted : undefined) ?? 0n;
  if (emission.depth === "final") return filled(emission, FINALITY.final, fee, 0n);
  const expiry = expiryOf(terms);
  return expiry === undefined ? undefined : filled(emission, FINALITY.fast, fee, expiry);
}

function filled(
  emission: Emission,
  finality: number,
  feeExecuted: bigint,
  expirationBlock: bigint,
): Uint8Array {
  const { message, nonce, isBurn } = emission;
  const burn = isBurn ? parseBurn(message.body) : undefined;
  return encodeMessage({
    ...message,
    nonce,
    finalityThresholdExecuted: finality,
    body: burn === undefined ? message.body : encodeBurn({ ...burn, feeExecuted, expirationBlock }),
  });
}

/** Rounded up, so that it is never free. Undefined when it is more than the sender offers. */
function fastFeeOf({ isBurn, message }: Emission, bps: number): bigint | undefined {
  const burn = isBurn ? parseBurn(message.body) : undefined;
  if (burn === undefined) return 0n;
  const parts = BigInt(Math.round(bps * 100));
  const fee = (burn.amount * parts + 999_999n) / 1_000_000n;
  return fee <= burn.maxFee && (fee === 0n || fee < burn.amount) ? fee : undefined;
}

/** Of a burn that names nobody to deliver it, waits until it is final, and offers enough for being delivered. */
function forwardFeeOf({ isBurn, message }: Emission): bigint {
  const burn = isBurn ? parseBurn(message.body) : undefined;
  const isWanted = burn !== undefined && message.destinationCaller === ZERO && asksForForward(burn.hookData);
  return isWanted && message.minFinalityThreshold > FINALITY.fast && burn.maxFee >= FORWARD_FEE
    ? FORWARD_FEE
    : 0n;
}
const FORWARD_FEE = 200_000n;

function expiryOf({ destinationBlock, expiresAfterBlocks }: Terms): bigint | undefined {
  return destinationBlock === undefined ? undefined : BigInt(destinationBlock + expiresAfterBlocks);
}

/** As the chain emits it; undefined for bytes that the attester does not understand and passes over. */
export function readEmitted(bytes: Uint8Array, sourceDomain: number): CctpMessage | undefined {
  const message = parseMessage(bytes);
  return message?.sourceDomain === sourceDomain && message.nonce === ZERO ? message : undefined;
}
const ZERO = toBytes32(mustFromHex(`0x${"00".repeat(32)}`));
