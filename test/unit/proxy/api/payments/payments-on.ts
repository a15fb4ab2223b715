import type { Admission } from "../../../../../proxy/api/payments/admission.ts";
import { createAttestations } from "../../../../../proxy/api/payments/attestations.ts";
import { createPayments, type Payments } from "../../../../../proxy/api/payments/payments.service.ts";
import { keepsNothing } from "../../../../support/fees.ts";
import type { Money } from "../../../../support/money.ts";

/** The service's own steps on a stage's chain, enclave and store. */
export function paymentsOn(
  { pool, data, attestor, accepting }: Money,
  admission: Pick<Admission, "admit">,
): Payments {
  const attestations = createAttestations(attestor);
  return createPayments({ ...accepting, pool, data, admission, attestations, feeNotes: keepsNothing });
}
