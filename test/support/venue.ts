/** The local venue as strangers use it: quotes, paths, trades that move a price, pools of their own. */
import { Contract, type JsonRpcSigner } from "ethers";
import type { NetworkEntry } from "../../scripts/base/stack-file.ts";
import { createUniswapPool } from "../../scripts/stand-ins/uniswap.ts";
import { quoteExactInput } from "./quoter.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import { encodeUniswapPath } from "../../shared/api/uniswap-path.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import type { TestNetwork } from "./stack.ts";

/** Tier of the pool of dollars and ether that the stack makes. */
export const ETHER_TIER = 500;
/** Of dollars and euros. */
export const EURO_TIER = 100;

const TOKEN_ABI = [
  "function transfer(address to, uint256 value)",
  "function balanceOf(address) view returns (uint256)",
];
const EXECUTOR_ABI = [
  "function swap(address tokenIn, uint256 amountIn, uint24 feeFirst, address middle, uint24 feeSecond, address tokenOut)",
];
/** Ahead of everything that the proxy offers for a place in a block. */
const FIRST_IN_BLOCK = { maxPriorityFeePerGas: 400_000_000_000n, maxFeePerGas: 800_000_000_000n };

export class LocalVenue {
  readonly usdc: Address;
  readonly eurc: Address;
  readonly weth: Address;
  readonly #network: TestNetwork;
  readonly #swaps: NonNullable<NetworkEntry["swaps"]>;

  constructor(network: TestNetwork) {
    const { swaps, tokens } = network.entry;
    if (swaps === undefined) throw new Error("this network has no venue");
    const addressOf = (symbol: string): Address =>
      mustAddress(tokens.find((token) => token.symbol === symbol)?.address);
    this.#network = network;
    this.#swaps = swaps;
    this.usdc = addressOf("USDC");
    this.eurc = addressOf("EURC");
    this.weth = addressOf("WETH");
  }

  /** One pool, or two with the tier of the second after a token between them. */
  path(tokenIn: Address, feeFirst: number, ...rest: [Address] | [Address, number, Address]): string {
    const [middle, feeSecond, tokenOut] = rest.length === 1 ? [ZERO_ADDRESS, 0, rest[0]] : rest;
    return encodeUniswapPath({ tokenIn, path: { feeFirst, middle, feeSecond }, tokenOut });
  }

  quote(path: string, amount: bigint): Promise<bigint> {
    return quoteExactInput(this.#network.chain, mustAddress(this.#swaps.quoter), path, amount);
  }

  /** A stranger with so many dollars, ready to buy at once; `strike` is one transaction, the first of its block. */
  async buyer(amount: bigint, fee: number, tokenOut: Address): Promise<{ strike(): Promise<unknown> }> {
    const whale = await this.#whale();
    await (await TestUsdc.at(this.usdc, this.#network.chain)).mint(await whale.getAddress(), amount);
    const usdc = new Contract(this.usdc, TOKEN_ABI, whale);
    await mined(usdc.getFunction("transfer")(this.#swaps.executor, amount));
    const executor = new Contract(this.#swaps.executor, EXECUTOR_ABI, whale);
    return {
      strike: () =>
        executor.getFunction("swap")(this.usdc, amount, fee, ZERO_ADDRESS, 0, tokenOut, {
          ...FIRST_IN_BLOCK,
          gasLimit: 10_000_000n,
        }) as Promise<unknown>,
    };
  }

  /** A pool of dollars and euros at par, with little liquidity close around that price. */
  async thinPool(fee: number, amount: bigint): Promise<void> {
    const whale = await this.#whale();
    const self = await whale.getAddress();
    for (const token of [this.usdc, this.eurc])
      await (await TestUsdc.at(token, this.#network.chain)).mint(self, amount);
    const { factory, quoter, position_manager: manager } = this.#swaps;
    const uniswap = {
      factory: mustAddress(factory),
      quoter: mustAddress(quoter),
      positionManager: mustAddress(manager),
      weth: this.weth,
    };
    await createUniswapPool(whale, uniswap, {
      ...{ tokenA: this.usdc, tokenB: this.eurc, fee },
      ...{ amountA: amount, amountB: amount, reachTicks: 1_000 },
    });
  }

  balanceOf(token: Address, owner: string): Promise<bigint> {
    const contract = new Contract(token, TOKEN_ABI, this.#network.chain);
    return contract.getFunction("balanceOf")(owner) as Promise<bigint>;
  }

  #whale(): Promise<JsonRpcSigner> {
    return this.#network.chain.getSigner(3);
  }
}

async function mined(sending: Promise<unknown>): Promise<void> {
  await ((await sending) as { wait(): Promise<unknown> }).wait();
}

function mustAddress(text: unknown): Address {
  const address = asAddress(text);
  if (address === undefined) throw new TypeError("not an address");
  return address;
}
