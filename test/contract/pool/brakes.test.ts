// How much may leave in a day, by which way, and what gives room again. See brakes.tree.
import assert from "node:assert/strict";
import { Contract, getAddress } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { attester, type Attester } from "../../../scripts/stack/pool-transaction.ts";
import { authorize, seal, type Sealed } from "../../support/drafts.ts";
import { toyKeys, toyProved } from "../../support/toy-keys.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { quarter } from "./caps-model.ts";
import { DAY, nextBlockAt, nextBlockTomorrow, now, outcome, outcomes } from "./told-world.ts";
import { actingAs, fault, freshAddress, World, type Fault } from "./world.ts";

const [MINIMUM, HELD] = [1_000n, 100_000n];
/** A tenth of what is held; a quarter of it at once, and a quarter of that for proofs. */
const CAP = HELD / 10n;
const SIZE = CAP / 4n;
const PROVED = SIZE / 4n;
const ATTESTED = SIZE - PROVED;
const HOUR = 3_600;

describe("pool: brakes", function () {
  let world: World;
  let restore: () => Promise<void>;
  /** One of the first kind, another of it, one of the second. */
  const [one, another, other] = [attester(0), attester(1), attester(2)];
  before(async () => {
    world = await World.start({
      ...{ keys: toyKeys(), minimumCap: MINIMUM, attesters: [one, another, other], kinds: [1, 1, 2] },
      ...{ executor: "FixedExecutor", moreAssets: ["TestUSDC"] },
    });
    assert.equal(await outcome(world, await deposit(HELD)), 0n);
    await tomorrow();
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  /** Signers at work, the cap as it is fixed anew, and all buckets empty. */
  const tomorrow = async (): Promise<void> => {
    await nextBlockTomorrow(world);
    await world.execute([world.transfer({ attesters: [one] })]);
    assert.equal(typeof (await world.execute([], world.updateTo(world.queue, {}, [one]))).update, "bigint");
  };
  const deposit = async (amount: bigint): Promise<Sealed> => {
    return authorize(world.depositor, seal({ ...world.depositDraft(amount), attesters: [one] }));
  };
  const withdrawal = (amount: bigint, ...attesters: Attester[]): Sealed => {
    const by = attesters.length === 0 ? [one] : attesters;
    return seal({ ...world.withdrawalDraft(freshAddress(), amount), attesters: ascending(by) });
  };
  const room = async (asset = world.usdcAddress): Promise<bigint[]> => [
    ...(await world.pool.getFunction("room")(asset)),
  ];
  const capReached = (left: bigint, from: bigint): Fault =>
    fault("CapReached", getAddress(world.usdcAddress), left, from);
  /** What there is room for, as a refusal says it. */
  const refusedAt = async (member: Sealed): Promise<unknown> => {
    const said = (await outcome(world, member)) as Fault;
    assert.equal(said.error, "CapReached");
    return said.args[1];
  };
  const assertDone = async (...members: Sealed[]): Promise<void> => {
    for (const each of await outcomes(world, ...members))
      assert.equal(
        typeof each,
        "bigint",
        JSON.stringify(each, (_, value: unknown) => String(value)),
      );
  };

  it("a quarter of the cap may leave at once: three quarters of it attested, one proved", async () => {
    assert.deepEqual(await room(), [ATTESTED, PROVED]);
  });

  it("CapReached: more than there is room for; it says from when there is, and the notes stay unspent", async () => {
    const more = withdrawal(ATTESTED + 1n);
    // More than ever at once, while the cap is what it is.
    assert.deepEqual(await outcome(world, more), capReached(ATTESTED, 0n));
    assert.equal(await world.pool.getFunction("isSpent")(more.draft.nullifiers[0]), false);
    await assertDone(withdrawal(ATTESTED - 1n), withdrawal(1n));
    const { error, args } = (await outcome(world, withdrawal(101n))) as Fault;
    assert.deepEqual([error, args[1]], ["CapReached", 0n]);
    const from = args[2] as bigint;
    // The second before it does not fit, and is told the same.
    await nextBlockAt(world, from - 1n);
    assert.deepEqual(await outcome(world, withdrawal(101n)), capReached(100n, from));
    await nextBlockAt(world, from);
    await assertDone(withdrawal(101n));
  });

  it("drains evenly, from full to empty in twelve hours, however often it is touched", async () => {
    await assertDone(withdrawal(ATTESTED));
    const begun = await now(world);
    for (let hour = 1; hour <= 9; hour++) {
      await nextBlockAt(world, begun + hour * HOUR);
      await world.provider.send("evm_mine", []);
      const drained = (SIZE * BigInt(hour)) / 12n;
      assert.deepEqual((await room())[0], drained > ATTESTED ? ATTESTED : drained, String(hour));
      // A unit in and out is a touch.
      await assertDone(await deposit(1n), withdrawal(1n));
    }
    assert.ok((await room())[0]! >= ATTESTED - 1n);
  });

  it("at a threshold of one a second signer lets out no more, of whichever kind it is", async () => {
    assert.equal(await refusedAt(withdrawal(ATTESTED + 1n, one, another)), ATTESTED);
    assert.equal(await refusedAt(withdrawal(ATTESTED + 1n, one, other)), ATTESTED);
    await assertDone(withdrawal(ATTESTED, one, another));
    assert.equal(await refusedAt(withdrawal(1n, one, another, other)), 0n);
  });

  it("at a threshold of two both kinds let out twice as much at once, and two of one kind nothing", async () => {
    const strict = await World.start({
      ...{ keys: toyKeys(), minimumCap: CAP, attesters: [one, another, other], kinds: [1, 1, 2] },
      threshold: 2,
    });
    try {
      const leaving = (amount: bigint, ...by: Attester[]): Sealed =>
        seal({ ...strict.withdrawalDraft(freshAddress(), amount), attesters: ascending(by) });
      const most = 2n * SIZE - PROVED;
      await strict.call(strict.usdc, "mint", strict.setting.home.pool, HELD);
      assert.deepEqual(await outcome(strict, leaving(1n, one, another)), fault("OneKindOnly", 1n));
      const reached = fault("CapReached", getAddress(strict.usdcAddress), most, 0n);
      assert.deepEqual(await outcome(strict, leaving(most + 1n, one, other)), reached);
      assert.equal(typeof (await outcome(strict, leaving(ATTESTED, one, other))), "bigint");
      assert.equal(typeof (await outcome(strict, leaving(most - ATTESTED, another, other))), "bigint");
      assert.deepEqual([...(await strict.pool.getFunction("room")(strict.usdcAddress))], [0n, PROVED]);
    } finally {
      await strict.stop();
    }
  });

  it("counts the net: who turns the same money round and round takes no room from anybody", async () => {
    for (let i = 0; i < 6; i++) await assertDone(await deposit(ATTESTED - 1n), withdrawal(ATTESTED - 1n));
    // But for the seconds between: a credit is gone by and by, too.
    assert.ok((await room())[0]! >= ATTESTED - 2n);
  });

  it("what comes in may leave: no more than the bucket again, gone after twelve hours, and it raises no cap that stands", async () => {
    await assertDone(await deposit(10n * HELD));
    assert.deepEqual(await room(), [ATTESTED + SIZE, PROVED]);
    const came = await now(world);
    await nextBlockAt(world, came + 6 * HOUR);
    await world.provider.send("evm_mine", []);
    assert.equal((await room())[0], ATTESTED + SIZE / 2n);
    await nextBlockAt(world, came + 12 * HOUR);
    await world.provider.send("evm_mine", []);
    assert.equal((await room())[0], ATTESTED);
    await tomorrow();
    assert.equal((await room())[1], quarter(quarter((11n * HELD) / 10n)));
  });

  it("in no 24 hours the cap and what came in is exceeded, whenever they begin and however it is taken", async () => {
    // Others' money comes in; the thief waits for nothing, and looks again every twenty minutes.
    await assertDone(await deposit(10n * HELD));
    const taken: { readonly at: number; readonly amount: bigint }[] = [];
    for (let minutes = 0; minutes < 24 * 60; minutes += 20) {
      const [most] = await room();
      if (most! > 0n) await assertDone(withdrawal(most!));
      taken.push({ at: await now(world), amount: most! });
      await nextBlockAt(world, (await now(world)) + 20 * 60);
      await world.provider.send("evm_mine", []);
    }
    const worst = taken.map(({ at }) =>
      taken.filter((one) => one.at >= at && one.at <= at + DAY).reduce((sum, { amount }) => sum + amount, 0n),
    );
    const most = worst.reduce((a, b) => (a > b ? a : b));
    assert.ok(most <= CAP, String(most));
    // And the bound is no idle one.
    assert.ok(most > (CAP * 9n) / 10n, String(most));
  });

  it("the cap is fixed for a day, and then anew by what is left", async () => {
    let held = HELD;
    for (let day = 0; day < 3; day++) {
      const size = quarter(held / 10n);
      assert.deepEqual(await room(), [size - quarter(size), quarter(size)]);
      await assertDone(withdrawal(size - quarter(size)));
      held -= size - quarter(size);
      await tomorrow();
    }
  });

  it("the cap is never below the minimum, so the last of it can leave", async () => {
    const { pool } = world.setting.home;
    await world.provider.send("anvil_impersonateAccount", [pool]);
    await world.provider.send("anvil_setBalance", [pool, "0xde0b6b3a7640000"]);
    const asPool = actingAs(world.usdc, await world.provider.getSigner(pool));
    let held = 1_500n;
    await world.call(asPool, "transfer", freshAddress(), HELD - held);
    await tomorrow();
    const size = quarter(MINIMUM);
    assert.deepEqual(await room(), [size - quarter(size), quarter(size)]);
    while (held > 0n) {
      const [most] = await room();
      const amount = most! < held ? most! : held;
      await assertDone(withdrawal(amount));
      held -= amount;
      await tomorrow();
    }
    assert.equal(await world.usdc.getFunction("balanceOf")(pool), 0n);
  });

  it("a swap takes room of what it gives, and makes room of what it brings", async () => {
    const other = world.moreAssets[0]!;
    const abi = async (name: string) => (await loadArtifact(name)).abi as never;
    await world.call(
      new Contract(world.executor!, await abi("FixedExecutor"), world.owner),
      "setPayout",
      5_000n,
    );
    await world.call(new Contract(other, await abi("TestUSDC"), world.owner), "mint", world.executor, 5_000n);
    const swap = (amount: bigint): Sealed =>
      seal({ ...world.swapDraft({ tokenOut: other, amount }), attesters: [one] });
    assert.equal(await refusedAt(swap(ATTESTED + 1n)), ATTESTED);
    const before = await room(other);
    await assertDone(swap(ATTESTED));
    assert.equal((await room())[0], 0n);
    const credit = quarter(MINIMUM);
    assert.deepEqual(await room(other), [before[0]! + credit, before[1]!]);
    assert.equal(await refusedAt(swap(1n)), 0n);
    // A swap by proof has no line to wait in.
    const { draft } = swap(PROVED + 1n);
    const proved = toyProved(seal({ ...draft, root: emptyNode(TREE_DEPTH) }));
    assert.deepEqual(await outcome(world, proved), capReached(0n, 0n));
    assert.equal(await world.pool.getFunction("isSpent")(proved.draft.nullifiers[0]), false);
  });
});

/** As the pool wants them. */
function ascending(attesters: readonly Attester[]): Attester[] {
  return attesters.toSorted((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
}
