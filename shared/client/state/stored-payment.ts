/** A payment's record as JSON holds it. */
import { asField, type Field } from "../../protocol/brands.ts";
import { asAddress, asBytes32 } from "../../protocol/host/text.ts";
import type { PaymentRecord } from "./payment-record.ts";
import type { Text } from "./stored-text.ts";

export type StoredPayment = Omit<Text<PaymentRecord>, "derivation"> & {
  readonly derivation?: Text<NonNullable<PaymentRecord["derivation"]>> | undefined;
};

/** Undefined where a value is out of range: then the state is damaged. */
export function restorePayment(stored: StoredPayment): PaymentRecord | undefined {
  const { tokenOut, derivation, ...rest } = stored;
  const [statement, asset] = [asBytes32(stored.statement), asAddress(stored.asset)];
  const commitments = stored.commitments.map((text) => asField(BigInt(text)));
  const given = tokenOut === undefined ? undefined : asAddress(tokenOut);
  if (statement === undefined || asset === undefined || commitments.some((one) => one === undefined))
    return undefined;
  return {
    ...rest,
    ...{ statement, asset, commitments: commitments as Field[] },
    ...{ amount: BigInt(stored.amount), fees: BigInt(stored.fees) },
    ...(given === undefined ? {} : { tokenOut: given }),
    ...(derivation && { derivation: { change: BigInt(derivation.change), salt: derivation.salt } }),
  };
}
