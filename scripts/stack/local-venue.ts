// What the second local network can swap: three tokens, real Uniswap v3 pools between them with liquidity, and
// the pool's executor over them. DEVELOPMENT ONLY: prices are made up and liquidity is printed.
import { parseEther, parseUnits, type NonceManager } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";
import { deployContract, deployTestUsdc } from "../deploy/pool.ts";
import type { Deployment } from "./stack-folder.ts";
import { createUniswapPool, deployUniswap, wrapCoins } from "../stand-ins/uniswap.ts";
import { TestUsdc } from "../stand-ins/usdc.ts";

/** What it adds to a deployment. */
interface Venue {
  /** Beside USDC. */
  readonly tokens: Deployment["tokens"];
  readonly swaps: NonNullable<Deployment["swaps"]>;
  readonly price_feeds: NonNullable<Deployment["price_feeds"]>;
}

/** Feeds of dollars have eight places. */
const FEED_DECIMALS = 8;
/** By the feed as on the venue. */
const ETHER_PRICE = parseUnits("2500", FEED_DECIMALS);

const dollars = (amount: string): bigint => parseUnits(amount, 6);

/** Ether at 2,500 dollars, a euro at 1.10. Each pool holds a few million, so a demo's swap hardly moves a price. */
export async function deployVenue(owner: NonceManager, usdc: Address): Promise<Venue> {
  const uniswap = await deployUniswap(owner);
  const { weth } = uniswap;
  // The same code again, as Circle's EURC is USDC's on real networks.
  const eurc = (await deployTestUsdc(owner)).address;
  await wrapCoins(owner, weth, parseEther("2000"));
  const self = await owner.getAddress();
  await TestUsdc.with(usdc, owner).mint(self, dollars("10000000"));
  await TestUsdc.with(eurc, owner).mint(self, dollars("10000000"));

  const pool = (tokenA: Address, tokenB: Address, fee: number, amountA: bigint, amountB: bigint) =>
    createUniswapPool(owner, uniswap, { tokenA, tokenB, fee, amountA, amountB });
  await pool(usdc, weth, 500, dollars("2500000"), parseEther("1000"));
  await pool(usdc, eurc, 100, dollars("1100000"), dollars("1000000"));
  await pool(eurc, weth, 3_000, dollars("2272727"), parseEther("1000"));

  const feed = await deployContract(owner, "TestPriceFeed", [FEED_DECIMALS, "ETH / USD", ETHER_PRICE]);
  const executor = (await deployContract(owner, "UniswapV3Executor", [uniswap.factory])).address;
  return {
    tokens: [
      { symbol: "EURC", address: eurc, decimals: 6 },
      { symbol: "WETH", address: weth, decimals: 18 },
    ],
    price_feeds: { WETH: feed.address },
    swaps: {
      executor,
      factory: uniswap.factory,
      quoter: uniswap.quoter,
      position_manager: uniswap.positionManager,
    },
  };
}
