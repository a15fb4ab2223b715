/**
 * A market on the battlefield: real Uniswap v3, the pool's executor over it, and what a user's device makes of
 * all four kinds in any listed token. Like ./adversary.ts it holds no double; the venues of
 * test/support/contracts that a test puts in are attackers, not stand-ins.
 */
import assert from "node:assert/strict";
import { Contract, type JsonRpcSigner } from "ethers";
import { deployContract } from "../../scripts/deploy/pool.ts";
import type { PoolTransaction } from "../../scripts/stack/pool-transaction.ts";
import { quoteExactInput } from "./quoter.ts";
import { encodeUniswapPath } from "../../shared/api/uniswap-path.ts";
import type { Fees } from "../../shared/client/statements/fees.ts";
import { verifiedRoot } from "../../shared/client/history/scanner.ts";
import type { OwnedNote } from "../../shared/client/state/state.ts";
import {
  prepareDeposit,
  prepareSpend,
  prepareSwap,
  type Prepared,
  type SpendPlan,
} from "../../shared/client/statements/statements.ts";
import type { SpendingKey } from "../../shared/notes/keys.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import type { SwapPath } from "../../shared/protocol/statements.ts";
import { openMarket, type Market } from "../contract/pool/market.ts";
import {
  as,
  Battlefield,
  FAR_DEADLINE,
  mustAddress,
  send,
  type Outcome,
  type Restored,
  type Signed,
} from "./adversary.ts";

/** What the pool gives a swap. */
const SWAP_GAS = 1_000_000n;
/** Of every token that is listed here: a million of 18 decimals. */
const MINIMUM_CAP = 10n ** 24n;
const NO_FEES: Fees = { service: undefined, developer: undefined, total: 0n };
export const DOLLAR = 1_000_000n;

const TOKEN_ABI = [
  "function balanceOf(address) view returns (uint256)",
  "function transfer(address to, uint256 value)",
  "function mint(address to, uint256 value)",
  "function approve(address spender, uint256 value)",
];
const EXECUTOR_ABI = [
  "function swap(address tokenIn, uint256 amountIn, uint24 feeFirst, address middle, uint24 feeSecond, address tokenOut)",
];

export interface SwapTerms {
  readonly notes: readonly OwnedNote[];
  /** Default: dollars. */
  readonly asset?: Address;
  readonly sharesIn: bigint;
  readonly tokenOut: Address;
  readonly floor: bigint;
  readonly path: SwapPath;
  readonly deadline?: number;
}

export interface PaymentTerms {
  readonly notes: readonly OwnedNote[];
  readonly asset?: Address;
  readonly payment: SpendPlan["payment"];
}

export class Bazaar {
  readonly field: Battlefield;
  readonly market: Market;
  readonly usdc: Address;
  readonly weth: Address;
  /** Plain, 18 decimals; its only deep pool is the one with weth. */
  readonly token: Address;
  /** Dollars for ether. */
  readonly oneHop: SwapPath = { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 };
  /** Dollars for `token`, by way of ether. */
  readonly twoHops: SwapPath;

  private constructor(field: Battlefield, market: Market) {
    this.field = field;
    this.market = market;
    this.usdc = field.usdcAddress;
    this.weth = market.weth;
    this.token = market.token;
    this.twoHops = { feeFirst: 500, middle: market.weth, feeSecond: 3_000 };
  }

  static async open(): Promise<Bazaar> {
    const field = await Battlefield.start();
    const market = await openMarket(field.owner, field.usdcAddress);
    const bazaar = new Bazaar(field, market);
    await bazaar.admit({ assets: [market.weth, market.token], executor: market.executor });
    return bazaar;
  }

  stop(): Promise<void> {
    return this.field.stop();
  }

  // ---------------------------------------------------------------- the owner and the clock

  /** As anybody could see it coming: proposed, waited for, admitted. */
  async admit(
    { assets = [], executor }: { assets?: readonly Address[]; executor?: Address },
    pool: Contract = this.field.pool,
  ): Promise<void> {
    for (const asset of assets) await send(pool, "proposeAsset", asset, MINIMUM_CAP);
    if (executor !== undefined) await send(pool, "proposeExecutor", executor);
    await this.passTime(Number(await pool.getFunction("changeDelay")()));
    for (const asset of assets) await send(pool, "addAsset", asset);
    if (executor !== undefined) await send(pool, "setExecutor", executor);
  }

  async passTime(seconds: number): Promise<void> {
    await this.field.provider.send("evm_increaseTime", [seconds]);
    await this.field.provider.send("evm_mine", []);
  }

  /** A token of its own, listed. */
  async listToken(): Promise<Address> {
    const { address } = await deployContract(this.field.owner, "TestToken", ["Other Token", "OTHER", 18]);
    await this.admit({ assets: [address] });
    return address;
  }

  /** Runs it on a branch of the chain that nobody remembers afterwards. */
  async undone<T>(attack: () => Promise<T>): Promise<T> {
    const snapshot: unknown = await this.field.provider.send("evm_snapshot", []);
    try {
      return await attack();
    } finally {
      await this.field.provider.send("evm_revert", [snapshot]);
    }
  }

  // ---------------------------------------------------------------- what a user's device makes

