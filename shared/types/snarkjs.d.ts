/** The part of snarkjs 0.7 that client, scripts and tests use; the package ships no types. */
declare module "snarkjs" {
  export interface Groth16Proof {
    pi_a: string[];
    pi_b: string[][];
    pi_c: string[];
    protocol: string;
    curve: string;
  }
  /** A path, bytes in memory (`Uint8Array`), or a memory file to write into. */
  export type FastFile = string | Uint8Array | { type: "mem"; data?: Uint8Array };
  export type CircuitSignals = Record<string, unknown>;
  export interface SnarkLogger {
    debug(text: string): void;
    info(text: string): void;
    warn(text: string): void;
    error(text: string): void;
  }
  export const groth16: {
    fullProve(
      input: CircuitSignals,
      wasm: FastFile,
      zkey: FastFile,
      logger?: SnarkLogger,
      witnessOptions?: unknown,
      proverOptions?: { singleThread?: boolean },
    ): Promise<{ proof: Groth16Proof; publicSignals: string[] }>;
    prove(
      zkey: FastFile,
      witness: FastFile,
      logger?: SnarkLogger,
      options?: { singleThread?: boolean },
    ): Promise<{ proof: Groth16Proof; publicSignals: string[] }>;
    verify(
      verificationKey: unknown,
      publicSignals: readonly string[],
      proof: unknown,
      logger?: SnarkLogger,
    ): Promise<boolean>;
  };
  export const wtns: {
    calculate(input: CircuitSignals, wasm: FastFile, witness: FastFile, options?: unknown): Promise<void>;
    check(r1cs: FastFile, witness: FastFile, logger?: SnarkLogger): Promise<boolean>;
    exportJson(witness: FastFile): Promise<bigint[]>;
  };
  export const r1cs: {
    info(r1cs: FastFile, logger?: SnarkLogger): Promise<Record<string, unknown>>;
    exportJson(r1cs: FastFile, logger?: SnarkLogger): Promise<Record<string, unknown>>;
  };
  export const zKey: {
    newZKey(r1cs: FastFile, ptau: FastFile, zkey: FastFile, logger?: SnarkLogger): Promise<unknown>;
    contribute(
      from: FastFile,
      to: FastFile,
      name: string,
      entropy: string | Uint8Array,
      logger?: SnarkLogger,
    ): Promise<unknown>;
    beacon(
      from: FastFile,
      to: FastFile,
      name: string,
      beaconHash: string | Uint8Array,
      iterationsExponent: number,
      logger?: SnarkLogger,
    ): Promise<unknown>;
    verifyFromInit(initial: FastFile, ptau: FastFile, zkey: FastFile, logger?: SnarkLogger): Promise<boolean>;
    verifyFromR1cs(r1cs: FastFile, ptau: FastFile, zkey: FastFile, logger?: SnarkLogger): Promise<boolean>;
    exportVerificationKey(zkey: FastFile, logger?: SnarkLogger): Promise<Record<string, unknown>>;
  };
  export const powersOfTau: {
    newAccumulator(curve: unknown, power: number, file: FastFile, logger?: SnarkLogger): Promise<unknown>;
    contribute(
      from: FastFile,
      to: FastFile,
      name: string,
      entropy: string | Uint8Array,
      logger?: SnarkLogger,
    ): Promise<unknown>;
    beacon(
      from: FastFile,
      to: FastFile,
      name: string,
      beaconHash: string | Uint8Array,
      iterationsExponent: number,
      logger?: SnarkLogger,
    ): Promise<unknown>;
    preparePhase2(from: FastFile, to: FastFile, logger?: SnarkLogger): Promise<unknown>;
    verify(file: FastFile, logger?: SnarkLogger): Promise<boolean>;
  };
  export const curves: {
    getCurveFromName(
      name: string,
      options?: { singleThread?: boolean },
    ): Promise<{ terminate(): Promise<void> }>;
  };
}
