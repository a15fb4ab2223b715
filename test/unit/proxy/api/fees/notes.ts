// Fee notes, their openings and the statements that carry them, as the fee rules see them.
import type { FeeOpening } from "../../../../../proxy/api/fees/fee-rules.ts";
import { mustField, type Address, type Field } from "../../../../../shared/protocol/brands.ts";
import { addressToField, asAddress } from "../../../../../shared/protocol/host/text.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { poseidon2, poseidon3 } from "../../../../../shared/protocol/host/poseidon.ts";
import type { Facts, Kind } from "../../../../../shared/protocol/statements.ts";

export const USDC = asAddress(`0x${"11".repeat(20)}`) as Address;
export const OTHER = asAddress(`0x${"22".repeat(20)}`) as Address;
const BLINDING = mustField(4242n);

export const commit = (owner: Field, asset: Address, value: bigint, blinding: Field = BLINDING): Field =>
  poseidon3(poseidon2(owner, blinding), BigInt(asset), value);

export const opening = (
  output: number,
  value: bigint,
  asset: Address = USDC,
  blinding: Field = BLINDING,
): FeeOpening => ({
  output,
  asset,
  blinding: toHex(word(blinding)),
  value: String(value),
});

/** A transfer's amount, which is hidden, is given as zero; its asset then is too. */
export function facts(
  kind: Kind,
  amount: bigint,
  commitments: readonly Field[],
  asset: Address = USDC,
): Facts {
  return {
    context: mustField(0n),
    root: kind === "deposit-shield" ? undefined : mustField(1n),
    asset: amount === 0n ? mustField(0n) : addressToField(asset),
    amount: mustField(amount),
    nullifiers: [],
    commitments,
  };
}
