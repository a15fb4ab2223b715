// Private swaps over real Uniswap v3: what is paid, measured, hashed and kept, and every reason not to. See swaps.tree.
import assert from "node:assert/strict";
import { Contract, concat, toBeHex } from "ethers";
import { type Draft, drawField, seal, type Sealed } from "../../support/drafts.ts";
import { quoteExactInput } from "../../support/quoter.ts";
import { FIELD_ORDER, ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { poseidon3 } from "../../../shared/protocol/host/poseidon.ts";
import { readExecuted } from "../../../shared/protocol/host/executed-log.ts";
import { TREE_CAPACITY } from "../../../shared/protocol/tree.ts";
import { executedLogOf, fault, freshAddress, rawLog, World, type Fault } from "./world.ts";

type Terms = Parameters<World["swapDraft"]>[0];

const DOLLAR = 1_000_000n;
const asText = (outcome: Fault | bigint): string =>
  typeof outcome === "bigint" ? "executed" : [outcome.error, ...outcome.args].join(" ").toLowerCase();

describe("pool: private swaps", () => {
  let world: World;
  let weth: Address;
  let token: Address;
  let restore: () => Promise<void>;
  before(async () => {
    world = await World.start({ withMarket: true });
    ({ weth, token } = world.market);
    await world.executeOne(await world.deposit({ amount: 1_000_000n * DOLLAR }));
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const balance = (of: string, asset: Address): Promise<bigint> =>
    new Contract(asset, ["function balanceOf(address) view returns (uint256)"], world.provider).getFunction(
      "balanceOf",
    )(of);
  const swap = (terms: Terms = {}, changes: Partial<Draft> = {}): Sealed =>
    seal({ ...world.swapDraft(terms), ...changes });
  const quote = (path: readonly (Address | number)[], amount: bigint): Promise<bigint> =>
    quoteExactInput(
      world.provider,
      world.market.quoter,
      concat(path.map((part) => (typeof part === "number" ? toBeHex(part, 3) : part))),
      amount,
    );

  /** Refused with that, tokens, queue and notes as before. */
  async function assertRefused(member: Sealed, expected: string): Promise<void> {
    const state = async (): Promise<string> =>
      String([
        await world.pool.getFunction("queue")(),
        ...(await Promise.all(
          [world.usdcAddress, weth, token].map((a) => balance(world.setting.home.pool, a)),
        )),
      ]);
    const before = await state();
    assert.equal(asText(await world.executeOne(member)), expected.toLowerCase());
    assert.equal(await state(), before);
    assert.deepEqual(
      await Promise.all(member.draft.nullifiers.map((n) => world.pool.getFunction("isSpent")(n))),
      [false, false],
    );
  }

  describe("that keeps every rule", () => {
    it("one hop: pays exactly the amount, and makes a note of exactly what came", async () => {
      const amount = 2_500n * DOLLAR;
      const promised = await quote([world.usdcAddress, 500, weth], amount);
      const npkOut = drawField();
      const member = swap({ amount, minAmountOut: promised, npkOut });
      const held = await balance(world.setting.home.pool, world.usdcAddress);
      const first = world.queue.count;
      const { members, receipt } = await world.execute([member]);

      assert.deepEqual(members, [first]);
      assert.equal(await balance(world.setting.home.pool, world.usdcAddress), held - amount);
      assert.equal(await balance(world.setting.home.pool, weth), promised);
      const commitment = poseidon3(npkOut, BigInt(weth), promised);
      assert.deepEqual(world.bought.get(member.statementHash), {
        leafIndex: first + 3n,
        commitment,
        npk: npkOut,
        asset: weth,
        value: promised,
      });
      assert.deepEqual([...(await world.pool.getFunction("queue")())], [world.queue.count, world.queue.head]);
      const executed = rawLog(world, receipt, "Executed");
      assert.deepEqual(executed, executedLogOf(member, first));
      assert.deepEqual(readExecuted(executed)?.commitments, member.draft.commitments);
      assert.deepEqual(readExecuted(executed)?.moved, {
        ...{ asset: world.usdcAddress, amount, party: undefined },
      });
    });

    it("two hops: the same, and nothing of the middle token stays anywhere", async () => {
      const amount = 1_000n * DOLLAR;
      const promised = await quote([world.usdcAddress, 500, weth, 3_000, token], amount);
      const path = { feeFirst: 500, middle: weth, feeSecond: 3_000 };
      const member = swap({ amount, tokenOut: token, minAmountOut: promised, path });
      assert.equal(typeof (await world.executeOne(member)), "bigint");
      assert.equal(world.bought.get(member.statementHash)?.value, promised);
      assert.equal(await balance(world.setting.home.pool, token), promised);
      for (const asset of [world.usdcAddress, weth, token])
        assert.equal(await balance(world.market.executor, asset), 0n);
      assert.equal(await balance(world.setting.home.pool, weth), 0n);
    });

    it("in the other direction, with what an earlier swap bought", async () => {
      const bought = swap({ amount: 2_500n * DOLLAR });
      await world.executeOne(bought);
      const amount = world.bought.get(bought.statementHash)!.value;
      const back = swap({ asset: weth, amount, tokenOut: world.usdcAddress });
      assert.equal(typeof (await world.executeOne(back)), "bigint");
      assert.equal(await balance(world.setting.home.pool, weth), 0n);
      assert.equal(
        await balance(world.setting.home.pool, world.usdcAddress),
        1_000_000n * DOLLAR - 2_500n * DOLLAR + world.bought.get(back.statementHash)!.value,
      );
    });

    it("among neighbours: a root update after it is possible where it ends, and not before its own leaf", async () => {
      const members = [world.transfer(), swap(), world.transfer()];
      const first = world.queue.count;
      const { members: outcomes } = await world.execute(members);
      assert.deepEqual(outcomes, [first, first + 4n, first + 8n]);
      const { update } = await world.execute([], world.updateTo(world.queue));
      assert.equal(update, 1n);

      // The place after three leaves of a swap is no end of a transaction.
      const before = world.queue;
      const member = swap();
      const place = world.after([member]);
      const early = await world.execute([member], world.updateTo(place));
      assert.deepEqual(early.update, fault("RootUpdateHead"));
      assert.equal(world.queue.count, before.count + 4n);
    });

    it("in the same call, for whoever knows the price: the update ends behind the swap's own leaf", async () => {
      const member = swap({ amount: DOLLAR });
      const value = await quote([world.usdcAddress, 500, weth], DOLLAR);
      const last = poseidon3(npkOf(member), BigInt(weth), value);
      const place = world.after([
        { ...member, draft: { ...member.draft, commitments: [...member.draft.commitments, last] } },
      ]);
      const { update } = await world.execute([member], world.updateTo(place));
      assert.equal(update, 1n);
      assert.equal(world.rooted.count, world.queue.count);
    });
  });

  describe("whose terms make no sense", () => {
    const oneHop = { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 };

    it("TokenOutInvalid: nothing, or what is given", async () => {
      await assertRefused(swap({ tokenOut: ZERO_ADDRESS }), `TokenOutInvalid ${ZERO_ADDRESS}`);
      await assertRefused(swap({ tokenOut: world.usdcAddress }), `TokenOutInvalid ${world.usdcAddress}`);
    });

    it("FloorZero: no floor", () => assertRefused(swap({ minAmountOut: 0n }), "FloorZero"));

    it("ZeroAmount, AssetMismatch: nothing to give", async () => {
      await assertRefused(swap({}, { amount: 0n, asset: 0n }), "ZeroAmount");
      await assertRefused(swap({}, { amount: 0n }), "AssetMismatch");
      await assertRefused(swap({}, { asset: 0n }), "AssetMismatch");
    });

    it("NpkOutOfRange: an npk at or above r", async () => {
      for (const npkOut of [FIELD_ORDER, FIELD_ORDER + 1n, 2n ** 256n - 1n]) {
        await assertRefused(swap({ npkOut }), "NpkOutOfRange");
      }
      assert.equal(typeof (await world.executeOne(swap({ npkOut: FIELD_ORDER - 1n }))), "bigint");
    });

    it("PathInvalid: an unknown tier, half a hop, a middle that is an end", async () => {
      for (const path of [
        { ...oneHop, feeFirst: 0 },
        { ...oneHop, feeFirst: 501 },
        { ...oneHop, feeFirst: 2 ** 24 - 1 },
        { ...oneHop, feeSecond: 500 },
        { feeFirst: 500, middle: token, feeSecond: 0 },
        { feeFirst: 500, middle: token, feeSecond: 3_001 },
        { feeFirst: 500, middle: world.usdcAddress, feeSecond: 500 },
        { feeFirst: 500, middle: weth, feeSecond: 500 },
      ]) {
        await assertRefused(swap({ path }), "PathInvalid");
      }
    });

    it("AssetUnsupported: any token of the path that is not listed", async () => {
      const stranger = freshAddress();
      await assertRefused(swap({}, { asset: BigInt(stranger) }), `AssetUnsupported ${stranger}`);
      await assertRefused(swap({ tokenOut: stranger }), `AssetUnsupported ${stranger}`);
      await assertRefused(
        swap({ path: { feeFirst: 500, middle: stranger, feeSecond: 500 } }),
        `AssetUnsupported ${stranger}`,
      );
    });

    it("AuthorizationMalformed, ExtLength: what belongs to another kind", async () => {
      const member = swap();
      const authorized = { ...member, transaction: { ...member.transaction, authorization: "0x00" } };
      await assertRefused(authorized, "AuthorizationMalformed");
      const { ext } = world.transferDraft();
      await assertRefused(swap({}, { ext }), "ExtLength 264 338");
    });

    it("ContextMismatch: floor, npk, path or token changed on the way, byte by byte", async () => {
      const member = swap();
      for (const place of [0, 19, 20, 35, 36, 67, 68, 70, 71, 90, 91, 93, 94, 125, 126, 337]) {
        const ext = Uint8Array.from(member.draft.ext);
        ext[place]! ^= 1;
        const bent = { ...member, transaction: { ...member.transaction, ext: toHex(ext) } };
        await assertRefused(bent, "ContextMismatch");
      }
      assert.equal(typeof (await world.executeOne(member)), "bigint");
    });
  });

  describe("that the market does not serve", () => {
    /** The executor's own error, as SwapFailed carries it. */
    const reason = (signature: string, ...values: unknown[]): string => {
      const { interface: abi } = new Contract(ZERO_ADDRESS, [`error ${signature}`]);
      return `SwapFailed ${abi.encodeErrorResult(signature.split("(")[0]!, values)}`;
    };

    it("FloorMissed: one unit more than the market gives", async () => {
      const promised = await quote([world.usdcAddress, 500, weth], DOLLAR);
      const member = swap({ amount: DOLLAR, minAmountOut: promised + 1n });
      await assertRefused(member, `FloorMissed ${promised + 1n} ${promised}`);
    });

    it("FloorMissed: somebody trades first, and the notes can be used again", async () => {
      const amount = 10_000n * DOLLAR;
      const minAmountOut = await quote([world.usdcAddress, 500, weth], amount);
      const late = swap({ amount, minAmountOut });
      const { members } = await world.execute([swap({ amount: 50_000n * DOLLAR }), late, world.transfer()]);
      assert.deepEqual(
        members.map((outcome) => (typeof outcome === "bigint" ? "executed" : outcome.error)),
        ["executed", "FloorMissed", "executed"],
      );
      const again = swap({ amount, minAmountOut: 1n }, { nullifiers: late.draft.nullifiers });
      assert.equal(typeof (await world.executeOne(again)), "bigint");
    });

    it("SwapFailed: no such pool", async () => {
      const path = { feeFirst: 100, middle: ZERO_ADDRESS, feeSecond: 0 };
      await assertRefused(
        swap({ path }),
        reason("PoolMissing(address,address,uint24)", world.usdcAddress, weth, 100),
      );
    });

    it("SwapFailed: a pool whose liquidity ends before the input does", async () => {
      const path = { feeFirst: 10_000, middle: ZERO_ADDRESS, feeSecond: 0 };
      const amount = 1_000n * DOLLAR;
      const outcome = await world.executeOne(swap({ amount, tokenOut: token, path }));
      // What the pool did take stands in the second word.
      const expected = reason("PartialFill(uint256,uint256)", amount, 0n).slice(0, -64);
      assert.ok(asText(outcome).startsWith(expected.toLowerCase()), asText(outcome));
      const smaller = swap({ amount: 10n * DOLLAR, tokenOut: token, path });
      assert.equal(typeof (await world.executeOne(smaller)), "bigint");
    });

    it("ExecutorAbsent: the venue was removed after the user signed", async () => {
      const member = swap();
      await world.call(world.pool, "removeExecutor", world.market.executor);
      await assertRefused(member, "ExecutorAbsent");
    });

    it("AssetUnsupported: what would be bought, or stands in the middle, was delisted after the user signed", async () => {
      const into = swap();
      const through = swap({ tokenOut: token, path: { feeFirst: 500, middle: weth, feeSecond: 3_000 } });
      await world.executeOne(swap({ amount: 2_500n * DOLLAR }));
      await world.call(world.pool, "delistAsset", weth);
      await assertRefused(into, `AssetUnsupported ${weth}`);
      await assertRefused(through, `AssetUnsupported ${weth}`);
      // Out of it goes on: nobody is locked in.
      assert.equal(
        typeof (await world.executeOne(
          swap({ asset: weth, amount: 10n ** 17n, tokenOut: world.usdcAddress }),
        )),
        "bigint",
      );
    });

    it("TransferRefused: more than the pool holds", async () => {
      const outcome = await world.executeOne(
        swap({ asset: weth, amount: 10n ** 18n, tokenOut: world.usdcAddress }),
      );
      assert.equal(asText(outcome).split(" ")[0], "transferrefused");
    });
  });

  it("a swap is executed once, and its notes cannot be spent as a payment either", async () => {
    const member = swap();
    await world.executeOne(member);
    const [first] = member.draft.nullifiers;
    assert.equal(asText(await world.executeOne(member)), `nullifierspent ${String(first)}`);
    const payment = world.transfer({ nullifiers: member.draft.nullifiers });
    assert.equal(asText(await world.executeOne(payment)), `nullifierspent ${String(first)}`);
  });

  it("GasShort: nobody can make a swap fail by carrying it with too little gas", async () => {
    const outcomes: string[] = [];
    for (let gasLimit = 300_000n; gasLimit <= 1_200_000n; gasLimit += 90_000n) {
      outcomes.push(
        await world.execute([swap()], undefined, { gasLimit }).then(
          ({ members }) => (typeof members[0] === "bigint" ? "executed" : "rejected"),
          () => "reverted",
        ),
      );
    }
    assert.deepEqual([...new Set(outcomes)], ["reverted", "executed"]);
  });

  it("TreeFull: needs a place for its own leaf too", async () => {
    await world.pretendLeafCount(TREE_CAPACITY - 4n);
    assert.deepEqual(await world.executeOne(swap()), fault("TreeFull"));
    await world.pretendLeafCount(TREE_CAPACITY - 5n);
    assert.equal(await world.executeOne(swap()), TREE_CAPACITY - 5n);
  });

  function npkOf(member: Sealed): bigint {
    return BigInt(toHex(member.draft.ext.slice(36, 68)));
  }
});
