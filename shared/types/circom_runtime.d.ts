/** The part of circom_runtime 0.1 that the client library uses; the package ships no types. */
declare module "circom_runtime" {
  export interface WitnessCalculator {
    /** A .wtns file. */
    calculateWTNSBin(input: Record<string, unknown>, sanityCheck?: boolean): Promise<Uint8Array>;
  }
  export function WitnessCalculatorBuilder(
    program: Uint8Array,
    options?: { readonly memorySize?: number },
  ): Promise<WitnessCalculator>;
}
