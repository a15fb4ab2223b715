/** Groth16 verification keys: snarkjs's JSON to checked numbers, and the hash by which pool, enclave and client name a circuit. */
import { BASE_FIELD_ORDER, type Bytes32 } from "./brands.ts";
import { concatBytes, word } from "./bytes.ts";
import { keccakHex } from "./hash.ts";

/** Affine points with Fp2 as [c0, c1]; `ic` holds one point more than there are public signals. */
export interface VerificationKey {
  readonly alpha: readonly [bigint, bigint];
  readonly beta: readonly [readonly [bigint, bigint], readonly [bigint, bigint]];
  readonly gamma: readonly [readonly [bigint, bigint], readonly [bigint, bigint]];
  readonly delta: readonly [readonly [bigint, bigint], readonly [bigint, bigint]];
  readonly ic: readonly (readonly [bigint, bigint])[];
}

/** Throws on any shape but snarkjs's: keys are our own files, so a bad one is a fault of ours. */
export function parseVerificationKey(json: unknown): VerificationKey {
  const key = json as Record<string, unknown>;
  if (key["protocol"] !== "groth16" || key["curve"] !== "bn128")
    throw new TypeError("not a BN254 Groth16 key");
  const ic = (key["IC"] as unknown[]).map(g1);
  if (ic.length !== Number(key["nPublic"]) + 1) throw new TypeError("IC does not match nPublic");
  return {
    alpha: g1(key["vk_alpha_1"]),
    beta: g2(key["vk_beta_2"]),
    gamma: g2(key["vk_gamma_2"]),
    delta: g2(key["vk_delta_2"]),
    ic,
  };
}

/** alpha, beta, gamma, delta, IC[0…] as 32-byte words, x before y, Fp2 with the imaginary part first (EIP-197). */
export function verificationKeyBytes(key: VerificationKey): Uint8Array {
  const twisted = [key.beta, key.gamma, key.delta].flatMap(([x, y]) => [x[1], x[0], y[1], y[0]]);
  return concatBytes(...[...key.alpha, ...twisted, ...key.ic.flat()].map(word));
}

export function verificationKeyHash(key: VerificationKey): Bytes32 {
  return keccakHex(verificationKeyBytes(key));
}

function number(value: unknown): bigint {
  const parsed = BigInt(value as string);
  if (typeof value !== "string" || parsed < 0n || parsed >= BASE_FIELD_ORDER)
    throw new TypeError("bad coordinate in a key");
  return parsed;
}

function g1(value: unknown): [bigint, bigint] {
  const [x, y, z] = value as unknown[];
  if (number(z) !== 1n) throw new TypeError("key point is not affine");
  return [number(x), number(y)];
}

function g2(value: unknown): [[bigint, bigint], [bigint, bigint]] {
  const [x, y, z] = value as [unknown[], unknown[], unknown[]];
  if (number(z[0]) !== 1n || number(z[1]) !== 0n) throw new TypeError("key point is not affine");
  return [
    [number(x[0]), number(x[1])],
    [number(y[0]), number(y[1])],
  ];
}
