/**
 * In which order the members of one call go: swaps last, and otherwise as they were accepted. The last leaf of a
 * swap is known only once it is executed, so whatever stands before the first swap can be put into the tree by
 * the same call.
 */
import type { PoolTransaction } from "../chain/execute-call.ts";

interface Sendable {
  readonly member: Pick<PoolTransaction, "kind">;
}

export function isSwap({ member }: Sendable): boolean {
  return member.kind === "private-swap";
}

/** `accepted`: in order of acceptance. */
export function inSendingOrder<T extends Sendable>(accepted: readonly T[]): T[] {
  return [...accepted.filter((each) => !isSwap(each)), ...accepted.filter(isSwap)];
}
