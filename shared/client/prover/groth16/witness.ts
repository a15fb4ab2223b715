/** Runs a circuit's witness program. Trusts it with the spending key: its hash was compared before. */
import { WitnessCalculatorBuilder } from "circom_runtime";

/**
 * In pages of 64 kB. Programs of circom 2 bring their own memory; without this, circom_runtime 0.1 reserves 2 GB
 * beside it that nobody uses, and a phone may refuse.
 */
const OPTIONS = { memorySize: 1 };

/** A .wtns file. Throws when the input does not satisfy the circuit. */
export async function witnessFile(
  input: Readonly<Record<string, unknown>>,
  program: Uint8Array,
): Promise<Uint8Array> {
  const calculator = await WitnessCalculatorBuilder(program, OPTIONS);
  return calculator.calculateWTNSBin({ ...input });
}
