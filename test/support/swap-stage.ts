/**
 * A chain with Uniswap v3 as its authors published it, tokens of our own and whatever pools a test wants, and the
 * proxy's quotes over it. The pool contract is not here: what it would say about assets and its executor, the test
 * says; what it would do with a swap (transfer, then one call of the executor) `execute` does.
 */
import { Contract, JsonRpcProvider, type JsonRpcSigner } from "ethers";
import { createChain } from "../../proxy/base/chain/provider.ts";
import { createConcurrencyLimit } from "../../proxy/base/chain/concurrency-limit.ts";
import { UniswapVenue, type Venue } from "../../proxy/api/swap/venue.ts";
import { SwapQuotes } from "../../proxy/api/swap/swap.service.ts";
import { deployContract } from "../../scripts/deploy/pool.ts";
import {
  createUniswapPool,
  deployUniswap,
  type PoolTerms,
  type Uniswap,
} from "../../scripts/stand-ins/uniswap.ts";
import { decodeUniswapPath } from "../../shared/api/uniswap-path.ts";
import type { Address, Field } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { startAnvil, type Anvil } from "./chain.ts";
import { testFees } from "./fees.ts";

const TOKEN_ABI = [
  "function mint(address to, uint256 value)",
  "function transfer(address to, uint256 value)",
  "function balanceOf(address) view returns (uint256)",
];
const EXECUTOR_ABI = [
  "function swap(address tokenIn, uint256 amountIn, uint24 feeFirst, address middle, uint24 feeSecond, address tokenOut)",
];
/** What the pool gives a swap. */
const SWAP_GAS = 1_000_000n;
export const SERVICE_BPS = 15;

export class SwapStage {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  readonly owner: JsonRpcSigner;
  readonly uniswap: Uniswap;
  readonly executor: Address;
  /** Listed, in this order: a, b, c and d. */
  readonly tokens: readonly [Address, Address, Address, Address];
  readonly quotes: SwapQuotes;
  readonly venue: Venue;
  /** What the pool takes and where it trades, as a test wants it. */
  readonly pool = {
    delisted: new Set<Address>(),
    hasExecutor: true,
  };

  private constructor(
    anvil: Anvil,
    provider: JsonRpcProvider,
    owner: JsonRpcSigner,
    uniswap: Uniswap,
    deployed: readonly Address[],
  ) {
    const [executor, a, b, c, d] = deployed as [Address, Address, Address, Address, Address];
    this.anvil = anvil;
    this.provider = provider;
    this.owner = owner;
    this.uniswap = uniswap;
    this.executor = executor;
    this.tokens = [a, b, c, d];
    const assets = this.tokens.map((address) => ({ address, symbol: "T", decimals: 6 }));
    const sink = { text: "sink", sink: { owner: 1n as Field } };
    const feeSchedule = this.tokens.map((asset) => ({
      ...({ asset, operation: "swap", flat: 0n, usd: undefined, bps: SERVICE_BPS } as const),
    }));
    const chain = createChain(anvil.url, BigInt(anvil.chainId));
    this.venue = new UniswapVenue(uniswap, chain, createConcurrencyLimit(16, 2_000));
    this.quotes = new SwapQuotes({
      chain,
      pool: {
        isAsset: async (asset) => !this.pool.delisted.has(asset),
        executor: async () => (this.pool.hasExecutor ? executor : undefined),
        memberGas: async () => SWAP_GAS,
      },
      venue: this.venue,
      assets,
      minimums: [],
      fees: testFees({ assets, serviceFee: sink, feeSchedule }),
      now: Date.now,
    });
  }

  static async open(): Promise<SwapStage> {
    const anvil = await startAnvil();
    const provider = new JsonRpcProvider(anvil.url, anvil.chainId, {
      ...{ staticNetwork: true, cacheTimeout: -1, pollingInterval: 10 },
    });
    const owner = await provider.getSigner(0);
    const uniswap = await deployUniswap(owner);
    const deployed = [(await deployContract(owner, "UniswapV3Executor", [uniswap.factory])).address];
    for (const name of ["A", "B", "C", "D"]) {
      deployed.push((await deployContract(owner, "TestToken", [`Token ${name}`, name, 6])).address);
    }
    return new SwapStage(anvil, provider, owner, uniswap, deployed);
  }

  async close(): Promise<void> {
    this.provider.destroy();
    await this.anvil.stop();
  }

  /** Prints what it takes. */
  async makePool(terms: PoolTerms): Promise<Address> {
    await this.#mint(terms.tokenA, this.owner.address, terms.amountA);
    await this.#mint(terms.tokenB, this.owner.address, terms.amountB);
    return createUniswapPool(this.owner, this.uniswap, terms);
  }

  /** As the pool does it; gives by how much the receiver's balance grew. */
  async execute(path: string, amountIn: bigint): Promise<bigint> {
    const decoded = decodeUniswapPath(path);
    if (typeof decoded === "string") throw new Error(decoded);
    const { tokenIn, tokenOut } = decoded;
    const { feeFirst, middle, feeSecond } = decoded.path;
    await this.#mint(tokenIn, this.executor, amountIn);
    const before = await this.#balance(tokenOut);
    const executor = new Contract(this.executor, EXECUTOR_ABI, this.owner);
    // Not estimated: the first trade of a block writes Uniswap's price history, one tried on the last block does not.
    const order = [tokenIn, amountIn, feeFirst, middle, feeSecond, tokenOut, { gasLimit: SWAP_GAS }];
    await mined(executor.getFunction("swap")(...order));
    return (await this.#balance(tokenOut)) - before;
  }

  /** Puts other code where a contract was, in a new block. */
  async setCode(address: Address, code: string): Promise<void> {
    await this.provider.send("anvil_setCode", [address, code]);
    await this.provider.send("evm_mine", []);
  }

  /** Everything after this is undone by what it returns. */
  async snapshot(): Promise<() => Promise<void>> {
    const id = (await this.provider.send("evm_snapshot", [])) as string;
    return async () => {
      await this.provider.send("evm_revert", [id]);
    };
  }

  async #mint(token: Address, to: string, amount: bigint): Promise<void> {
    await mined(new Contract(token, TOKEN_ABI, this.owner).getFunction("mint")(to, amount));
  }

  #balance(token: Address): Promise<bigint> {
    const contract = new Contract(token, TOKEN_ABI, this.provider);
    return contract.getFunction("balanceOf")(this.owner.address) as Promise<bigint>;
  }
}

async function mined(sending: Promise<unknown>): Promise<void> {
  await ((await sending) as { wait(): Promise<unknown> }).wait();
}

export function mustAddress(text: unknown): Address {
  const address = asAddress(text);
  if (address === undefined) throw new TypeError("not an address");
  return address;
}
