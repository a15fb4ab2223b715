/**
 * P12. A swap gives its user at least the floor that was signed, or it did not happen and the notes are the
 * user's as before: whoever trades around it, whatever the venue does, whenever the owner changes something, and
 * however it is carried. Its neighbours in the batch notice nothing, nor does the root update behind them.
 */
import assert from "node:assert/strict";
import { Contract, type JsonRpcSigner } from "ethers";
import { loadArtifact } from "../../scripts/build/contracts.ts";
import { deployContract } from "../../scripts/deploy/pool.ts";
import {
  NO_UPDATE,
  type PoolRootUpdate,
  type PoolTransaction,
} from "../../scripts/stack/pool-transaction.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { KINDS } from "../../shared/protocol/statements.ts";
import {
  freshAddress,
  freshKeys,
  mustAddress,
  poolTransaction,
  revertOf,
  send,
  type Battlefield,
  type Restored,
  type Signed,
} from "../support/adversary.ts";
import { Bazaar, DOLLAR, notesOf } from "../support/swaps.ts";

/** In the order of ConfigurableExecutor.sol. */
const BEHAVIOURS = [
  "Honest",
  "RevertsAtLength",
  "RevertsSilently",
  "ReturnsAtLength",
  "BurnsGas",
  "BurnsAlmostAll",
  "GivesBack",
  "Calls",
  "TakesTwice",
  "PaysFromStock",
] as const;

const SHARES = 5_000n * DOLLAR;
const NEIGHBOURS = 2n * 7n * DOLLAR;

