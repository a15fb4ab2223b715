/** The part of ffjavascript 0.3 that the enclave, the client library, tests and benchmarks use; the package ships no types. */
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
  /** Functions of the WebAssembly that wasmcurves generates. Every argument is an address in its memory, unless named otherwise; the last one is where the result goes. */
  export interface Bn128Exports {
    g1m_zero(out: number): void;
    g1m_isZeroAffine(point: number): number;
    g1m_addMixed(jacobian: number, affine: number, out: number): void;
    g1m_batchToAffine(jacobians: number, count: number, out: number): void;
    g1m_timesScalarAffine(affine: number, scalar: number, scalarBytes: number, out: number): void;
    g1m_multiexpAffine(
      affines: number,
      scalars: number,
      scalarBytes: number,
      count: number,
      out: number,
    ): void;
    f2m_add(a: number, b: number, out: number): void;
    f2m_mul(a: number, b: number, out: number): void;
    /** `b` is in the base field. */
    f2m_mul1(a: number, b: number, out: number): void;
    f2m_conjugate(a: number, out: number): void;
    f2m_isZero(a: number): number;
    f2m_exp(base: number, exponent: number, exponentBytes: number, out: number): void;
    ftm_one(out: number): void;
    ftm_mul(a: number, b: number, out: number): void;
    ftm_square(a: number, out: number): void;
    ftm_eq(a: number, b: number): number;
    bn128_prepareG2(jacobian: number, out: number): void;
    bn128_finalExponentiation(value: number, out: number): void;
    /** Multiplies `value` by the line with these three coefficients, in place. */
    bn128__mulBy024(c0: number, vw: number, vv: number, value: number): void;
  }
  export interface Workers {
    /** Never given back; the memory does not grow. */
    alloc(bytes: number): number;
    allocBuff(bytes: Uint8Array): number;
    setBuff(at: number, bytes: Uint8Array): void;
    getBuff(at: number, bytes: number): Uint8Array;
    readonly instance: { readonly exports: Bn128Exports };
  }
  export interface Bn128 {
    readonly q: bigint;
    readonly r: bigint;
    readonly preQSize: number;
    readonly F2: { fromObject(value: readonly [bigint, bigint]): Uint8Array };
    readonly G1: CurveGroup<bigint>;
    readonly G2: CurveGroup<readonly [bigint, bigint]>;
    pairing(a: Uint8Array, b: Uint8Array): Uint8Array;
    /** Whether e(g1, g2) · e(g1, g2) · … is one. */
    pairingEq(...pairs: Uint8Array[]): Promise<boolean>;
    readonly tm: Workers;
  }
  export function buildBn128(singleThread: true): Promise<Bn128>;
}