  /** Of a token without EIP-3009, or of any that the depositor sends itself. */
  prepareDeposit(keys: SpendingKey, asset: Address, amount: bigint, depositor: Address): Prepared {
    const bounds = { validAfter: 0, validBefore: FAR_DEADLINE + 1, deadline: FAR_DEADLINE };
    return prepareDeposit({
      ...{ home: this.field.home, keys, asset, fees: NO_FEES, amount, depositor },
      ...bounds,
    });
  }

  preparePayment(wallet: Restored, { notes, asset = this.usdc, payment }: PaymentTerms): Prepared {
    return prepareSpend({ ...this.#plan(wallet, notes, asset, FAR_DEADLINE), payment });
  }

  async pay(wallet: Restored, terms: PaymentTerms): Promise<Signed> {
    return this.field.prove(this.preparePayment(wallet, terms));
  }

  prepareSwap(wallet: Restored, terms: SwapTerms): Prepared {
    const { notes, asset = this.usdc, deadline = FAR_DEADLINE, ...swap } = terms;
    return prepareSwap({ ...this.#plan(wallet, notes, asset, deadline), ...swap });
  }

  async swap(wallet: Restored, terms: SwapTerms): Promise<Signed> {
    return this.field.prove(this.prepareSwap(wallet, terms));
  }

  #plan(
    { keys, state }: Restored,
    notes: readonly OwnedNote[],
    asset: Address,
    deadline: number,
  ): Omit<SpendPlan, "payment"> {
    const mark = verifiedRoot(state);
    if (mark === undefined) throw new Error("no root yet");
    const inputs = notes.map((note) => ({ note, path: state.tree.path(note.leafIndex, mark.leafCount) }));
    return { home: this.field.home, keys, asset, fees: NO_FEES, deadline, root: mark.root, inputs };
  }

  // ---------------------------------------------------------------- what a proxy carries

  /**
   * Executes it and then brings a root over everything; throws unless both happened. In two calls, since a swap's
   * own leaf is known only afterwards.
   */
  async settle(signed: Signed, sender?: JsonRpcSigner): Promise<void> {
    const transaction = await this.field.transaction(signed);
    assert.equal(await this.field.executeOne(transaction, sender), "executed");
    await this.bringRoot();
  }

  async bringRoot(): Promise<void> {
    const { update } = await this.field.execute(
      [],
      await this.field.attestRoot(await this.field.rootRequest()),
    );
    assert.equal(update, "taken");
  }

  /** The error of the one member, and that nothing whatever changed. */
  async refused(
    transaction: PoolTransaction,
    nullifiers: readonly bigint[] = [],
    more: { readonly pool?: Contract } = {},
  ): Promise<{ error: string; args: readonly unknown[] }> {
    const before = await this.snapshot(nullifiers);
    const { members, reasons }: Outcome = await this.field.execute([transaction], undefined, more);
    assert.deepEqual(await this.snapshot(nullifiers), before);
    return { error: members.join(), args: reasons[0] ?? [] };
  }

  // ---------------------------------------------------------------- the market, as strangers use it

  quote(tokenIn: Address, path: SwapPath, tokenOut: Address, amount: bigint): Promise<bigint> {
    const { provider } = this.field;
    return quoteExactInput(
      provider,
      this.market.quoter,
      encodeUniswapPath({ tokenIn, path, tokenOut }),
      amount,
    );
  }

  /** One hop by a stranger; gives what it brought. */
  async trade(trader: JsonRpcSigner, tokenIn: Address, tokenOut: Address, amount: bigint): Promise<bigint> {
    const before = await this.balance(tokenOut, trader.address);
    await send(this.contract(tokenIn, trader), "transfer", this.market.executor, amount);
    const executor = new Contract(this.market.executor, EXECUTOR_ABI, trader);
    // Not estimated: the first trade of a second writes the pool's price history, one tried on the last block not.
    await send(executor, "swap", tokenIn, amount, 500, ZERO_ADDRESS, 0, tokenOut, { gasLimit: SWAP_GAS });
    return (await this.balance(tokenOut, trader.address)) - before;
  }

  contract(asset: Address, caller: JsonRpcSigner = this.field.owner): Contract {
    return as(new Contract(asset, TOKEN_ABI), caller);
  }

  balance(asset: Address, holder: string): Promise<bigint> {
    return this.contract(asset).getFunction("balanceOf")(holder) as Promise<bigint>;
  }

  /** What the pool holds of dollars, ether and `token`. */
  holdings(holder: string = this.field.home.pool): Promise<bigint[]> {
    return Promise.all([this.usdc, this.weth, this.token].map((asset) => this.balance(asset, holder)));
  }

  /** All that an attack on a swap might have changed. */
  async snapshot(nullifiers: readonly bigint[] = []): Promise<unknown> {
    const venue = mustAddress(await this.field.pool.getFunction("executor")());
    return {
      money: await this.field.snapshot([], nullifiers),
      pool: await this.holdings(),
      venue: await this.holdings(venue),
    };
  }
}

/** Unspent notes of one token, oldest first. */
export function notesOf({ notes }: Restored, asset: Address): OwnedNote[] {
  return notes.filter((note) => note.asset === asset);
}

export function worth(notes: readonly { readonly value: bigint }[]): bigint {
  return notes.reduce((sum, { value }) => sum + value, 0n);
}
