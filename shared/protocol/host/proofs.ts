/**
 * Proofs on their way to the enclave: snarkjs's JSON, which is untrusted, to canonical coordinates, and
 * those to the bytes that the enclave reads. Curve and subgroup are the enclave's to check.
 */
import { BASE_FIELD_ORDER } from "../brands.ts";
import { concatBytes, word } from "../bytes.ts";
import type { Proof } from "../proof.ts";

export const COMPRESSED_PROOF_BYTES = 128;

/** What `decodeProof` reads. */
export function encodeProof({ a, b, c }: Proof): Uint8Array {
  return concatBytes(...[a[0], a[1], b[0][1], b[0][0], b[1][1], b[1][0], c[0], c[1]].map(word));
}

// At most 77 digits: a ten-million-digit number would hold the process for seconds before any check.
const COORDINATE = /^(0|[1-9][0-9]{0,76})$/;

/** Reads snarkjs's proof object (`pi_a`, `pi_b`, `pi_c`, affine with a trailing 1). Undefined for anything else. */
export function parseSnarkjsProof(untrusted: unknown): Proof | undefined {
  if (typeof untrusted !== "object" || untrusted === null) return undefined;
  const { pi_a, pi_b, pi_c, protocol, curve } = untrusted as Record<string, unknown>;
  if ((protocol !== undefined && protocol !== "groth16") || (curve !== undefined && curve !== "bn128"))
    return undefined;
  const a = g1(pi_a);
  const c = g1(pi_c);
  const b = triple(pi_b);
  const bx = pair(b?.[0]);
  const by = pair(b?.[1]);
  const bz = pair(b?.[2]);
  if (a === undefined || c === undefined || bx === undefined || by === undefined || bz === undefined)
    return undefined;
  if (bz[0] !== 1n || bz[1] !== 0n) return undefined;
  return { a, b: [bx, by], c };
}

/** The inverse of `parseSnarkjsProof`. */
export function toSnarkjsProof({ a, b, c }: Proof): SnarkjsProof {
  const text = (values: readonly bigint[]): string[] => values.map(String);
  return {
    pi_a: [...text(a), "1"],
    pi_b: [text(b[0]), text(b[1]), ["1", "0"]],
    pi_c: [...text(c), "1"],
    protocol: "groth16",
    curve: "bn128",
  };
}

export interface SnarkjsProof {
  pi_a: string[];
  pi_b: string[][];
  pi_c: string[];
  protocol: string;
  curve: string;
}

function coordinate(value: unknown): bigint | undefined {
  if (typeof value !== "string" || !COORDINATE.test(value)) return undefined;
  const number = BigInt(value);
  return number < BASE_FIELD_ORDER ? number : undefined;
}

function triple(value: unknown): [unknown, unknown, unknown] | undefined {
  return Array.isArray(value) && value.length === 3 ? (value as [unknown, unknown, unknown]) : undefined;
}

function g1(value: unknown): [bigint, bigint] | undefined {
  const parts = triple(value);
  const x = coordinate(parts?.[0]);
  const y = coordinate(parts?.[1]);
  return x === undefined || y === undefined || parts?.[2] !== "1" ? undefined : [x, y];
}

function pair(value: unknown): [bigint, bigint] | undefined {
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const c0 = coordinate(value[0]);
  const c1 = coordinate(value[1]);
  return c0 === undefined || c1 === undefined ? undefined : [c0, c1];
}
