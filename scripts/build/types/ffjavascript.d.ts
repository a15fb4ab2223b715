/** What only the benchmarks' keys need of ffjavascript 0.3, beside shared/types/. */
declare module "ffjavascript" {
  export interface Bn128 {
    /** Values of the pairing. */
    readonly Gt: { toObject(value: Uint8Array): unknown };
  }
}
