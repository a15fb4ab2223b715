/** The part of snarkjs 0.7 that client, scripts and tests use; the package ships no types. */
declare module "snarkjs" {
  export interface Groth16Proof {
    pi_a: string[];
    pi_b: string[][];
    pi_c: string[];
    protocol: string;
    curve: string;
  }
  interface ProofWithSignals {
    proof: Groth16Proof;
    publicSignals: string[];
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
    ): Promise<ProofWithSignals>;
    prove(zkey: FastFile, witness: FastFile): Promise<ProofWithSignals>;
    verify(verificationKey: unknown, publicSignals: readonly string[], proof: unknown): Promise<boolean>;
  };
  export const wtns: {
    calculate(input: CircuitSignals, wasm: FastFile, witness: FastFile): Promise<void>;
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
    preparePhase2(from: FastFile, to: FastFile, logger?: SnarkLogger): Promise<unknown>;
    verify(file: FastFile, logger?: SnarkLogger): Promise<boolean>;
  };
  export const curves: {
    getCurveFromName(name: string): Promise<{ terminate(): Promise<void> }>;
  };
}
