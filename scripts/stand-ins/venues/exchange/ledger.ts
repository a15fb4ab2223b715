// The exchange's money by double entry: whatever is booked moves from one account to another, so the sum of all is zero
// permanently, and nobody but the outside goes below zero.
import { z } from "zod";
import type { Address } from "../../../../shared/protocol/brands.ts";

/** `outside` holds, with a minus, what lies for the exchange on its chain. */
export type Account =
  | `perps:${Address}`
  | `spot:${Address}`
  | "outside"
  /** Debited, and not yet gone. */
  | "leaving"
  | "fees"
  /** Below a minimum: nobody gets it back. */
  | "lost";

export interface Posting {
  readonly from: Account;
  readonly to: Account;
  readonly amount: bigint;
}

export const ledgerShape = z.record(z.string(), z.string().regex(/^-?(0|[1-9][0-9]*)$/));

export class Ledger {
  readonly #balances = new Map<string, bigint>();

  static fromJson(json: z.output<typeof ledgerShape>): Ledger {
    const ledger = new Ledger();
    for (const [account, units] of Object.entries(json)) ledger.#balances.set(account, BigInt(units));
    return ledger;
  }

  toJson(): z.input<typeof ledgerShape> {
    return Object.fromEntries([...this.#balances].map(([account, units]) => [account, String(units)]));
  }

  balance(account: Account): bigint {
    return this.#balances.get(account) ?? 0n;
  }

  /** A user is one who was ever booked to. */
  isKnown(user: Address): boolean {
    return this.#balances.has(`perps:${user}`) || this.#balances.has(`spot:${user}`);
  }

  /** All or, when one of them has not enough, nothing; false then. */
  post(...postings: readonly Posting[]): boolean {
    const after = new Map<Account, bigint>();
    for (const { from, to, amount } of postings) {
      if (amount < 0n) throw new RangeError("an amount below zero");
      after.set(from, (after.get(from) ?? this.balance(from)) - amount);
      after.set(to, (after.get(to) ?? this.balance(to)) + amount);
    }
    if ([...after].some(([account, units]) => units < 0n && account !== "outside")) return false;
    for (const [account, units] of after) this.#balances.set(account, units);
    return true;
  }

  /** Zero, or the books are wrong. */
  sum(): bigint {
    return [...this.#balances.values()].reduce((sum, units) => sum + units, 0n);
  }
}
