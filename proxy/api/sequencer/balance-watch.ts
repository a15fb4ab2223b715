/** What the gas wallet has, for the operator's figures. */
import { askNowAndThen } from "../../base/chain/now-and-then.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { Address } from "../../../shared/protocol/brands.ts";

const EVERY_MS = 30_000;

export type BalanceWatch = ReturnType<typeof createBalanceWatch>;

export function createBalanceWatch(chain: Pick<Chain, "balance">, wallet: Address, everyMs = EVERY_MS) {
  const asked = askNowAndThen(() => chain.balance(wallet), everyMs);
  /** Wei. */
  return { ...asked, balance: asked.answer };
}
