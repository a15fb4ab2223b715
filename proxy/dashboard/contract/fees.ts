/** A developer's fee rules, what the service asks beside them, and what a user pays under both. */
import * as z from "../../../shared/api/zod.ts";
import { feeOperation } from "../../../shared/api/credentials.ts";
import { address, amount } from "../../../shared/api/values.ts";

const basisPoints = z.int("whole basis points").min(0).max(10_000, "10,000 basis points are everything");
const terms = z.object({ flat: amount, bps: z.int(), sink: z.string() });

export const feeRule = z.object({ asset: z.string(), operation: feeOperation, ...terms.shape });
export type FeeRuleView = z.infer<typeof feeRule>;
export const feeRules = z.object({
  rules: z.array(feeRule),
  /** What the service asks now; `unpriced`: in dollars, and there is no price at this moment. */
  service: z.array(
    z.object({
      asset: z.string(),
      operation: feeOperation,
      flat: amount.nullable(),
      bps: z.int(),
      is_unpriced: z.boolean(),
    }),
  ),
  /** Highest basis points of a rule, by operation. */
  most_bps: z.record(feeOperation, z.int()),
});
export type FeeRulesView = z.infer<typeof feeRules>;

const place = { asset: address, operation: feeOperation };
/** fee = flat + floor(amount × bps / 10,000). A sink is chosen for an asset and moves its other rules too; null keeps it. */
export const setFeeRequest = z.strictObject({
  ...place,
  flat: amount,
  bps: basisPoints,
  sink: z.string().trim().max(400).nullable().default(null),
});
export const removeFeeRequest = z.strictObject(place);

/** As if the rule were `flat` and `bps`; nothing is changed. */
export const feePreviewRequest = z.strictObject({ ...place, flat: amount, bps: basisPoints, amount });
export const feePreview = z.object({
  operation: feeOperation,
  asset: z.object({ address: z.string(), symbol: z.string(), decimals: z.int() }),
  /** What was asked about: of a deposit what comes in, of a swap what the user gives up, else what the recipient gets. */
  amount,
  developer_fee: amount,
  service_fee: amount,
  /** The sum of both. */
  fees: amount,
  /** What leaves the user's balance or account. */
  user_pays: amount,
  /** What arrives: at the recipient, on the shielded balance, or at the venue. */
  arrives: amount,
  /** Fees eat all of it: nobody could pay so. */
  is_impossible: z.boolean(),
  /** "Of a transfer of 100 USDC your user pays 100.30 USDC: …" */
  sentence: z.string(),
});
export type FeePreview = z.infer<typeof feePreview>;
