/**
 * What a sweep takes out of an arrival for the service and the developer: their rules of a deposit, and together never
 * more than the ceiling that the address commits to. Whoever signed up to the ceiling loses no more, whatever a rule says.
 */
import { feeOf, type FeeRule } from "../../../shared/protocol/host/fees.ts";

export interface BridgeFees {
  readonly service: bigint;
  readonly developer: bigint;
  /** The rules ask for more than the ceiling leaves. */
  readonly isCapped: boolean;
}

/** The service first: its part pays for the sweep. */
export function bridgeFees(
  rules: { readonly service: FeeRule | undefined; readonly developer: FeeRule | undefined },
  amount: bigint,
  ceiling: bigint,
): BridgeFees {
  const asked = {
    service: rules.service === undefined ? 0n : feeOf(rules.service, amount),
    developer: rules.developer === undefined ? 0n : feeOf(rules.developer, amount),
  };
  const service = least(asked.service, ceiling);
  const developer = least(asked.developer, ceiling - service);
  return { service, developer, isCapped: service < asked.service || developer < asked.developer };
}

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
