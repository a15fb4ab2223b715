/** A payment's record as JSON holds it. */
import { asField, type Field } from "../../protocol/brands.ts";
import { asAddress, asBytes32 } from "../../protocol/host/text.ts";
import type { Makings, PaymentRecord } from "./payment-record.ts";
import type { Text } from "./stored-text.ts";

export type StoredPayment = Omit<Text<PaymentRecord>, "derivation" | "makings"> & {
  readonly derivation?: Text<NonNullable<PaymentRecord["derivation"]>> | undefined;
  readonly makings?: (Omit<Text<Makings>, "drawn"> & { readonly drawn: Text<Makings["drawn"]> }) | undefined;
};

/** Undefined where a value is out of range: then the state is damaged. */
export function restorePayment(stored: StoredPayment): PaymentRecord | undefined {
  const { tokenOut, derivation, makings, ...rest } = stored;
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
    ...(makings && { makings: restoreMakings(makings) }),
  };
}

/** What was sealed by this wallet; where it is damaged, the proof fails and nothing else. */
function restoreMakings({ drawn, ...stored }: NonNullable<StoredPayment["makings"]>): Makings {
  const field = (text: string): Field => BigInt(text) as Field;
  return {
    ...stored,
    ...{ root: field(stored.root), amount: BigInt(stored.amount) },
    drawn: {
      npks: drawn.npks.map(field),
      values: drawn.values.map(BigInt),
      dummies: drawn.dummies.map(field),
    },
  };
}
