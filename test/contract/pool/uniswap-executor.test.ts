// The executor in itself, used by a stranger over real Uniswap v3: whole or not at all, nothing kept, nobody else paid. See uniswap-executor.tree.
import assert from "node:assert/strict";
import { Contract, Interface, JsonRpcProvider, type JsonRpcSigner } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract, deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { createUniswapPool } from "../../../scripts/stand-ins/uniswap.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { openMarket, type Market } from "./market.ts";

const DOLLAR = 1_000_000n;

describe("contracts: Uniswap v3 executor", () => {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let user: JsonRpcSigner;
  let usdc: Address;
  let market: Market;
  let executor: Contract;
  let caller: Contract;
  let snapshot: string;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, {
      ...{ staticNetwork: true, cacheTimeout: -1, pollingInterval: 10 },
    });
    user = await provider.getSigner(0);
    usdc = (await deployTestUsdc(user)).address;
    market = await openMarket(user, usdc);
    executor = new Contract(market.executor, (await loadArtifact("UniswapV3Executor")).abi, user);
    const { address } = await deployContract(user, "SwapCaller", []);
    caller = new Contract(address, (await loadArtifact("SwapCaller")).abi, user);
    await mint(address, 10_000_000n * DOLLAR);
  });
  beforeEach(async () => {
    snapshot = (await provider.send("evm_snapshot", [])) as string;
  });
  afterEach(() => provider.send("evm_revert", [snapshot]));
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  const tokenAt = (address: string): Contract =>
    new Contract(
      address,
      [
        "function balanceOf(address) view returns (uint256)",
        "function allowance(address, address) view returns (uint256)",
        "function mint(address, uint256)",
        "function transfer(address, uint256)",
      ],
      user,
    );
  const balance = (token: string, of: string): Promise<bigint> => tokenAt(token).getFunction("balanceOf")(of);
  const mint = async (to: string, amount: bigint): Promise<void> => {
    await (await tokenAt(usdc).getFunction("mint")(to, amount)).wait();
  };
  /** Sends the input and swaps, in one transaction. */
  const swapOf = async (...args: [Address, bigint, number, Address, number, Address]): Promise<void> => {
    const method = caller.getFunction("swap");
    // The first trade of a second writes the pool's price history, one tried on the last block not.
    const gasLimit = 2n * (await method.estimateGas(market.executor, ...args));
    await (await method(market.executor, ...args, { gasLimit })).wait();
  };
  const swap = (amount: bigint, ...path: [number, Address, number, Address]): Promise<void> =>
    swapOf(usdc, amount, ...path);
  const errorOf = async (promise: Promise<unknown>): Promise<string> => {
    try {
      await promise;
    } catch (error) {
      const { data } = error as { data?: string };
      return (typeof data === "string" && executor.interface.parseError(data)?.name) || "another error";
    }
    return "none";
  };
  const assertEmpty = async (): Promise<void> => {
    for (const token of [usdc, market.weth, market.token]) {
      assert.equal(await balance(token, market.executor), 0n);
      for (const spender of [market.dollarPool, market.factory, user.address]) {
        assert.equal(await tokenAt(token).getFunction("allowance")(market.executor, spender), 0n);
      }
    }
  };

  it("gives the output to its caller, whoever that is, and keeps and approves nothing", async () => {
    const me = await caller.getAddress();
    await swap(2_500n * DOLLAR, 500, ZERO_ADDRESS, 0, market.weth);
    assert.ok((await balance(market.weth, me)) > 9n * 10n ** 17n);
    await assertEmpty();
    await swap(2_500n * DOLLAR, 500, market.weth, 3_000, market.token);
    assert.ok((await balance(market.token, me)) > 9n * 10n ** 19n);
    await assertEmpty();
    assert.equal(await balance(usdc, me), 10_000_000n * DOLLAR - 5_000n * DOLLAR);
  });

  it("PoolMissing: in the first hop and in the second", async () => {
    assert.equal(await errorOf(swap(DOLLAR, 3_000, ZERO_ADDRESS, 0, market.weth)), "PoolMissing");
    assert.equal(await errorOf(swap(DOLLAR, 500, market.weth, 500, market.token)), "PoolMissing");
    await assertEmpty();
  });

  it("PartialFill: in the first hop and in the second", async () => {
    assert.equal(await errorOf(swap(1_000n * DOLLAR, 10_000, ZERO_ADDRESS, 0, market.token)), "PartialFill");
    await swap(10_000n * DOLLAR, 500, ZERO_ADDRESS, 0, market.weth);
    const back = swapOf(market.weth, 10n ** 18n, 3_000, market.token, 10_000, usdc);
    assert.equal(await errorOf(back), "PartialFill");
    await assertEmpty();
  });

  it("AmountTooLarge: an amount that would mean exact output", async () => {
    const call = executor.getFunction("swap").staticCall(usdc, 2n ** 255n, 500, ZERO_ADDRESS, 0, market.weth);
    assert.equal(await errorOf(call), "AmountTooLarge");
  });

  it("PaymentRefused: a caller who did not send the input, or less of it", async () => {
    const call = executor.getFunction("swap").staticCall(usdc, DOLLAR, 500, ZERO_ADDRESS, 0, market.weth);
    assert.equal(await errorOf(call), "PaymentRefused");
    await mint(market.executor, DOLLAR - 1n);
    const again = executor.getFunction("swap").staticCall(usdc, DOLLAR, 500, ZERO_ADDRESS, 0, market.weth);
    assert.equal(await errorOf(again), "PaymentRefused");
  });

  it("NotCreditor: nobody may ask it for money, a real pool included, unless it is swapping there", async () => {
    await mint(market.executor, DOLLAR);
    const data = `0x${usdc.slice(2).padStart(64, "0")}`;
    const ask = executor.getFunction("uniswapV3SwapCallback");
    assert.equal(await errorOf(ask.staticCall(DOLLAR, 0n, data)), "NotCreditor");
    const asPool = new Contract(market.executor, executor.interface, provider);
    const call = asPool.getFunction("uniswapV3SwapCallback").staticCall;
    assert.equal(await errorOf(call(DOLLAR, 0n, data, { from: market.dollarPool })), "NotCreditor");
    assert.equal(await balance(usdc, market.executor), DOLLAR);
  });

  it("Reentered: a token of the path that swaps the input, while it lies there, for itself", async () => {
    const configurable = new Contract(
      (await deployContract(user, "ConfigurableToken", [])).address,
      (await loadArtifact("ConfigurableToken")).abi,
      user,
    );
    const configurableAddress = (await configurable.getAddress()) as Address;
    for (const holder of [user.address, await caller.getAddress()]) {
      await (await configurable.getFunction("mint")(holder, 10n ** 20n)).wait();
    }
    await createUniswapPool(user, market, {
      ...{ tokenA: configurableAddress, amountA: 10n ** 18n },
      ...{ tokenB: market.weth, amountB: 10n ** 18n },
      fee: 3_000,
    });
    const inner = executor.interface.encodeFunctionData("swap", [
      ...[usdc, DOLLAR, 500, ZERO_ADDRESS, 0, market.weth],
    ]);
    await (await configurable.getFunction("setReentry")(market.executor, inner)).wait();
    await (await configurable.getFunction("setBehaviour")(8)).wait();
    // Somebody's dollars lie in the executor by mistake: the token's inner swap would get them.
    await mint(market.executor, DOLLAR);
    await swapOf(configurableAddress, 10n ** 12n, 3_000, ZERO_ADDRESS, 0, market.weth);
    // The last move of the token is the payment inside the hop: there the door was locked.
    const answer: string = await configurable.getFunction("answer")();
    assert.equal(executor.interface.parseError(answer)?.name, "Reentered");
    assert.equal(await configurable.getFunction("wasRefused")(), true);
  });

  it("FactoryMissing: is not deployed over an account without code", async () => {
    const deployment = deployContract(user, "UniswapV3Executor", [user.address]);
    assert.equal(await errorOf(deployment), "FactoryMissing");
  });

  it("has no other call that writes", () => {
    const writing = new Interface(executor.interface.fragments).fragments
      .filter((fragment) => fragment.type === "function" && !("constant" in fragment && fragment.constant))
      .map((fragment) => ("name" in fragment ? String(fragment.name) : ""));
    assert.deepEqual(writing.sort(), ["swap", "uniswapV3SwapCallback"]);
  });
});
