/** The part of ffjavascript 0.3 that the enclave, the client library and tests use; the package ships no types. */
declare module "ffjavascript" {
  /** Affine points have two coordinates, Jacobian ones three; both are opaque bytes to us. */
  export interface CurveGroup<Coordinate> {
    readonly g: Uint8Array;
    readonly zero: Uint8Array;
    /** The field of the coordinates; a Jacobian point has three elements of `n8` bytes. */
    readonly F: { readonly n8: number };
    fromObject(affine: readonly [Coordinate, Coordinate]): Uint8Array;
    toObject(point: Uint8Array): Coordinate[];
    toAffine(point: Uint8Array): Uint8Array;
    toJacobian(point: Uint8Array): Uint8Array;
    add(a: Uint8Array, b: Uint8Array): Uint8Array;
    double(point: Uint8Array): Uint8Array;
    neg(point: Uint8Array): Uint8Array;
    /** Bytes are little-endian; the scalar is used as it is, not reduced. */
    timesScalar(point: Uint8Array, scalar: Uint8Array | bigint): Uint8Array;
    /** The scalar is an element of the scalar field, in Montgomery form. */
    timesFr(point: Uint8Array, scalar: Uint8Array): Uint8Array;
    isZero(point: Uint8Array): boolean;
    /** On the curve, or zero. Says nothing about the subgroup. */
    isValid(point: Uint8Array): boolean;
  }
  export interface Bn128 {
    readonly q: bigint;
    readonly r: bigint;
    readonly G1: CurveGroup<bigint>;
    readonly G2: CurveGroup<readonly [bigint, bigint]>;
    readonly Gt: { mul(a: Uint8Array, b: Uint8Array): Uint8Array; eq(a: Uint8Array, b: Uint8Array): boolean };
    pairing(a: Uint8Array, b: Uint8Array): Uint8Array;
    prepareG1(jacobian: Uint8Array): Uint8Array;
    prepareG2(jacobian: Uint8Array): Uint8Array;
    millerLoop(preparedG1: Uint8Array, preparedG2: Uint8Array): Uint8Array;
    finalExponentiation(value: Uint8Array): Uint8Array;
  }
  export function buildBn128(singleThread: true): Promise<Bn128>;
}
