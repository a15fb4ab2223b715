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
    | { readonly cmd: "SET"; readonly var: number; readonly buff: Uint8Array }
    | {
        readonly cmd: "CALL";
        readonly fnName: string;
        readonly params: readonly (
          { readonly var: number; readonly offset?: number } | { readonly val: number }
        )[];
      }
    | { readonly cmd: "GET"; readonly out: number; readonly var: number; readonly len: number };
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- a second declaration must repeat the parameter
  export interface CurveGroup<Coordinate> {
    /** Of points in either form. */
    eq(a: Uint8Array, b: Uint8Array): boolean;
    /** Σ scalars[i] · points[i]; points are affine. */
    multiExpAffine(points: Uint8Array, scalars: Uint8Array): Promise<Uint8Array>;
  }
  /** Present where shared/client/prover/groth16/kernel.ts was the plugin. */
  export interface Bn128Exports {
    g1m_addPairs(pairs: number, end: number, work: number): void;
    g2m_addPairs(pairs: number, end: number, work: number): void;
    g1m_sumRows(rows: number, end: number, work: number): void;
    g2m_sumRows(rows: number, end: number, work: number): void;
  }
  export interface Workers {
    concurrency: number;
    /** Resolves with what the task's GET steps took, by `out`. The oldest task goes first. */
    queueAction: (task: readonly Step[]) => Promise<Uint8Array[]>;
    /** Of a curve for a single thread: its WebAssembly. */
    readonly code: Uint8Array;
  }
  /** Bytes of WebAssembly. */
  export type Code = readonly number[];
  export type ValueType = "i32" | "i64";
  /** Writes code for one function. Memory accesses take an address, then an offset. */
  export interface CodeBuilder {
    getLocal(name: string): Code;
    setLocal(name: string, value: Code): Code;
    call(fnName: string, ...args: readonly Code[]): Code;
    if(condition: Code, then: Code, otherwise?: Code): Code;
    block(body: Code): Code;
    loop(...body: readonly Code[]): Code;
    /** To the `depth`th enclosing block or loop, from the innermost. */
    br(depth: number): Code;
    br_if(depth: number, condition: Code): Code;
    ret(value: Code): Code;
    i32_const(value: number): Code;
    i32_load(address: Code, offset?: number): Code;
    i32_load16_s(address: Code, offset?: number): Code;
    i32_store(address: Code, offset: number, value: Code): Code;
    i32_eqz(a: Code): Code;
    i32_eq(a: Code, b: Code): Code;
    i32_lt_s(a: Code, b: Code): Code;
    i32_lt_u(a: Code, b: Code): Code;
    i32_add(a: Code, b: Code): Code;
    i32_sub(a: Code, b: Code): Code;
    i32_mul(a: Code, b: Code): Code;
    i32_and(a: Code, b: Code): Code;
    i32_xor(a: Code, b: Code): Code;
    i32_shl(a: Code, bits: Code): Code;
    i32_shr_s(a: Code, bits: Code): Code;
    i32_shr_u(a: Code, bits: Code): Code;
  }
  export interface FunctionBuilder {
    addParam(name: string, type: ValueType): void;
    addLocal(name: string, type: ValueType): void;
    addCode(...code: readonly Code[]): void;
    getCodeBuilder(): CodeBuilder;
  }
  /** The curve's module while it is built (package wasmbuilder). */
  export interface ModuleBuilder {
    addFunction(name: string): FunctionBuilder;
    exportFunction(name: string): void;
    /** The address of so many bytes for the functions' own use. */
    alloc(bytes: number): number;
  }
  export interface Bn128 {
    readonly Fr: ScalarField;
  }
  export function buildBn128(singleThread: true, plugins: (module: ModuleBuilder) => void): Promise<Bn128>;
}
