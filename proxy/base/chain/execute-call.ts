/**
 * Calldata of the pool's `execute`, written here and not by a general encoder: that one takes two milliseconds a
 * member, more than all else that is done for one. The tests hold it against such an encoder, byte for byte.
 * Layout: Solidity, Contract ABI Specification, "Formal Specification of the Encoding".
 */
import { Interface } from "ethers";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import type { RootUpdate } from "../../../shared/protocol/attestation.ts";
import type { SignedBy } from "../../../shared/protocol/host/signed-by.ts";
import type { Bytes32, Field } from "../../../shared/protocol/brands.ts";
import { KINDS, type Kind } from "../../../shared/protocol/statements.ts";

/** One member of a batch as the pool takes it. */
export interface PoolTransaction {
  readonly statement: Bytes32;
  readonly kind: Kind;
  readonly deadline: bigint;
  readonly signals: readonly Field[];
  readonly ext: Uint8Array;
  /** 128 compressed bytes. */
  readonly proof: Uint8Array;
  /** Empty for everything but deposits. */
  readonly authorization: Uint8Array;
  readonly attestations: readonly SignedBy[];
}

export interface AttestedRootUpdate extends RootUpdate {
  readonly attestations: readonly SignedBy[];
}

const SELECTOR = new Interface(POOL_ABI).getFunction("execute")!.selector;
const WORD_BYTES = 32;
const NO_BYTES32 = "00".repeat(WORD_BYTES);

/** Without an update the pool is given one of zeros, which it takes for none. */
export function encodeExecute(transactions: readonly PoolTransaction[], update?: AttestedRootUpdate): string {
  return SELECTOR + tuple([array(transactions.map(memberTuple)), updateTuple(update)]);
}

function memberTuple(transaction: PoolTransaction): Part {
  const { kind, deadline, signals, ext, proof, authorization, attestations } = transaction;
  return dynamic(
    tuple([
      uint(KINDS[kind].id, 8),
      uint(deadline, 64),
      dynamic(uint(signals.length, 64) + signals.map((signal) => uint(signal, 256)).join("")),
      bytes(ext),
      bytes(proof),
      bytes(authorization),
      signatures(attestations),
    ]),
  );
}

function updateTuple(update: AttestedRootUpdate | undefined): Part {
  if (update === undefined) {
    return dynamic(
      tuple([...[0, 0, 0, 0].map((zero) => uint(zero, 64)), NO_BYTES32, NO_BYTES32, signatures([])]),
    );
  }
  const { oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter, attestations } = update;
  return dynamic(
    tuple([
      uint(oldRoot, 256),
      uint(newRoot, 256),
      uint(fromIndex, 64),
      uint(toIndex, 64),
      headBefore.slice(2),
      headAfter.slice(2),
      signatures(attestations),
    ]),
  );
}

/** Signers ascending, as the pool demands. */
function signatures(attestations: readonly SignedBy[]): Part {
  const ordered = [...attestations].sort((a, b) => (a.signer < b.signer ? -1 : 1));
  return bytes(Buffer.concat(ordered.map(({ signature }) => signature)));
}

// ---------------------------------------------------------------- encoding, in hex digits

/** What stands in a head as it is, or behind all heads with its place in the head. */
type Part = string | { readonly tail: string };

const dynamic = (tail: string): Part => ({ tail });

function tuple(parts: readonly Part[]): string {
  let place = parts.length * WORD_BYTES;
  const heads: string[] = [];
  const tails: string[] = [];
  for (const part of parts) {
    if (typeof part === "string") heads.push(part);
    else {
      heads.push(uint(place, 64));
      tails.push(part.tail);
      place += part.tail.length / 2;
    }
  }
  return heads.join("") + tails.join("");
}

function array(items: readonly Part[]): Part {
  return dynamic(uint(items.length, 64) + tuple(items));
}

function bytes(value: Uint8Array): Part {
  const digits = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
  const padded = Math.ceil(value.length / WORD_BYTES) * WORD_BYTES;
  return dynamic(uint(value.length, 64) + digits.padEnd(2 * padded, "0"));
}

function uint(value: bigint | number, bits: number): string {
  if (value < 0 || BigInt(value) >> BigInt(bits) !== 0n)
    throw new RangeError("integer does not fit its type");
  return value.toString(16).padStart(2 * WORD_BYTES, "0");
}
