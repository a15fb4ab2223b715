/** Fee notes of one payment, from the rules that the service says are in force, under the ceiling that this client was configured with. */
import type { FeeRules } from "../../api/credentials.ts";
import type { Address } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { feeOf, type FeeOperation } from "../../protocol/host/fees.ts";
import { decodeShieldedAddress, type ShieldedAddress } from "../../notes/address.ts";
import { ClientError } from "../base/errors.ts";
import { feeCeilingOf, type Pins } from "../base/pins.ts";

export interface Fee {
  readonly to: ShieldedAddress;
  readonly value: bigint;
  /** The service wants this note opened. It never asks for one whose value would tell a transfer's amount. */
  readonly enforced: boolean;
}

export interface Fees {
  readonly service: Fee | undefined;
  readonly developer: Fee | undefined;
  readonly total: bigint;
}

export interface Charged {
  readonly asset: Address;
  readonly operation: FeeOperation;
  /** What the bps part is of: a deposit's gross amount, the recipient's note, a withdrawal's public amount. */
  readonly amount: bigint;
}

export function feesFor(rules: readonly FeeRules[], charged: Charged, pins: Pins): Fees {
  const rule = rules.find(
    ({ asset, operation }) => asAddress(asset) === charged.asset && operation === charged.operation,
  );
  const service = feePart(rule?.service ?? null, charged, pins);
  const developer = feePart(rule?.developer ?? null, charged, pins);
  const total = (service?.value ?? 0n) + (developer?.value ?? 0n);
  requireBelowCeiling(total, charged, pins);
  return { service, developer, total };
}

/** Throws FEE_ABOVE_CEILING for more than this client was configured to pay for one operation. */
export function requireBelowCeiling(total: bigint, charged: Charged, pins: Pins): void {
  const ceiling = feeCeilingOf(pins, charged.asset, charged.operation);
  if (total > 0n && (ceiling === undefined || total > feeOf(ceiling, charged.amount))) {
    throw new ClientError("FEE_ABOVE_CEILING", `${charged.operation}: ${total}`);
  }
}

function feePart(part: FeeRules["service"], { operation, amount }: Charged, pins: Pins): Fee | undefined {
  if (part === null) return undefined;
  const value = feeOf({ flat: BigInt(part.flat), bps: part.bps }, amount);
  if (value === 0n) return undefined;
  if (pins.feeSinks !== undefined && !pins.feeSinks.includes(part.sink)) {
    throw new ClientError("PIN_MISMATCH", "a fee to an unknown sink");
  }
  const to = decodeShieldedAddress(part.sink, pins.addressPrefix);
  if (to === undefined) throw new ClientError("UNEXPECTED_ANSWER", "a fee sink is no shielded address");
  // Opening a note that depends on a transfer's amount would tell the proxy the amount, whatever it asks for.
  const tellsAmount = operation === "transfer" && part.bps > 0;
  return { to, value, enforced: part.enforced && !tellsAmount };
}
