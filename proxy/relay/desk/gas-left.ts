/** What a wallet of ours can pay for now, so that every proxy tells the same of it, also one that sends nothing. */
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Chain } from "../../base/chain/provider.ts";
import { firstFees } from "../../base/chain/gas-wallet.ts";

/** In gas, at the fees of a first try. `cap` in wei: more is never bid. */
export async function gasLeft(
  chain: Pick<Chain, "header" | "priorityFee" | "balance">,
  wallet: Address,
  cap: bigint,
): Promise<bigint> {
  const [head, tip, balance] = await Promise.all([
    chain.header("latest"),
    chain.priorityFee(),
    chain.balance(wallet),
  ]);
  if (head === undefined) throw new Error("the chain has no newest block");
  const { maxFeePerGas } = firstFees(head.baseFee, tip, cap);
  return balance / (maxFeePerGas === 0n ? 1n : maxFeePerGas);
}
