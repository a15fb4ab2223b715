/** The part of ffjavascript 0.3 with which the client library proves: fields and worker threads of a curve. */
declare module "ffjavascript" {
  /** Elements are 32 bytes, little-endian, in Montgomery form; a polynomial is its elements one after another. */
  export interface ScalarField {
    /** Two-adicity: there are roots of unity of order 2^s. */
    readonly s: number;
    /** Roots of unity: w[k] has order 2^k. */
    readonly w: readonly Uint8Array[];
    /** Where `w` has no entry any more, a shift that moves the largest domain off itself. */
    readonly shift: Uint8Array;
    e(value: bigint | number): Uint8Array;
    mul(a: Uint8Array, b: Uint8Array): Uint8Array;
    neg(a: Uint8Array): Uint8Array;
    fft(values: Uint8Array): Promise<Uint8Array>;
    ifft(values: Uint8Array): Promise<Uint8Array>;
    /** values[i] · first · inc^i */
    batchApplyKey(values: Uint8Array, first: Uint8Array, inc: Uint8Array): Promise<Uint8Array>;
  }
  /** One step of a worker's task: memory of the worker by number, or a call of the curve's WebAssembly. */
  export type Step =
    | { readonly cmd: "ALLOCSET"; readonly var: number; readonly buff: Uint8Array }
    | { readonly cmd: "ALLOC"; readonly var: number; readonly len: number }
    | {
        readonly cmd: "CALL";
        readonly fnName: string;
        readonly params: readonly ({ readonly var: number } | { readonly val: number })[];
      }
    | { readonly cmd: "GET"; readonly out: number; readonly var: number; readonly len: number };
  export interface Workers {
    readonly concurrency: number;
    /** Resolves with what the task's GET steps took, by `out`. The oldest task goes first. */
    queueAction(task: readonly Step[]): Promise<Uint8Array[]>;
  }
  export interface Bn128 {
    readonly Fr: ScalarField;
    terminate(): Promise<void>;
  }
  /** With worker threads (one for each processor) unless `singleThread`; those are shared by all callers. */
  export function buildBn128(singleThread?: boolean): Promise<Bn128>;
}
