/**
 * Uniswap v3 as quotes need it, asked by eth_call: which pools a pair has, their prices, and what an exact
 * input would bring (QuoterV2). The factory and the quoter are the operator's choice and trusted; a pool is
 * somebody else's and may revert, burn gas or answer rubbish: then it does not exist for us, and the others
 * still do. Only the node's own silence fails a question.
 */
import { Interface } from "ethers";
import { ZERO_ADDRESS, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { FEE_TIERS } from "../../../shared/protocol/statements.ts";
import { ChainUnreachable, ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { ConcurrencyLimit } from "../../base/chain/concurrency-limit.ts";

/** A pool with something to give, in the direction it is asked for. */
export interface Market {
  readonly pool: Address;
  /** Its fee in hundredths of a basis point: one of FEE_TIERS. */
  readonly tier: number;
  readonly tokenIn: Address;
  readonly tokenOut: Address;
  /** Square root of the price of token0 in token1, times 2^96. */
  readonly sqrtPriceX96: bigint;
  /** All that it holds of `tokenOut`. */
  readonly stock: bigint;
}

export interface HopQuote {
  readonly amountOut: bigint;
  /** What the pool's own part took. */
  readonly gas: bigint;
}

/** The block that all answers are of, by hash: two answers by number could be of two branches. */
export interface Moment {
  readonly block: Bytes32;
  /** Ends what has not been asked yet. */
  readonly signal: AbortSignal;
}

export interface VenueAddresses {
  readonly factory: Address;
  /** QuoterV2. */
  readonly quoter: Address;
}

export const VENUE_ABI = [
  "function factory() view returns (address)",
  "function feeAmountTickSpacing(uint24 fee) view returns (int24)",
  "function getPool(address tokenA, address tokenB, uint24 fee) view returns (address)",
  "function balanceOf(address account) view returns (uint256)",
  "function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)",
  "function quoteExactInputSingle((address tokenIn, address tokenOut, uint256 amountIn, uint24 fee, uint160 sqrtPriceLimitX96) params) returns (uint256 amountOut, uint160 sqrtPriceX96After, uint32 initializedTicksCrossed, uint256 gasEstimate)",
];

/**
 * The ends of Uniswap's range of prices, one inside (v3-core, TickMath): where the quoter stops. It reports what
 * it got until there as if all had been taken; our executor refuses such a swap.
 */
const LOWEST_PRICE = 4_295_128_740n;
const HIGHEST_PRICE = 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_341n;
/** Enough for reading a pool or a token, and little for one that burns what it gets. */
const READ_GAS = 500_000n;

/** What quoting asks. */
export type Venue = Pick<UniswapVenue, "markets" | "quote">;

export class UniswapVenue {
  readonly #addresses: VenueAddresses;
  readonly #chain: Pick<Chain, "call">;
  readonly #limit: ConcurrencyLimit;
  readonly #abi = new Interface(VENUE_ABI);
  // Neither ever changes back: a tier cannot be switched off, and a pool's address follows from its pair and tier.
  readonly #enabled = new Set<number>();
  readonly #known = new Map<string, Address>();

  constructor(addresses: VenueAddresses, chain: Pick<Chain, "call">, limit: ConcurrencyLimit) {
    this.#addresses = addresses;
    this.#chain = chain;
    this.#limit = limit;
  }

  /** In order of the tiers. */
  async markets(tokenIn: Address, tokenOut: Address, moment: Moment): Promise<Market[]> {
    const found = await Promise.all(FEE_TIERS.map((tier) => this.#marketOf(tokenIn, tokenOut, tier, moment)));
    return found.filter((market) => market !== undefined);
  }

  /** Undefined where the pool cannot take the whole amount, or not within `gasLimit`. */
  async quote(
    { tier, tokenIn, tokenOut, stock }: Market,
    amountIn: bigint,
    gasLimit: bigint,
    moment: Moment,
  ): Promise<HopQuote | undefined> {
    const args = [[tokenIn, tokenOut, amountIn, tier, 0n]];
    const answer = await this.#ask(this.#addresses.quoter, "quoteExactInputSingle", args, moment, gasLimit);
    if (answer === undefined) return undefined;
    const [amountOut, priceAfter, , gas] = answer as [bigint, bigint, bigint, bigint];
    const isPartial = priceAfter <= LOWEST_PRICE || priceAfter >= HIGHEST_PRICE;
    return isPartial || amountOut > stock || gas > gasLimit ? undefined : { amountOut, gas };
  }

  /** Undefined where the contract failed or answered something else. */
  async #ask(
    to: Address,
    name: string,
    args: readonly unknown[],
    { block, signal }: Moment,
    gas = READ_GAS,
  ): Promise<readonly unknown[] | undefined> {
    const data = this.#abi.encodeFunctionData(name, args);
    try {
      const answer = await this.#limit.run(() => this.#chain.call({ to, data, gas }, block), signal);
      return [...(this.#abi.decodeFunctionResult(name, answer) as Iterable<unknown>)];
    } catch (error) {
      if (error instanceof ChainUnreachable || (error instanceof ChainRefused && !isOfContract(error)))
        throw asUnreachable(error);
      return undefined;
    }
  }

  async #isEnabled(tier: number, moment: Moment): Promise<boolean> {
    if (this.#enabled.has(tier)) return true;
    const [spacing] =
      (await this.#ask(this.#addresses.factory, "feeAmountTickSpacing", [tier], moment)) ?? [];
    if (typeof spacing !== "bigint") throw new ChainUnreachable("the factory of Uniswap did not answer");
    if (spacing !== 0n) this.#enabled.add(tier);
    return spacing !== 0n;
  }

  async #poolOf(
    tokenIn: Address,
    tokenOut: Address,
    tier: number,
    moment: Moment,
  ): Promise<Address | undefined> {
    const key = `${[tokenIn, tokenOut].sort().join()},${tier}`;
    const found = this.#known.get(key);
    if (found !== undefined) return found;
    const [text] =
      (await this.#ask(this.#addresses.factory, "getPool", [tokenIn, tokenOut, tier], moment)) ?? [];
    const pool = asAddress(text);
    if (pool === undefined) throw new ChainUnreachable("the factory of Uniswap did not answer");
    if (pool === ZERO_ADDRESS) return undefined;
    this.#known.set(key, pool);
    return pool;
  }

  async #marketOf(
    tokenIn: Address,
    tokenOut: Address,
    tier: number,
    moment: Moment,
  ): Promise<Market | undefined> {
    if (!(await this.#isEnabled(tier, moment))) return undefined;
    const pool = await this.#poolOf(tokenIn, tokenOut, tier, moment);
    if (pool === undefined) return undefined;
    const [state, held] = await Promise.all([
      this.#ask(pool, "slot0", [], moment),
      this.#ask(tokenOut, "balanceOf", [pool], moment),
    ]);
    const [sqrtPriceX96] = state ?? [];
    const [stock] = held ?? [];
    if (typeof sqrtPriceX96 !== "bigint" || typeof stock !== "bigint") return undefined;
    // Without a price nobody gave it liquidity yet; without stock there is none on the side that is wanted.
    if (sqrtPriceX96 === 0n || stock === 0n) return undefined;
    return { pool, tier, tokenIn, tokenOut, sqrtPriceX96, stock };
  }
}

/**
 * What ended the called code, in the words of geth and Nethermind ("out of gas") and of reth and anvil ("EVM error:
 * OutOfGas"); the error's number says nothing, it differs between them. Any other refusal is about the node: an
 * unknown block, a method it lacks.
 */
const FAULTS_OF_CODE =
  /revert|out of gas|EVM error|invalid (opcode|jump)|stack (underflow|limit)|write protection|return data out/i;

function isOfContract({ message }: ChainRefused): boolean {
  return FAULTS_OF_CODE.test(message);
}

function asUnreachable(error: Error): ChainUnreachable {
  return error instanceof ChainUnreachable
    ? error
    : new ChainUnreachable("the node refused a question about the venue", { cause: error });
}
