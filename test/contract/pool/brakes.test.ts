// How much may leave in a day, by which way, and what gives room again. See brakes.tree.
import assert from "node:assert/strict";
import { Contract, getAddress } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { attester, type Attester } from "../../../scripts/stack/pool-transaction.ts";
import { authorize, seal, type Sealed } from "../../support/drafts.ts";
import { toyKeys, toyProved } from "../../support/toy-keys.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { DAY, nextBlockAt, nextBlockTomorrow, now, outcome, outcomes } from "./told-world.ts";
import { fault, freshAddress, World, type Fault } from "./world.ts";

const [MINIMUM, HELD] = [1_000n, 100_000n];
/** A tenth of what is held; of it three quarters for the attested way. */
const CAP = HELD / 10n;
const [ATTESTED, PROVED] = [(CAP * 3n) / 4n, CAP / 4n];

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

  /** Signers at work: a root of today, and the day just begun. */
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
  const capReached = (left: bigint): Fault => fault("CapReached", getAddress(world.usdcAddress), left);
  const assertDone = async (...members: Sealed[]): Promise<void> => {
    for (const each of await outcomes(world, ...members))
      assert.equal(
        typeof each,
        "bigint",
        JSON.stringify(each, (_, value: unknown) => String(value)),
      );
  };

  it("a day's cap is a tenth of what is held: three quarters attested, a quarter proved, twice the cap by both kinds", async () => {
    assert.deepEqual(await room(), [ATTESTED, 2n * CAP - PROVED, PROVED]);
  });

  it("CapReached: more than is left in the day, and the notes stay unspent", async () => {
    const more = withdrawal(ATTESTED + 1n);
    assert.deepEqual(await outcome(world, more), capReached(ATTESTED));
    assert.equal(await world.pool.getFunction("isSpent")(more.draft.nullifiers[0]), false);
    await assertDone(withdrawal(ATTESTED - 1n), withdrawal(1n));
    assert.deepEqual(await outcome(world, withdrawal(1n)), capReached(0n));
    assert.equal((await room())[2], PROVED);
  });

  it("at a threshold of one a second signer lets out no more, of whichever kind it is", async () => {
    assert.deepEqual(await outcome(world, withdrawal(ATTESTED + 1n, one, another)), capReached(ATTESTED));
    assert.deepEqual(await outcome(world, withdrawal(ATTESTED + 1n, one, other)), capReached(ATTESTED));
    await assertDone(withdrawal(ATTESTED, one, another));
    assert.deepEqual(await outcome(world, withdrawal(1n, one, another, other)), capReached(0n));
  });

  it("at a threshold of two both kinds let out twice the cap, and two of one kind nothing", async () => {
    const strict = await World.start({
      ...{ keys: toyKeys(), minimumCap: CAP, attesters: [one, another, other], kinds: [1, 1, 2] },
      threshold: 2,
    });
    try {
      const leaving = (amount: bigint, ...by: Attester[]): Sealed =>
        seal({ ...strict.withdrawalDraft(freshAddress(), amount), attesters: ascending(by) });
      const most = 2n * CAP - PROVED;
      await strict.call(strict.usdc, "mint", strict.setting.home.pool, HELD);
      assert.deepEqual(await outcome(strict, leaving(1n, one, another)), fault("OneKindOnly", 1n));
      const reached = fault("CapReached", getAddress(strict.usdcAddress), most);
      assert.deepEqual(await outcome(strict, leaving(most + 1n, one, other)), reached);
      assert.equal(typeof (await outcome(strict, leaving(ATTESTED, one, other))), "bigint");
      assert.equal(typeof (await outcome(strict, leaving(most - ATTESTED, another, other))), "bigint");
      assert.deepEqual([...(await strict.pool.getFunction("room")(strict.usdcAddress))], [0n, 0n, PROVED]);
    } finally {
      await strict.stop();
    }
  });

  it("counts the net: who turns the same money round and round takes no room from anybody", async () => {
    for (let i = 0; i < 6; i++) await assertDone(await deposit(ATTESTED), withdrawal(ATTESTED));
    assert.deepEqual(await room(), [ATTESTED, 2n * CAP - PROVED, PROVED]);
    await assertDone(withdrawal(ATTESTED), await deposit(500n), withdrawal(500n));
    assert.deepEqual(await outcome(world, withdrawal(1n)), capReached(0n));
  });

  it("what comes in during a day may leave in it, and does not raise its cap", async () => {
    await assertDone(await deposit(10n * HELD));
    assert.deepEqual(await room(), [ATTESTED + 10n * HELD, 2n * CAP - PROVED + 10n * HELD, PROVED]);
    await tomorrow();
    assert.deepEqual((await room())[2], (11n * HELD) / 10n / 4n);
  });

  it("every day begins anew with a tenth of what is left, and not before midnight", async () => {
    await assertDone(withdrawal(ATTESTED));
    await nextBlockAt(world, (Math.floor((await now(world)) / DAY) + 1) * DAY - 1);
    assert.deepEqual(await outcome(world, withdrawal(1n)), capReached(0n));
    let held = HELD - ATTESTED;
    for (let day = 0; day < 3; day++) {
      await tomorrow();
      const cap = held / 10n;
      assert.deepEqual(await room(), [cap - cap / 4n, 2n * cap - cap / 4n, cap / 4n]);
      await assertDone(withdrawal(cap - cap / 4n));
      held -= cap - cap / 4n;
    }
  });

  it("the cap is never below the minimum, so the last of it can leave", async () => {
    let held = HELD;
    for (let day = 0; day < 60 && held > 700n; day++) {
      await tomorrow();
      const [most] = await room();
      const amount = most! < held - 700n ? most! : held - 700n;
      await assertDone(withdrawal(amount));
      held -= amount;
    }
    await tomorrow();
    assert.deepEqual(await room(), [MINIMUM - MINIMUM / 4n, 2n * MINIMUM - MINIMUM / 4n, MINIMUM / 4n]);
    await assertDone(withdrawal(held));
    assert.equal(await world.usdc.getFunction("balanceOf")(world.setting.home.pool), 0n);
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
    assert.deepEqual(await outcome(world, swap(ATTESTED + 1n)), capReached(ATTESTED));
    const before = await room(other);
    await assertDone(swap(ATTESTED));
    assert.equal((await room())[0], 0n);
    assert.deepEqual(await room(other), [before[0]! + 5_000n, before[1]! + 5_000n, before[2]!]);
    assert.deepEqual(await outcome(world, swap(1n)), capReached(0n));
    // A swap by proof has no line to wait in.
    const { draft } = swap(PROVED + 1n);
    const proved = toyProved(seal({ ...draft, root: emptyNode(TREE_DEPTH) }));
    assert.deepEqual(await outcome(world, proved), capReached(0n));
    assert.equal(await world.pool.getFunction("isSpent")(proved.draft.nullifiers[0]), false);
  });
});

/** As the pool wants them. */
function ascending(attesters: readonly Attester[]): Attester[] {
  return attesters.toSorted((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
}
