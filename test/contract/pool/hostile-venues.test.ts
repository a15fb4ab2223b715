// Swaps with a venue, or a token on the way, that wants to harm: what it can break is its own swap, and nothing else. See hostile-venues.tree.
import assert from "node:assert/strict";
import { AbiCoder, Contract, FunctionFragment, Interface } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { depositDraft, seal, type Sealed } from "../../support/drafts.ts";
import { NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { fault, World, type Fault } from "./world.ts";

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
/** In ConfigurableToken.sol. */
const TOKEN_BEHAVIOURS = {
  Honest: 0,
  ReturnsFalse: 2,
  TakesFee: 4,
  MovesNothing: 5,
  Reenters: 8,
  HidesBalance: 9,
};
type TokenBehaviour = keyof typeof TOKEN_BEHAVIOURS;

const AMOUNT = 1_000_000n;
const FLOOR = 500n;

describe("pool: hostile venues", () => {
  let world: World;
  let venue: Contract;
  let configurable: Contract;
  let configurableAddress: Address;
  /** Plain and listed. */
  let other: Address;
  let restore: () => Promise<void>;
  before(async () => {
    world = await World.start({
      executor: "ConfigurableExecutor",
      moreAssets: ["ConfigurableToken", "TestUSDC"],
    });
    [configurableAddress, other] = world.moreAssets as [Address, Address];
    venue = new Contract(world.executor!, (await loadArtifact("ConfigurableExecutor")).abi, world.owner);
    configurable = new Contract(
      configurableAddress,
      (await loadArtifact("ConfigurableToken")).abi,
      world.owner,
    );
    await world.executeOne(await world.deposit({ amount: 1_000n * AMOUNT }));
    await world.call(configurable, "mint", world.setting.home.pool, 1_000n * AMOUNT);
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const venueIs = (behaviour: (typeof BEHAVIOURS)[number], pays = FLOOR): Promise<unknown> =>
    world.call(venue, "set", BEHAVIOURS.indexOf(behaviour), pays);
  const tokenIs = (behaviour: TokenBehaviour): Promise<unknown> =>
    world.call(configurable, "setBehaviour", TOKEN_BEHAVIOURS[behaviour]);
  const swap = (asset = world.usdcAddress, tokenOut = other): Sealed =>
    seal(world.swapDraft({ asset, amount: AMOUNT, tokenOut, minAmountOut: FLOOR }));
  const balance = (asset: Address, account: string = world.setting.home.pool): Promise<bigint> =>
    new Contract(asset, configurable.interface, world.provider).getFunction("balanceOf")(account);
  const isSpent = (member: Sealed): Promise<boolean> =>
    world.pool.getFunction("isSpent")(member.draft.nullifiers[0]);
  const poolCall = (name: string, ...args: unknown[]): string =>
    world.pool.interface.encodeFunctionData(name, args);

  async function assertUnharmed(member: Sealed, expected: Fault): Promise<void> {
    const balances = async (): Promise<bigint[]> =>
      Promise.all([world.usdcAddress, configurableAddress, other].map((asset) => balance(asset)));
    const before = await balances();
    // Neighbours on both sides, so that whatever it burns is seen to be its own.
    const { members } = await world.execute([world.transfer(), member, world.transfer()]);
    assert.deepEqual([typeof members[0], members[1], typeof members[2]], ["bigint", expected, "bigint"]);
    assert.equal(await isSpent(member), false);
    assert.deepEqual(await balances(), before);
  }

  describe("a venue", () => {
    it("that pays gets exactly the amount, and what it pays is the note", async () => {
      await venueIs("Honest", 777n);
      const member = swap();
      assert.equal(typeof (await world.executeOne(member)), "bigint");
      assert.equal(await balance(world.usdcAddress, world.executor), AMOUNT);
      assert.equal(world.bought.get(member.statementHash)?.value, 777n);
    });

    it("FloorMissed: that takes the money and pays nothing, or one unit too little", async () => {
      await venueIs("Honest", 0n);
      await assertUnharmed(swap(), fault("FloorMissed", FLOOR, 0n));
      await venueIs("Honest", FLOOR - 1n);
      await assertUnharmed(swap(), fault("FloorMissed", FLOOR, FLOOR - 1n));
    });

    it("AmountOutOfRange: that pays more than a note can hold", async () => {
      await venueIs("Honest", 2n ** 128n);
      await assertUnharmed(swap(), fault("AmountOutOfRange"));
      await venueIs("Honest", 2n ** 128n - 1n);
      assert.equal(typeof (await world.executeOne(swap())), "bigint");
    });

    it("SwapFailed: that reverts with 300 kB, of which 128 bytes are kept", async () => {
      await venueIs("RevertsAtLength");
      await assertUnharmed(swap(), fault("SwapFailed", `0x${"ff".repeat(32)}${"00".repeat(96)}`));
    });

    it("SwapFailed: that reverts without a word, or burns all gas", async () => {
      await venueIs("RevertsSilently");
      await assertUnharmed(swap(), fault("SwapFailed", "0x"));
      await venueIs("BurnsGas");
      await assertUnharmed(swap(), fault("SwapFailed", "0x"));
    });

    it("GasExhausted: that leaves too little to count what it paid", async () => {
      await venueIs("BurnsAlmostAll");
      await assertUnharmed(swap(), fault("GasExhausted"));
    });

    it("burns its own share and no more, in a batch with innocent neighbours", async () => {
      await venueIs("BurnsGas");
      const members = [world.transfer(), swap(), world.transfer(), swap(), await world.deposit()];
      const good = members.filter((_, i) => i % 2 === 0);
      const {
        members: outcomes,
        update,
        receipt,
      } = await world.execute(members, world.updateTo(world.after(good)));
      assert.deepEqual(
        outcomes.map((outcome) => (typeof outcome === "bigint" ? "executed" : outcome.error)),
        ["executed", "SwapFailed", "executed", "SwapFailed", "executed"],
      );
      assert.equal(typeof update, "bigint");
      const share: bigint = await world.pool.getFunction("memberGas")(4);
      assert.ok(receipt.gasUsed < 2n * share + 500_000n, `${receipt.gasUsed} gas`);
    });

    it("that answers with 300 kB is paid and counted like any other", async () => {
      await venueIs("ReturnsAtLength");
      assert.equal(typeof (await world.executeOne(swap())), "bigint");
    });

    it("TransferMismatch: that gives a part of the input back", async () => {
      await venueIs("GivesBack");
      await assertUnharmed(swap(), fault("TransferMismatch", AMOUNT, AMOUNT / 2n));
    });

    it("that reaches for more finds no approval", async () => {
      await venueIs("TakesTwice");
      assert.equal(typeof (await world.executeOne(swap())), "bigint");
      assert.equal(await venue.getFunction("wasRefused")(), true);
      assert.equal(await balance(world.usdcAddress, world.executor), AMOUNT);
    });

    it("Reentered: that deposits what it should pay, to have it counted twice", async () => {
      const deposit = seal(
        depositDraft(world.setting, { asset: other, amount: FLOOR, depositor: world.executor! }),
      );
      await world.call(
        new Contract(other, configurable.interface, world.owner),
        "mint",
        world.executor,
        FLOOR,
      );
      await venueIs("Calls", 0n);
      await world.call(
        venue,
        "setCall",
        world.setting.home.pool,
        poolCall("execute", [deposit.transaction], NO_UPDATE),
      );
      await assertUnharmed(swap(), fault("FloorMissed", FLOOR, 0n));
      // The same with enough paid, so that its state is kept and can be asked.
      await venueIs("Calls");
      const first = world.queue.count;
      assert.equal(await world.executeOne(swap()), first);
      assert.deepEqual(world.faultOf(await venue.getFunction("answer")()), fault("Reentered"));
      assert.equal(world.queue.count, first + 4n);
      assert.deepEqual([...(await world.pool.getFunction("queue")())], [world.queue.count, world.queue.head]);
    });

    /** Every function that may change something, with arguments of nothing. */
    const everyDoor = (): string[] =>
      world.pool.interface.fragments.flatMap((each) => {
        if (!(each instanceof FunctionFragment) || each.constant || each.name === "executeMember") return [];
        const nothing = AbiCoder.defaultAbiCoder().getDefaultValue(each.inputs);
        return [world.pool.interface.encodeFunctionData(each, nothing)];
      });

    it("OnlySelf, Reentered: that calls any other door of the pool, the owner's too", async () => {
      await venueIs("Calls");
      const inner = new Interface((await loadArtifact("Pool")).abi);
      const member = swap();
      const statement = {
        ...{ kind: 2, deadline: 1, inputs: 2, outputs: 4, leaves: 4, amount: 1n },
        ...{ extHash: member.statementHash, hash: member.statementHash, token: other },
        ...{ proofHash: member.statementHash, rootNumber: 0 },
        ...{ isProved: false, isPaid: false, isAgain: false },
      };
      for (const [message, expected] of [
        [
          inner.encodeFunctionData("executeMember", [member.transaction, statement, world.executor]),
          "OnlySelf",
        ],
        ...everyDoor().map((call) => [call, "Reentered"] as const),
      ] as const) {
        await world.call(venue, "setCall", world.setting.home.pool, message);
        assert.equal(typeof (await world.executeOne(swap())), "bigint");
        assert.deepEqual(world.faultOf(await venue.getFunction("answer")()), fault(expected));
      }
    });

    it("that asks the pool in the middle sees the notes spent already", async () => {
      await venueIs("Calls");
      const member = swap();
      await world.call(
        venue,
        "setCall",
        world.setting.home.pool,
        poolCall("isSpent", member.draft.nullifiers[1]),
      );
      await world.executeOne(member);
      assert.equal(BigInt(await venue.getFunction("answer")()), 1n);
    });

    it("that another one replaced after the user signed: the floor is kept by whoever comes", async () => {
      const member = swap();
      const { address } = await deployContract(world.owner, "ConfigurableExecutor", []);
      await world.call(world.pool, "proposeExecutor", address);
      await world.increaseTime(200);
      await world.call(world.pool, "setExecutor", address);
      assert.deepEqual(await world.executeOne(member), fault("FloorMissed", FLOOR, 0n));
      assert.equal(await isSpent(member), false);
      assert.equal(await balance(world.usdcAddress, address), 0n);
    });

    it("of which no contract is left gives nothing", async () => {
      await world.provider.send("anvil_setCode", [world.executor, "0x"]);
      await assertUnharmed(swap(), fault("FloorMissed", FLOOR, 0n));
    });
  });

  describe("a token that is given", () => {
    const given = (): Sealed => swap(configurableAddress);

    for (const [behaviour, expected, what] of [
      ["ReturnsFalse", fault("TransferRefused", "0x"), "returns false"],
      ["MovesNothing", fault("TransferMismatch", AMOUNT, 0n), "moves nothing"],
    ] as const) {
      it(`${expected.error}: that ${what}`, async () => {
        await venueIs("Honest");
        await tokenIs(behaviour);
        await assertUnharmed(given(), expected);
      });
    }

    it("TransferRefused: that hides its balances", async () => {
      await venueIs("Honest");
      await tokenIs("HidesBalance");
      const member = given();
      assert.deepEqual(await world.executeOne(member), fault("TransferRefused", "0x"));
      assert.equal(await isSpent(member), false);
    });

    it("Reentered: that calls the pool while it moves", async () => {
      await venueIs("Honest");
      await tokenIs("Reenters");
      const message = poolCall("execute", [world.transfer().transaction], NO_UPDATE);
      await world.call(configurable, "setReentry", world.setting.home.pool, message);
      const first = world.queue.count;
      assert.equal(await world.executeOne(given()), first);
      assert.deepEqual(world.faultOf(await configurable.getFunction("answer")()), fault("Reentered"));
      assert.equal(world.queue.count, first + 4n);
    });
  });

  describe("a token that is bought", () => {
    const bought = (): Sealed => swap(world.usdcAddress, configurableAddress);

    it("that keeps a fee: the note is what arrived, and the floor is held against that", async () => {
      await world.call(configurable, "mint", world.executor, 10_000n);
      await tokenIs("TakesFee");
      await venueIs("PaysFromStock", 1_000n);
      const member = bought();
      assert.equal(typeof (await world.executeOne(member)), "bigint");
      assert.equal(world.bought.get(member.statementHash)?.value, 990n);
      await venueIs("PaysFromStock", FLOOR);
      await assertUnharmed(bought(), fault("FloorMissed", FLOOR, 495n));
    });

    it("TransferRefused: that hides its balances", async () => {
      await tokenIs("HidesBalance");
      await venueIs("Honest");
      const member = bought();
      assert.deepEqual(await world.executeOne(member), fault("TransferRefused", "0x"));
      assert.equal(await isSpent(member), false);
    });

    it("Reentered: that calls the pool while it moves", async () => {
      await world.call(configurable, "mint", world.executor, 10_000n);
      await tokenIs("Reenters");
      await venueIs("PaysFromStock");
      const deposit = seal(
        depositDraft(world.setting, {
          asset: configurableAddress,
          amount: FLOOR,
          depositor: configurableAddress,
        }),
      );
      const message = poolCall("execute", [deposit.transaction], NO_UPDATE);
      await world.call(configurable, "setReentry", world.setting.home.pool, message);
      const member = bought();
      assert.equal(typeof (await world.executeOne(member)), "bigint");
      assert.deepEqual(world.faultOf(await configurable.getFunction("answer")()), fault("Reentered"));
      assert.equal(world.bought.get(member.statementHash)?.value, FLOOR);
    });
  });

  it("Reentered: a recipient whom the token tells of the money, and who calls the pool", async () => {
    // The venue's contract serves as the recipient: the token calls it, and it calls the pool.
    await venueIs("Calls", 0n);
    const message = poolCall("execute", [world.transfer().transaction], NO_UPDATE);
    await world.call(venue, "setCall", world.setting.home.pool, message);
    await tokenIs("Reenters");
    const tell = venue.interface.encodeFunctionData("swap", [
      ...[ZERO_ADDRESS, 0n, 0, ZERO_ADDRESS, 0, ZERO_ADDRESS],
    ]);
    await world.call(configurable, "setReentry", world.executor, tell);
    const first = world.queue.count;
    const withdrawal = seal(world.withdrawalDraft(world.executor!, 1_000n, configurableAddress));
    assert.equal(await world.executeOne(withdrawal), first);
    assert.deepEqual(world.faultOf(await venue.getFunction("answer")()), fault("Reentered"));
    assert.equal(await balance(configurableAddress, world.executor), 1_000n);
    assert.equal(world.queue.count, first + 4n);
  });
});
