/**
 * How much of the token every account gained or lost in a transaction: from the balances that the node reports before
 * and after it, so from what happened and never from what the transaction says it does.
 */
import { z } from "zod";
import { decimal, index } from "./node.ts";
import type { AltchainToken } from "./token.ts";

const balance = z.object({
  accountIndex: index,
  mint: z.string(),
  owner: z.string().optional(),
  uiTokenAmount: z.object({ amount: decimal }),
});
export const balancesBothSides = z.object({
  preTokenBalances: z.array(balance),
  postTokenBalances: z.array(balance),
});
export type BalancesBothSides = z.output<typeof balancesBothSides>;

export interface Movement {
  readonly account: string;
  /** Unknown for an account that is gone. */
  readonly owner: string | undefined;
  readonly before: bigint;
  readonly after: bigint;
}

/** Accounts whose balance stayed are left out. `accounts` are all of the transaction, in its order. */
export function movementsOf(
  meta: BalancesBothSides,
  accounts: readonly string[],
  token: AltchainToken,
): Movement[] {
  const sides = new Map<string, { owner: string | undefined; before: bigint; after: bigint }>();
  const note = (side: "before" | "after", entries: BalancesBothSides["preTokenBalances"]): void => {
    for (const entry of entries) {
      const account = accounts[entry.accountIndex];
      if (entry.mint !== token.mint || account === undefined) continue;
      const known = sides.get(account) ?? { owner: entry.owner, before: 0n, after: 0n };
      sides.set(account, { ...known, [side]: entry.uiTokenAmount.amount });
    }
  };
  note("before", meta.preTokenBalances);
  note("after", meta.postTokenBalances);
  return [...sides]
    .map(([account, moved]) => ({ account, ...moved }))
    .filter(({ before, after }) => before !== after);
}

/** What left the supply. Transfers inside the transaction cancel out. */
export function burntIn(movements: readonly Movement[]): bigint {
  return movements.reduce((sum, { before, after }) => sum + before - after, 0n);
}
