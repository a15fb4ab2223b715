/**
 * The four bridge endpoints as they are agreed. No instance runs them yet: each answers FEATURE_DISABLED, so
 * they stand apart from ENDPOINTS, which holds what is served. Nothing but the document is made from this.
 */
import * as z from "zod";
import { reading, type Endpoint } from "./endpoints.ts";
import type { ErrorCode } from "./errors.ts";
import { ciphertext, ephemeralKey } from "./transactions.ts";
import { address, amount, bytes32, bridgeId, fieldElement, ticketId } from "./values.ts";

const receiver = {
  npk: fieldElement.meta({ description: "Whose note the money becomes: H(owner, blinding)" }),
  ephemeral_key: ephemeralKey,
  ciphertext,
};
/** The other chain's own spelling differs from ours; its check belongs to the venue. */
const foreignAddress = z.string().min(1).max(128);

const inAddressBody = z
  .strictObject({
    ...receiver,
    refund_address: address.meta({ description: "Gets the money back when it cannot be shielded" }),
  })
  .meta({ id: "BridgeInRequest" });
const outAddressBody = z
  .strictObject({
    account: address.meta({ description: "On the exchange; nobody else can be paid" }),
    ...receiver,
  })
  .meta({ id: "BridgeOutRequest" });
const depositAddressBody = z
  .strictObject({ ...receiver, refund_address: foreignAddress.meta({ description: "On the other chain" }) })
  .meta({ id: "BridgeDepositRequest" });

const bridgeState = z.enum([
  "awaiting_funds",
  "detected",
  "confirming",
  "bridging",
  "shielding",
  "completed",
  "below_minimum",
  "refunding",
  "refunded",
  "failed",
]);

const bridgeAddress = z
  .object({
    bridge_id: bridgeId,
    address: z.string().meta({ description: "Where to send; in the spelling of the chain it is on" }),
    asset: address,
    minimum: amount,
    fees: z.object({ service: amount, venue: amount }),
    state: bridgeState,
    factory: address,
    salt: bytes32,
    init_code_hash: bytes32,
    fee_ceiling: amount,
    timeout: z.int().min(0).meta({ description: "Seconds after which anybody may return the money" }),
    program: z.string().optional().meta({ description: "altchain only: the program the address belongs to" }),
    estimated_secs: z.int().min(0).optional(),
  })
  .meta({ id: "BridgeAddress", description: "With what the caller needs to compute the address again" });

const bridgeStatus = z
  .object({
    bridge_id: bridgeId,
    direction: z.enum(["in", "out"]),
    venue: z.enum(["perpvenue", "altchain"]),
    state: bridgeState,
    amount: amount.nullable(),
    transactions: z.array(z.object({ chain: z.string(), hash: z.string() })),
    ticket_id: ticketId.nullable(),
    error: z.object({ code: z.string(), detail: z.string() }).nullable(),
  })
  .meta({ id: "BridgeStatus" });

const bridgeQuery = z.strictObject({
  id: bridgeId.optional(),
  address: z.string().max(128).optional().meta({ description: "Instead of the id" }),
});

type Off = Endpoint & { readonly codes: readonly ["FEATURE_DISABLED", ...ErrorCode[]] };
const codes = ["FEATURE_DISABLED", "IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_MISMATCH"] as const;

function addressFor(path: string, summary: string, body: z.ZodType): Off {
  return { method: "POST", path, summary, access: "write", body, responses: { 200: bridgeAddress }, codes };
}

export const BRIDGE_ENDPOINTS = {
  bridgeFromVenue: addressFor(
    "/bridge/perpvenue/in-address",
    "Deposit address for funds coming from the perpetuals exchange",
    inAddressBody,
  ),
  bridgeToVenue: addressFor(
    "/bridge/perpvenue/out-address",
    "Deposit address for a withdrawal to the perpetuals exchange",
    outAddressBody,
  ),
  bridgeFromChain: addressFor(
    "/bridge/altchain/deposit-address",
    "Deposit address for funds coming from the other blockchain",
    depositAddressBody,
  ),
  bridgeStatus: {
    ...reading("/bridge/status", "Progress of a bridge request"),
    query: bridgeQuery,
    responses: { 200: bridgeStatus },
    codes: ["FEATURE_DISABLED", "BRIDGE_UNKNOWN"],
  },
} as const satisfies Record<string, Off>;
