// What is proved and finds no room: claims, who is paid how much of it, and the guardian's pause. See claims.tree.
import assert from "node:assert/strict";
import { Contract, getAddress } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { depositDraft, drawField, seal, type Sealed } from "../../support/drafts.ts";
import { toyKeys, toyProved } from "../../support/toy-keys.ts";
import { NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { mustField, ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { falseUpdate, recover, refusedTo } from "./recovery.ts";
import { simulate } from "./simulation.ts";
import { DAY, nextBlockAt, nextBlockTomorrow, now, outcome, trueUpdate } from "./told-world.ts";
import { actingAs, fault, freshAddress, mustAddress, World } from "./world.ts";

const HOUR = 3_600;
const EMPTY_ROOT = emptyNode(TREE_DEPTH);
const [MINIMUM, HELD] = [1_000n, 100_000n];
/** What may leave at once. */
const SIZE = HELD / 10n / 4n;
/** The proved way's part of it. */
const PROVED = SIZE / 4n;

describe("pool: claims", function () {
  let world: World;
  let token: Address;
  let contract: Contract;
  let restore: () => Promise<void>;
  before(async () => {
    world = await World.start({
      ...{
        keys: toyKeys(),
        minimumCap: MINIMUM,
        moreAssets: ["RefusingToken"],
        provedDelay: 1,
        executor: "FixedExecutor",
      },
      guardian: mustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    });
    token = world.moreAssets[0]!;
    contract = new Contract(token, (await loadArtifact("RefusingToken")).abi, world.owner);
    await world.call(contract, "mint", world.owner.address, HELD);
    const terms = { asset: token, amount: HELD, depositor: mustAddress(world.owner.address) };
    assert.equal(await outcome(world, seal(depositDraft(world.setting, terms))), 0n);
    await tomorrow();
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  /** Signers at work, so that the proved way has its quarter and no more. */
  const tomorrow = async (): Promise<void> => {
    await nextBlockTomorrow(world);
    await world.execute([world.transfer()]);
    assert.equal(typeof (await world.execute([], trueUpdate(world))).update, "bigint");
  };
  /** Without a word, on the root of the empty tree, which is old. */
  const withdrawal = (amount: bigint, recipient: Address, root: bigint = EMPTY_ROOT): Sealed =>
    toyProved(seal({ ...world.withdrawalDraft(recipient, amount, token), root: mustField(root) }));
  const withdraw = async (amount: bigint, recipient = freshAddress(), root?: bigint): Promise<Address> => {
    assert.equal(typeof (await outcome(world, withdrawal(amount, recipient, root))), "bigint");
    return recipient;
  };
  const balance = (holder: Address): Promise<bigint> => contract.getFunction("balanceOf")(holder);
  const read = async (name: string, ...args: unknown[]): Promise<unknown[]> => [
    ...(await world.pool.getFunction(name).staticCall(token, ...args, { blockTag: "latest" })),
  ];
  const owed = async (id: number): Promise<bigint> => (await read("claim", id))[1] as bigint;
  const due = async (id: number): Promise<bigint> => (await read("claim", id))[2] as bigint;
  const room = (): Promise<bigint[]> => read("room") as Promise<bigint[]>;
  const gasOfNewest = async (): Promise<bigint> => (await world.provider.getBlock("latest"))!.gasUsed;
  /** All that is due of it; nothing where that is nothing. */
  const pay = async (id: number): Promise<void> => {
    const { said } = await recover(world, "payClaim", [token, id]);
    assert.deepEqual(said, ["ClaimPaid"]);
  };
  const refused = (id: number) => refusedTo(world, "payClaim", [token, id]);
  const near = (one: bigint, other: bigint, slack = 2n): void =>
    assert.ok(one <= other && one + slack >= other, `${one}, ${other}`);

  it("pays at once what the quarter has room for, and makes a claim of the rest", async () => {
    const first = await withdraw(PROVED - 100n);
    const second = await withdraw(101n);
    assert.deepEqual([await balance(first), await balance(second)], [PROVED - 100n, 0n]);
    assert.deepEqual((await read("claim", 0)).slice(0, 2), [getAddress(second), 101n]);
    assert.deepEqual(await read("claim", 7), [ZERO_ADDRESS, 0n, 0n, false]);
    // The attested way has its own.
    assert.equal((await room())[0], SIZE - PROVED);
    const other = freshAddress();
    assert.equal(
      typeof (await outcome(world, seal(world.withdrawalDraft(other, SIZE - PROVED, token)))),
      "bigint",
    );
    assert.equal(await balance(other), SIZE - PROVED);
  });

  it("while a claim waits, what is proved joins it, however small; when none does, it is paid", async () => {
    await withdraw(PROVED);
    await withdraw(2n * PROVED);
    await tomorrow();
    const small = await withdraw(1n);
    assert.deepEqual([await balance(small), await owed(1)], [0n, 1n]);
    const swap = toyProved(
      seal({
        ...world.swapDraft({ asset: token, amount: 1n, tokenOut: world.usdcAddress }),
        root: EMPTY_ROOT,
      }),
    );
    assert.deepEqual(await outcome(world, swap), fault("CapReached", getAddress(token), 0n, 0n));
    while ((await owed(0)) > 0n) {
      await tomorrow();
      await pay(0);
    }
    assert.equal(await balance(await withdraw(1n)), 1n);
  });

  it("shares what there is room for in proportion, whoever asks first, and pays everything in the end", async () => {
    await withdraw(PROVED);
    const [large, small] = [await withdraw(3n * PROVED), await withdraw(PROVED)];
    await tomorrow();
    const [, share] = await room();
    near(await due(0), (share! * 3n) / 4n);
    near(await due(1), share! / 4n);
    // The second asks first, and in a day of which nothing is left.
    await pay(1);
    near(await balance(small), share! / 4n);
    assert.equal((await refused(1)).error, "CapReached");
    await pay(0);
    near(await balance(large), (share! * 3n) / 4n);
    for (let day = 0; (await owed(0)) + (await owed(1)) > 0n; day++) {
      assert.ok(day < 12);
      await tomorrow();
      for (const id of [0, 1]) if ((await due(id)) > 0n) await pay(id);
    }
    assert.deepEqual([await balance(large), await balance(small)], [3n * PROVED, PROVED]);
    assert.deepEqual(await read("claimTotals"), [2n, 0n, 0n]);
    assert.deepEqual(await refused(0), fault("ClaimUnknown", 0n));
  });

  it("whoever splits a claim into many gets no more", async () => {
    await withdraw(PROVED);
    const [whole, parts] = [await withdraw(1_000n), freshAddress()];
    for (let i = 0; i < 10; i++) await withdraw(100n, parts);
    await nextBlockAt(world, (await now(world)) + 6 * HOUR);
    await pay(0);
    for (let id = 1; id <= 10; id++) await pay(id);
    const [one, ten] = [await balance(whole), await balance(parts)];
    assert.ok(one > 100n && ten <= one, `${one}, ${ten}`);
  });

  it("one that came later has no part of what was allotted before", async () => {
    await withdraw(PROVED);
    const early = await withdraw(2n * PROVED);
    await tomorrow();
    const [, share] = await room();
    await withdraw(2n * PROVED);
    assert.equal(await due(1), 0n);
    near(await due(0), share!);
    await pay(0);
    near(await balance(early), share!);
  });

  it("ClaimUnknown, CapReached: nothing without room, nothing twice, nothing that was never made", async () => {
    assert.deepEqual(await refused(0), fault("ClaimUnknown", 0n));
    await withdraw(PROVED);
    await withdraw(300n);
    assert.deepEqual(await refused(0), fault("CapReached", getAddress(token), 0n, 0n));
    await tomorrow();
    await pay(0);
    for (const id of [0, 1]) assert.deepEqual(await refused(id), fault("ClaimUnknown", BigInt(id)));
  });

  it("ClaimTooLarge: none above what the pool holds, and its notes stay", async () => {
    const draft = withdrawal(HELD + 1n, freshAddress());
    assert.deepEqual(await outcome(world, draft), fault("ClaimTooLarge", HELD));
    assert.deepEqual(
      await outcome(world, withdrawal(2n ** 128n - 1n, freshAddress())),
      fault("ClaimTooLarge", HELD),
    );
    assert.equal(await world.pool.getFunction("isSpent")(draft.draft.nullifiers[0]), false);
    await withdraw(HELD);
    assert.equal(await owed(0), HELD);
  });

  it("dust is paid with the others, and its maker's gas is more than its payer's", async () => {
    await withdraw(PROVED);
    const made: bigint[] = [];
    for (let i = 0; i < 12; i++) {
      await withdraw(1n);
      made.push(await gasOfNewest());
    }
    const behind = await withdraw(200n);
    await tomorrow();
    await pay(12);
    assert.equal(await balance(behind), 200n);
    for (let id = 0; id < 12; id++) {
      const { said, receipt } = await recover(world, "payClaim", [token, id]);
      assert.deepEqual(said, ["ClaimPaid"]);
      // Though the verifier of these tests asks for next to nothing; a real proof costs its maker 250,000 more.
      assert.ok(receipt.gasUsed < made[id]!, `${receipt.gasUsed} and ${made[id]}`);
    }
    assert.deepEqual(await read("claimTotals"), [13n, 0n, 0n]);
  });

  for (const [name, spoil] of [
    ["refuses", (payee: Address) => world.call(contract, "setRefused", payee, true)],
    ["answers false to", (payee: Address) => world.call(contract, "setFalse", payee, true)],
    [
      "has a hook of, which gives a unit back,",
      (payee: Address) => world.call(contract, "setGivesBack", payee, 1n),
    ],
  ] as const)
    it(`a payee whom the token ${name} keeps nobody else, for a year, and loses nothing`, async () => {
      await withdraw(PROVED);
      const [blocked, next] = [await withdraw(1n + PROVED), await withdraw(PROVED)];
      await spoil(blocked);
      for (let day = 0; day < 4; day++) {
        await nextBlockAt(world, (await now(world)) + 90 * DAY);
        await world.execute([], NO_UPDATE);
        assert.match((await refused(0)).error, /^Transfer(Refused|Mismatch)$/);
        if ((await due(1)) > 0n) await pay(1);
      }
      assert.equal(await balance(next), PROVED);
      assert.equal(await balance(await withdraw(10n)), 10n);
      for (const undo of ["setRefused", "setFalse"]) await world.call(contract, undo, blocked, false);
      await world.call(contract, "setGivesBack", blocked, 0n);
      await pay(0);
      assert.equal(await balance(blocked), 1n + PROVED);
    });

  it("a token that pauses changes nothing: whatever anybody tries meanwhile, each has its part afterwards", async () => {
    await withdraw(PROVED);
    const [first, second] = [await withdraw(2n * PROVED), await withdraw(2n * PROVED)];
    await tomorrow();
    await world.call(contract, "setPaused", true);
    for (const id of [0, 0, 1, 0]) assert.equal((await refused(id)).error, "TransferRefused");
    await withdraw(PROVED);
    await world.call(contract, "setPaused", false);
    await pay(1);
    await pay(0);
    assert.equal(await balance(first), await balance(second));
    assert.ok((await balance(first)) > 0n);
  });

  it("a pool that is short gives everybody the same part of what it has", async () => {
    await withdraw(PROVED);
    const [first, second] = [await withdraw(2n * PROVED), await withdraw(4n * PROVED)];
    await world.call(contract, "burn", world.setting.home.pool, HELD - PROVED - 30n);
    await tomorrow();
    await pay(1);
    await pay(0);
    near(await balance(first), 10n);
    near(await balance(second), 20n);
    await world.call(contract, "mint", world.setting.home.pool, HELD);
    for (let day = 0; (await owed(0)) + (await owed(1)) > 0n; day++) {
      assert.ok(day < 12);
      await tomorrow();
      for (const id of [0, 1]) if ((await due(id)) > 0n) await pay(id);
    }
    assert.deepEqual([await balance(first), await balance(second)], [2n * PROVED, 4n * PROVED]);
  });

  it("ClaimRevoked, ClaimStands: of a root that was revoked nothing is paid, anyone removes it, and the others get its part", async () => {
    await withdraw(PROVED);
    await world.execute([world.transfer()]);
    const update = world.updateTo(world.queue, { newRoot: drawField() });
    await world.execute([], update);
    const forged = world.rooted.root;
    await nextBlockAt(world, (await now(world)) + 2);
    const honest = await withdraw(2n * PROVED);
    const thief = await withdraw(HELD / 2n, freshAddress(), forged);
    const remove = (id: number) => refusedTo(world, "removeClaim", [token, id]);
    for (const id of [0, 1]) assert.deepEqual(await remove(id), fault("ClaimStands", BigInt(id)));
    await tomorrow();
    const [before, theirs] = [await due(0), await due(1)];
    assert.ok(theirs > 10n * before);

    await recover(world, "refuteRootUpdate", falseUpdate(world, update));
    assert.deepEqual(await refused(1), fault("ClaimRevoked", 1n));
    assert.deepEqual((await read("claim", 1)).slice(1), [HELD / 2n, 0n, true]);
    const { said } = await recover(world, "removeClaim", [token, 1]);
    assert.deepEqual(said, ["ClaimRemoved"]);
    const [made, all, waiting] = await read("claimTotals");
    assert.deepEqual([made, all], [2n, 2n * PROVED]);
    // At least: while the path is closed there is more room.
    assert.ok((await due(0)) + 60n >= before + theirs);
    assert.equal((await due(0)) + (waiting as bigint), 2n * PROVED);
    assert.deepEqual(await remove(1), fault("ClaimUnknown", 1n));
    assert.deepEqual(await refused(1), fault("ClaimRevoked", 1n));
    await pay(0);
    assert.ok((await balance(honest)) >= before + theirs - 60n);
    assert.equal(await balance(thief), 0n);
  });

  it("with any gas, a claim is paid or the call reverts", async () => {
    await withdraw(PROVED);
    await withdraw(300n);
    await tomorrow();
    const data = world.pool.interface.encodeFunctionData("payClaim", [token, 0n]);
    const found = new Set<string>();
    for (let gas = 60_000n; gas < 900_000n; gas += 21_000n) {
      const { isDone, said } = await simulate(world, { data, gas });
      found.add(isDone ? said.map(({ name }) => name).join() : "reverted");
    }
    assert.deepEqual([...found], ["reverted", "ClaimPaid"]);
  });

  it("while nobody attests, what is proved has all that is left at once", async () => {
    assert.equal(
      typeof (await outcome(world, seal(world.withdrawalDraft(freshAddress(), 1_000n, token)))),
      "bigint",
    );
    await world.call(actingAs(world.pool, await world.account(1)), "pause");
    assert.equal((await room())[1], SIZE - 1_000n);
    const paid = await withdraw(SIZE - 1_000n);
    assert.equal(await balance(paid), SIZE - 1_000n);
    const [attested, proved] = await room();
    assert.deepEqual([attested, proved], [0n, 0n]);
  });

  it("the guardian's pause ends by itself after three days, and rests for seven", async () => {
    const guardian = actingAs(world.pool, await world.account(1));
    assert.deepEqual(await refusedTo(world, "pause", []), fault("NotGuardian"));
    await world.call(guardian, "pause");
    const begun = BigInt(await now(world));
    const [until] = [...(await world.pool.getFunction("brakes")())] as bigint[];
    assert.equal(until, begun + 3n * BigInt(DAY));
    const ready = begun + 10n * BigInt(DAY);
    const again = async () => world.revertOf(guardian.getFunction("pause").staticCall());
    assert.deepEqual(await again(), fault("GuardianResting", ready));
    await nextBlockAt(world, until - 1n);
    assert.deepEqual(await outcome(world, world.transfer()), fault("AttestedPathShut", until));
    await nextBlockAt(world, until);
    assert.equal(typeof (await outcome(world, world.transfer())), "bigint");
    await nextBlockAt(world, ready - 1n);
    await world.provider.send("evm_mine", []);
    assert.deepEqual(await again(), fault("GuardianResting", ready));
    await nextBlockAt(world, ready);
    await world.call(guardian, "pause");
  });
});
