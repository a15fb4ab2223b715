// Uniswap's own quoter, asked what a swap would give.
import { Contract, type ContractRunner } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";

const QUOTER_ABI = [
  "function quoteExactInput(bytes path, uint256 amountIn) returns (uint256 amountOut, uint160[] sqrtPriceX96AfterList, uint32[] initializedTicksCrossedList, uint256 gasEstimate)",
];

/**
 * What an exact input along Uniswap's packed path (`0x`, token[20] fee[3] token[20] …) would give now, asked
 * by eth_call. Throws when there is no such pool.
 */
export async function quoteExactInput(
  chain: ContractRunner,
  quoter: Address,
  path: string,
  amount: bigint,
): Promise<bigint> {
  const [amountOut] = await new Contract(quoter, QUOTER_ABI, chain)
    .getFunction("quoteExactInput")
    .staticCallResult(path, amount);
  return amountOut as bigint;
}
