/** The two fields of BN254, as SPEC, section 1 names them. */

/** Order of the scalar field: signals, nodes, hashes. */
export const r = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
/** Order of the base field: coordinates of points. */
export const q = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;

/** x and x + r are one scalar to a pairing; only the first is a spelling of it. */
export const isFieldElement = (number: bigint): boolean => number >= 0n && number < r;

/** base^exponent mod r. */
export function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let square = base, rest = exponent; rest > 0n; rest >>= 1n, square = (square * square) % r) {
    if ((rest & 1n) === 1n) result = (result * square) % r;
  }
  return result;
}

/** 1 / x mod r, by Fermat. */
export const inverse = (x: bigint): bigint => power(x, r - 2n);