describe("P12 a swap gives at least its floor, or nothing happens", function () {
  this.timeout(600_000);
  let bazaar: Bazaar;
  let field: Battlefield;
  let trader: JsonRpcSigner;
  const keys = freshKeys();
  const out = freshAddress();
  let wallet: Restored;
  let promised: bigint;
  let floor: bigint;
  /** Dollars for tokens by way of ether. */
  let swap: Signed;
  let swapped: PoolTransaction;
  /** Of the same notes: what their owner does when the swap came to nothing. */
  let payment: PoolTransaction;
  /** Two honest deposits around it, and the update that covers them and nothing else. */
  let first: PoolTransaction;
  let last: PoolTransaction;
  let update: PoolRootUpdate;
  /** An attacker's contract in the place of the executor. Prints what it pays. */
  let venue: Contract;
  let venueAddress: Address;

  before(async () => {
    bazaar = await Bazaar.open();
    ({ field } = bazaar);
    trader = await field.account(5);
    await send(bazaar.contract(bazaar.usdc), "mint", trader.address, 10n ** 12n * DOLLAR);
    venueAddress = (await deployContract(field.owner, "ConfigurableExecutor", [])).address;
    venue = new Contract(venueAddress, (await loadArtifact("ConfigurableExecutor")).abi, field.owner);

    await field.settle(
      await field.deposit(keys, 4_000n * DOLLAR),
      await field.deposit(keys, 2_000n * DOLLAR),
    );
    wallet = await field.restore(keys);
    const { notes } = wallet;
    const { usdc, token: tokenOut, twoHops: path } = bazaar;
    promised = await bazaar.quote(usdc, path, tokenOut, SHARES);
    floor = (promised * 99n) / 100n;
    swap = await bazaar.swap(wallet, { notes, sharesIn: SHARES, tokenOut, floor, path });
    swapped = await field.transaction(swap);
    payment = await field.transaction(
      await bazaar.pay(wallet, { notes, payment: { type: "withdraw", recipient: out, value: SHARES } }),
    );
    const neighbours = [
      await field.deposit(freshKeys(), NEIGHBOURS / 2n),
      await field.deposit(freshKeys(), NEIGHBOURS / 2n),
    ];
    [first, last] = [await field.transaction(neighbours[0]!), await field.transaction(neighbours[1]!)];
    update = await field.attestRoot(
      await field.rootRequest(neighbours.flatMap(({ statement }) => statement.facts.commitments)),
    );
  });
  after(() => bazaar.stop());

  const venueIs = async (behaviour: (typeof BEHAVIOURS)[number], pays: bigint): Promise<void> => {
    await send(venue, "set", BEHAVIOURS.indexOf(behaviour), pays);
  };
  /** By the owner's hand, announced and waited for. */
  const replaced = (): Promise<void> => bazaar.admit({ executor: venueAddress });
  const nameOf = (answer: unknown): string | undefined =>
    field.pool.interface.parseError(answer as string)?.name;

  /**
   * The swap is refused with that error, nothing else is, and its notes pay like any others afterwards. What the
   * pool says of it then is, where a term comes before the notes, still that error.
   */
  async function comesToNothing(error: string, inTheEnd = "NullifierSpent"): Promise<void> {
    const { nullifiers } = swap.statement.facts;
    const state = async (): Promise<unknown> => ({
      others: (await bazaar.holdings()).slice(1),
      venues: [await bazaar.holdings(bazaar.market.executor), await bazaar.holdings(venueAddress)],
      spent: await Promise.all(nullifiers.map((nullifier) => field.pool.getFunction("isSpent")(nullifier))),
      notes: (await field.restore(keys)).notes,
    });
    const [dollars] = await bazaar.holdings();
    const before = await state();
    const outcome = await field.execute([first, swapped, last], update);
    assert.deepEqual([...outcome.members, outcome.update], ["executed", error, "executed", "taken"]);
    assert.deepEqual(await state(), before);
    assert.equal((await bazaar.holdings())[0], dollars! + NEIGHBOURS);

    assert.equal(await field.executeOne(payment), "executed");
    assert.equal(await bazaar.balance(bazaar.usdc, out), SHARES);
    assert.equal(await field.executeOne(swapped), inTheEnd);
  }

  /** The swap is executed among its neighbours; what the pool got is the user's note, and not below the floor. */
  async function happens(): Promise<bigint> {
    const held = await bazaar.balance(bazaar.token, field.home.pool);
    const { members } = await field.execute([first, swapped, last]);
    assert.deepEqual(members, ["executed", "executed", "executed"]);
    const received = (await bazaar.balance(bazaar.token, field.home.pool)) - held;
    assert.ok(received >= floor);
    const bought = notesOf(await field.restore(keys), bazaar.token);
    assert.deepEqual(
      bought.map(({ value }) => value),
      [received],
    );
    return received;
  }

  it("P12 on a market that nobody touched it gives what was promised", async () => {
    assert.equal(await bazaar.undone(happens), promised);
  });

  describe("whoever trades around it", () => {
    it("P12 who moves the price past the floor gets nothing out of it", () =>
      bazaar.undone(async () => {
        await bazaar.trade(trader, bazaar.usdc, bazaar.weth, 200_000n * DOLLAR);
        await comesToNothing("FloorMissed");
      }));

    it("P12 when the price has come back the same statement is good, and gives its floor", () =>
      bazaar.undone(async () => {
        const bought = await bazaar.trade(trader, bazaar.usdc, bazaar.weth, 200_000n * DOLLAR);
        assert.equal(await field.executeOne(swapped), "FloorMissed");
        await bazaar.trade(trader, bazaar.weth, bazaar.usdc, bought);
        await happens();
      }));

    it("P12 who moves it a little may win that little, down to the floor and not below", () =>
      bazaar.undone(async () => {
        const bought = await bazaar.trade(trader, bazaar.usdc, bazaar.weth, 5_000n * DOLLAR);
        const received = await happens();
        assert.ok(received < promised && received >= floor);
        await bazaar.trade(trader, bazaar.weth, bazaar.usdc, bought);
      }));
  });

  describe("the venue", () => {
    const under = (
      behaviour: (typeof BEHAVIOURS)[number],
      pays: bigint,
      attack: () => Promise<unknown>,
    ): Promise<void> =>
      bazaar.undone(async () => {
        await replaced();
        await venueIs(behaviour, pays);
        await attack();
      });

    it("P12 that pays the floor is paid; one unit less, or nothing, comes to nothing", async () => {
      await under("Honest", floor, async () => assert.equal(await happens(), floor));
      await under("Honest", floor - 1n, () => comesToNothing("FloorMissed"));
      await under("Honest", 0n, () => comesToNothing("FloorMissed"));
    });

    it("P12 that takes and reverts, in silence or with 300 kB", async () => {
      await under("RevertsSilently", floor, () => comesToNothing("SwapFailed"));
      await under("RevertsAtLength", floor, () => comesToNothing("SwapFailed"));
    });

    it("P12 that answers with 300 kB, burns all gas, or leaves too little to count", async () => {
      await under("ReturnsAtLength", floor, async () => assert.equal(await happens(), floor));
      await under("BurnsGas", floor, () => comesToNothing("SwapFailed"));
      await under("BurnsAlmostAll", floor, () => comesToNothing("GasExhausted"));
    });

    it("P12 that pays with a part of what it was given", async () => {
      await under("GivesBack", floor, () => comesToNothing("TransferMismatch"));
    });

    it("P12 that sends another token, however much of it", async () => {
      const other = await bazaar.listToken();
      const gift = bazaar.contract(other).interface.encodeFunctionData("mint", [field.home.pool, 2n * floor]);
      await under("Calls", 0n, async () => {
        await send(venue, "setCall", other, gift);
        await comesToNothing("FloorMissed");
        assert.equal(await bazaar.balance(other, field.home.pool), 0n);
      });
    });

    it("P12 that reaches for the pool's other money finds no approval", () =>
      under("TakesTwice", floor, async () => {
        assert.equal(await happens(), floor);
        assert.equal(await venue.getFunction("wasRefused")(), true);
        assert.equal(await bazaar.balance(bazaar.usdc, venueAddress), SHARES);
      }));

    it("P12 that withdraws the very notes in the middle of their swap", () =>
      under("Calls", floor, async () => {
        const inner = field.pool.interface.encodeFunctionData("execute", [[payment], NO_UPDATE]);
        await send(venue, "setCall", field.home.pool, inner);
        assert.equal(await happens(), floor);
        assert.equal(nameOf(await venue.getFunction("answer")()), "Reentered");
        assert.equal(await bazaar.balance(bazaar.usdc, out), 0n);
        assert.equal(await field.executeOne(payment), "NullifierSpent");
      }));

    it("P12 that deposits for itself what it should pay, to have it counted twice", async () => {
      const thief = freshKeys();
      const deposit = await field.prove(bazaar.prepareDeposit(thief, bazaar.token, floor, venueAddress));
      const attested = await field.transaction(deposit);
      const inner = field.pool.interface.encodeFunctionData("execute", [[attested], NO_UPDATE]);
      for (const pays of [0n, floor]) {
        await under("Calls", pays, async () => {
          await send(bazaar.contract(bazaar.token), "mint", venueAddress, floor);
          await send(venue, "setCall", field.home.pool, inner);
          if (pays === 0n) await comesToNothing("FloorMissed");
          else {
            assert.equal(await happens(), floor);
            assert.equal(nameOf(await venue.getFunction("answer")()), "Reentered");
          }
          assert.equal((await field.restore(thief)).balance, 0n);
        });
      }
    });
  });

  describe("the owner", () => {
    it("P12 who wants a greedy venue must wait, and the user's swap goes on meanwhile", () =>
      bazaar.undone(async () => {
        await send(field.pool, "proposeExecutor", venueAddress);
        assert.equal(await revertOf(field.pool, "setExecutor", venueAddress), "TooEarly");
        assert.equal(await happens(), promised);
      }));

    it("P12 who has put it in after all takes nothing", () =>
      bazaar.undone(async () => {
        await replaced();
        await comesToNothing("FloorMissed");
      }));

    it("P12 who removes the venue stops swaps only, and until there is one again", async () => {
      await bazaar.undone(async () => {
        await send(field.pool, "removeExecutor", bazaar.market.executor);
        await comesToNothing("ExecutorAbsent", "ExecutorAbsent");
      });
      await bazaar.undone(async () => {
        await send(field.pool, "removeExecutor", bazaar.market.executor);
        assert.equal(await field.executeOne(swapped), "ExecutorAbsent");
        await bazaar.admit({ executor: bazaar.market.executor });
        assert.equal(await happens(), promised);
      });
    });

    it("P12 who delists what is bought or stands in the middle; not so what is given", async () => {
      for (const asset of [bazaar.token, bazaar.weth]) {
        await bazaar.undone(async () => {
          await send(field.pool, "delistAsset", asset);
          await comesToNothing("AssetUnsupported", "AssetUnsupported");
        });
      }
      await bazaar.undone(async () => {
        await send(field.pool, "delistAsset", bazaar.usdc);
        assert.equal(await field.executeOne(swapped), "executed");
        assert.equal(notesOf(await field.restore(keys), bazaar.token)[0]?.value, promised);
      });
    });
  });

  describe("the carrier", () => {
    it("P12 who leaves too little gas fails itself, and never the swap", async () => {
      const share = (await field.pool.getFunction("memberGas")(KINDS["private-swap"].id)) as bigint;
      const carry = { gasLimit: share };
      assert.equal(await revertOf(field.pool, "execute", [swapped], NO_UPDATE, carry), "GasShort");
      const outcomes = new Set<string>();
      const { nullifiers } = swap.statement.facts;
      for (let gasLimit = share / 4n; gasLimit <= (share * 5n) / 4n; gasLimit += share / 8n) {
        await bazaar.undone(async () => {
          const done = await send(field.pool, "execute", [swapped], NO_UPDATE, { gasLimit }).then(
            () => true,
            () => false,
          );
          const isSpent = (await field.pool.getFunction("isSpent")(nullifiers[0])) as boolean;
          outcomes.add(done ? (isSpent ? "executed" : "rejected") : isSpent ? "lost" : "reverted");
        });
      }
      assert.deepEqual([...outcomes], ["reverted", "executed"]);
    });

    it("P12 who waits for a worse price waits for the floor, and no longer than the deadline", () =>
      bazaar.undone(async () => {
        const { timestamp } = (await field.provider.getBlock("latest"))!;
        const { notes } = wallet;
        const { token: tokenOut, twoHops: path } = bazaar;
        const terms = { notes, sharesIn: SHARES, tokenOut, floor, path, deadline: timestamp + 300 };
        const short = await bazaar.swap(wallet, terms);
        const held = poolTransaction(short, (await field.attest(short)).signature);
        const bought = await bazaar.trade(trader, bazaar.usdc, bazaar.weth, 200_000n * DOLLAR);
        assert.equal((await bazaar.refused(held, short.statement.facts.nullifiers)).error, "FloorMissed");
        await bazaar.passTime(301);
        await bazaar.trade(trader, bazaar.weth, bazaar.usdc, bought);
        assert.equal((await bazaar.refused(held, short.statement.facts.nullifiers)).error, "DeadlinePassed");
        assert.equal(await field.executeOne(payment), "executed");
      }));

    it("P12 whose batch spends the notes first: the swap comes to nothing, the venue gets nothing", () =>
      bazaar.undone(async () => {
        const { members } = await field.execute([payment, swapped]);
        assert.deepEqual(members, ["executed", "NullifierSpent"]);
        assert.deepEqual(await bazaar.holdings(bazaar.market.executor), [0n, 0n, 0n]);
        assert.equal(mustAddress(await field.pool.getFunction("executor")()), bazaar.market.executor);
      }));
  });
});
