/** The second network with its venue, and wallets that hold dollars there. */
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import type { Wallet } from "../../shared/client/index.ts";
import { startTestStack, type TestStack, type TestStackOptions } from "./stack.ts";
import { LocalVenue } from "./venue.ts";

/** Of the service, for a deposit, transfer or withdrawal of dollars. */
export const FLAT = 50_000n;

export const usd = (dollars: number): bigint => BigInt(dollars) * TestUsdc.unit;

export interface Trading {
  readonly on: TestStack;
  readonly venue: LocalVenue;
  /** A wallet that holds one note of so many dollars, the fee of its deposit apart. */
  walletWith(dollars: number): Promise<Wallet>;
}

export async function startTrading(
  options: Omit<TestStackOptions, "networks" | "chainPort"> = {},
): Promise<Trading> {
  const on = await startTestStack({ ...options, networks: ["second"] });
  return {
    on,
    venue: new LocalVenue(on),
    async walletWith(dollars) {
      const wallet = await on.wallet();
      const amount = usd(dollars) + FLAT;
      await wallet.deposit(amount, await on.depositor(amount));
      return wallet;
    },
  };
}
