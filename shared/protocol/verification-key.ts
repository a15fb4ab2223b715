/** Groth16 verification keys: snarkjs's JSON to checked numbers, and the hash by which pool, enclave and client name a circuit. */
import { BASE_FIELD_ORDER, type Bytes32 } from "./brands.ts";
import { concatBytes, word } from "./bytes.ts";
import { keccakHex } from "./hash.ts";

type G1 = readonly [bigint, bigint];
type G2 = readonly [readonly [bigint, bigint], readonly [bigint, bigint]];

/** Affine points with Fp2 as [c0, c1]; `ic` holds one point more than there are public signals. */
export type VerificationKey = Readonly<ReturnType<typeof parseVerificationKey>>;

/** Throws on any shape but snarkjs's: keys are our own files, so a bad one is a fault of ours. */
export function parseVerificationKey(json: unknown) {
  const key = json as Record<string, unknown>;
  if (key["protocol"] !== "groth16" || key["curve"] !== "bn128")
    throw new TypeError("not a BN254 Groth16 key");
  const ic: readonly G1[] = (key["IC"] as unknown[]).map(g1);
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

/** Projective, with z = 1 as snarkjs writes it. */
function affine<T>(value: unknown, coordinate: (value: unknown) => T, one: string): [T, T] {
  const [x, y, z] = value as unknown[];
  if (JSON.stringify(z) !== one) throw new TypeError("key point is not affine");
  return [coordinate(x), coordinate(y)];
}

const g1 = (value: unknown): G1 => affine(value, number, '"1"');
const g2 = (value: unknown): G2 => affine(value, complex, '["1","0"]');
const complex = (value: unknown): [bigint, bigint] => {
  const [c0, c1] = value as unknown[];
  return [number(c0), number(c1)];
};
