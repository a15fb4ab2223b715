// Real Uniswap v3 with some liquidity, and the pool's executor over it.
import { Contract, type JsonRpcSigner } from "ethers";
import type { Address } from "../../../shared/protocol/brands.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import {
  createUniswapPool,
  deployUniswap,
  wrapCoins,
  type Uniswap,
} from "../../../scripts/stand-ins/uniswap.ts";

export interface Market extends Uniswap {
  readonly executor: Address;
  /** Plain EIP-20 with 18 decimals, printed by anybody. */
  readonly token: Address;
  /** usdc – weth at 500, 2,500 dollars each. */
  readonly dollarPool: Address;
}

const DOLLAR = 10n ** 6n;
const COIN = 10n ** 18n;

/**
 * usdc –500– weth, weth –3000– token, and usdc –10000– token with so little liquidity, so near to its price, that a
 * thousand dollars exhaust it.
 */
export async function openMarket(owner: JsonRpcSigner, usdc: Address): Promise<Market> {
  const uniswap = await deployUniswap(owner);
  const token = (await deployContract(owner, "TestToken", ["Test Token", "TEST", 18])).address;
  for (const [address, amount] of [
    [usdc, 10n ** 13n],
    [token, 10n ** 24n],
  ] as const) {
    const printed = new Contract(address, ["function mint(address to, uint256 value)"], owner);
    await (await printed.getFunction("mint")(owner.address, amount)).wait();
  }
  await wrapCoins(owner, uniswap.weth, 2_000n * COIN);

  const { weth } = uniswap;
  const deep = { tokenA: usdc, tokenB: weth, fee: 500, amountA: 2_500_000n * DOLLAR, amountB: 1_000n * COIN };
  const dollarPool = await createUniswapPool(owner, uniswap, deep);
  const second = { tokenA: weth, tokenB: token, fee: 3_000, amountA: 500n * COIN, amountB: 50_000n * COIN };
  await createUniswapPool(owner, uniswap, second);
  const shallow = { tokenA: usdc, tokenB: token, amountA: 100n * DOLLAR, amountB: 4n * COIN };
  await createUniswapPool(owner, uniswap, { ...shallow, fee: 10_000, reachTicks: 1_000 });

  const executor = (await deployContract(owner, "UniswapV3Executor", [uniswap.factory])).address;
  return { ...uniswap, executor, token, dollarPool };
}
