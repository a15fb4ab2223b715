// Uniswap v3 as its authors published it, on a local chain, with pools that have liquidity. DEVELOPMENT ONLY:
// on a real network the venue is there already. Trusts the npm artefacts that the lock file pins.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Contract, ContractFactory, type InterfaceAbi, type Signer } from "ethers";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";

export interface Uniswap {
  readonly factory: Address;
  readonly positionManager: Address;
  /** QuoterV2. */
  readonly quoter: Address;
  /** WETH9, the wrapped native coin: no EIP-3009, no permit. */
  readonly weth: Address;
}

export interface PoolTerms {
  readonly tokenA: Address;
  readonly tokenB: Address;
  /** Tier in hundredths of a basis point: 100, 500, 3000 or 10000. */
  readonly fee: number;
  /** Liquidity, in smallest units; the wallet must hold it. The price is amountB / amountA. */
  readonly amountA: bigint;
  readonly amountB: bigint;
  /** How far around the price the liquidity reaches, in ticks of 0.01 %. Default: over all prices. */
  readonly reachTicks?: number;
}

/** Five transactions. */
export async function deployUniswap(wallet: Signer): Promise<Uniswap> {
  const factory = await deploy(wallet, ARTEFACTS.factory, []);
  const weth = await deploy(wallet, ARTEFACTS.weth, []);
  // The third is asked for pictures of positions only.
  const positionManager = await deploy(wallet, ARTEFACTS.positionManager, [factory, weth, ZERO_ADDRESS]);
  const quoter = await deploy(wallet, ARTEFACTS.quoter, [factory, weth]);
  // The lowest tier came by a vote, after the code; on real networks it is on.
  const made = new Contract(factory, ["function enableFeeAmount(uint24 fee, int24 tickSpacing)"], wallet);
  await send(made, "enableFeeAmount", 100, TICK_SPACING[100]);
  return { factory, positionManager, quoter, weth };
}

/** Makes the pool and gives it liquidity. Three transactions. */
export async function createUniswapPool(
  wallet: Signer,
  uniswap: Uniswap,
  terms: PoolTerms,
): Promise<Address> {
  const isSorted = BigInt(terms.tokenA) < BigInt(terms.tokenB);
  const [token0, token1] = isSorted ? [terms.tokenA, terms.tokenB] : [terms.tokenB, terms.tokenA];
  const [amount0, amount1] = isSorted ? [terms.amountA, terms.amountB] : [terms.amountB, terms.amountA];
  for (const [token, amount] of [[token0, amount0] as const, [token1, amount1] as const]) {
    const contract = new Contract(token, ["function approve(address spender, uint256 value)"], wallet);
    await send(contract, "approve", uniswap.positionManager, amount);
  }
  const manager = new Contract(uniswap.positionManager, MANAGER_ABI, wallet);
  const [lower, upper] = rangeOf(terms, amount0, amount1);
  await send(manager, "multicall", [
    manager.interface.encodeFunctionData("createAndInitializePoolIfNecessary", [
      token0,
      token1,
      terms.fee,
      squareRoot((amount1 << 192n) / amount0),
    ]),
    manager.interface.encodeFunctionData("mint", [
      [
        token0,
        token1,
        terms.fee,
        lower,
        upper,
        amount0,
        amount1,
        0n,
        0n,
        await wallet.getAddress(),
        4_000_000_000n,
      ],
    ]),
  ]);
  const factory = new Contract(
    uniswap.factory,
    ["function getPool(address, address, uint24) view returns (address)"],
    wallet,
  );
  return mustAddress(await factory.getFunction("getPool")(token0, token1, terms.fee));
}

/** Turns the wallet's native coin into its token. */
export async function wrapCoins(wallet: Signer, weth: string, amount: bigint): Promise<void> {
  await (await wallet.sendTransaction({ to: weth, value: amount })).wait();
}

// ---------------------------------------------------------------- parts

/** Where the packages keep what they compiled. */
const ARTEFACTS = {
  factory: "@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json",
  positionManager:
    "@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json",
  quoter: "@uniswap/v3-periphery/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json",
  weth: "canonical-weth/build/contracts/WETH9.json",
} as const;

const MANAGER_ABI = [
  "function multicall(bytes[] data)",
  "function createAndInitializePoolIfNecessary(address token0, address token1, uint24 fee, uint160 sqrtPriceX96)",
  "function mint((address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint256 amount0Desired, uint256 amount1Desired, uint256 amount0Min, uint256 amount1Min, address recipient, uint256 deadline) params)",
];

/** Positions begin and end at multiples of this, by tier. */
const TICK_SPACING: Readonly<Record<number, number>> = { 100: 1, 500: 10, 3_000: 60, 10_000: 200 };
/** Tick t stands for the price 1.0001^t; beyond this lies none. */
const MAX_TICK = 887_272;

function rangeOf(terms: PoolTerms, amount0: bigint, amount1: bigint): [number, number] {
  const spacing = TICK_SPACING[terms.fee];
  if (spacing === undefined) throw new RangeError("not a tier of Uniswap v3");
  if (terms.reachTicks === undefined) {
    const end = Math.floor(MAX_TICK / spacing) * spacing;
    return [-end, end];
  }
  const here = Math.log(Number(amount1) / Number(amount0)) / Math.log(1.0001);
  return [
    Math.floor((here - terms.reachTicks) / spacing) * spacing,
    Math.ceil((here + terms.reachTicks) / spacing) * spacing,
  ];
}

async function deploy(wallet: Signer, artefact: string, args: readonly unknown[]): Promise<Address> {
  const file = createRequire(import.meta.url).resolve(artefact);
  const { abi, bytecode } = JSON.parse(await readFile(file, "utf8")) as {
    abi: InterfaceAbi;
    bytecode: string;
  };
  const contract = await new ContractFactory(abi, bytecode, wallet).deploy(...args);
  await contract.waitForDeployment();
  return mustAddress(await contract.getAddress());
}

async function send(contract: Contract, name: string, ...args: readonly unknown[]): Promise<void> {
  const method = contract.getFunction(name);
  // A pool writes its oracle in the first trade of each second: a call that was estimated in the second of the last
  // block needs more in the next one.
  const gasLimit = ((await method.estimateGas(...args)) * 3n) / 2n;
  const sent = (await method(...args, { gasLimit })) as { wait(): Promise<unknown> };
  await sent.wait();
}

/** The largest whole number whose square is not above `square`. */
function squareRoot(square: bigint): bigint {
  if (square < 2n) return square;
  let root = 1n << BigInt(Math.ceil(square.toString(2).length / 2));
  for (;;) {
    const next = (root + square / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

export function mustAddress(text: unknown): Address {
  const address = asAddress(text);
  if (address === undefined) throw new TypeError("not an address");
  return address;
}
