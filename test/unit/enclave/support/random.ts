// Numbers for tests that need any, from a seed that is printed, so that a failure can be had again:
// CLOISTER_TEST_SEED=<that number>.
import { createHash, randomInt } from "node:crypto";
import { FIELD_ORDER, mustField, type Field } from "../../../../shared/protocol/brands.ts";

const seed = process.env["CLOISTER_TEST_SEED"] ?? String(randomInt(2 ** 32));
let count = 0;

/** Any bytes. */
export function someBytes(length: number): Uint8Array {
  if (count === 0) console.log(`      (seed ${seed})`);
  count += 1;
  return createHash("shake256", { outputLength: length })
    .update(`${seed} ${String(count)}`)
    .digest();
}

/** Any element of the scalar field. */
export function aField(): Field {
  return mustField(BigInt(`0x${Buffer.from(someBytes(48)).toString("hex")}`) % FIELD_ORDER);
}

/** Any whole number below `limit`. */
export function below(limit: number): number {
  return Buffer.from(someBytes(6)).readUIntBE(0, 6) % limit;
}
