// What is proved and finds no room: the line, who is paid when, and the guardian's pause. See claims.tree.
import assert from "node:assert/strict";
import { Contract, getAddress } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { depositDraft, seal } from "../../support/drafts.ts";
import { toyKeys, toyProved } from "../../support/toy-keys.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { quarter } from "./caps-model.ts";
import { recover, refusedTo } from "./recovery.ts";
import { simulate } from "./simulation.ts";
import { DAY, nextBlockAt, nextBlockTomorrow, now, outcome } from "./told-world.ts";
import { actingAs, fault, freshAddress, mustAddress, World } from "./world.ts";

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
      ...{ keys: toyKeys(), minimumCap: MINIMUM, moreAssets: ["RefusingToken"] },
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
    assert.equal(typeof (await world.execute([], world.updateTo(world.queue))).update, "bigint");
  };
  /** On the root of the empty tree, which is old. */
  const withdraw = async (amount: bigint, recipient = freshAddress()): Promise<Address> => {
    const root = emptyNode(TREE_DEPTH);
    const member = toyProved(seal({ ...world.withdrawalDraft(recipient, amount, token), root }));
    assert.equal(typeof (await outcome(world, member)), "bigint");
    return recipient;
  };
  const balance = (holder: Address): Promise<bigint> => contract.getFunction("balanceOf")(holder);
  const claim = async (id: bigint): Promise<unknown[]> => [
    ...(await world.pool.getFunction("claim")(token, id)),
  ];
  const gasOfNewest = async (): Promise<bigint> => (await world.provider.getBlock("latest"))!.gasUsed;
  const line = async (): Promise<bigint[]> => [...(await world.pool.getFunction("claimLine")(token))];
  const room = async (): Promise<bigint[]> => [...(await world.pool.getFunction("room")(token))];
  const pay = async (id: bigint) => (await recover(world, "payClaim", [token, id])).said;
  const refused = (id: bigint) => refusedTo(world, "payClaim", [token, id]);

  it("pays at once what the quarter has room for, and makes a claim of the rest", async () => {
    const first = await withdraw(PROVED - 100n);
    const second = await withdraw(101n);
    assert.deepEqual([await balance(first), await balance(second)], [PROVED - 100n, 0n]);
    assert.deepEqual(
      [await line(), await claim(0n)],
      [
        [1n, 0n],
        [getAddress(second), 101n],
      ],
    );
    // Nothing that is proved passes it, however small.
    const third = await withdraw(1n);
    assert.deepEqual([await balance(third), await line()], [0n, [2n, 0n]]);
    // The attested way has its own.
    assert.equal((await room())[0], SIZE - PROVED);
    const other = freshAddress();
    assert.equal(
      typeof (await outcome(world, seal(world.withdrawalDraft(other, SIZE - PROVED, token)))),
      "bigint",
    );
    assert.equal(await balance(other), SIZE - PROVED);
  });

  it("ClaimUnknown, ClaimNotFirst, CapReached: nothing out of order, nothing without room, nothing twice", async () => {
    assert.deepEqual(await refused(0n), fault("ClaimUnknown", 0n));
    await withdraw(PROVED);
    const [a, b] = [await withdraw(300n), await withdraw(200n)];
    assert.deepEqual(await refused(0n), fault("CapReached", getAddress(token), 0n, 0n));
    await tomorrow();
    assert.deepEqual(await refused(1n), fault("ClaimNotFirst", 0n));
    assert.deepEqual(await refused(2n), fault("ClaimUnknown", 2n));
    assert.deepEqual([await pay(0n), await balance(a)], [["ClaimPaid"], 300n]);
    assert.deepEqual(await refused(0n), fault("ClaimUnknown", 0n));
    assert.deepEqual([await pay(1n), await balance(b)], [["ClaimPaid"], 200n]);
    assert.deepEqual(await line(), [2n, 2n]);
    // With nobody in line, what has drained is paid at once again.
    const c = await withdraw(100n);
    assert.equal(await balance(c), 100n);
  });

  it("pays a large claim in parts, one a day, and keeps it first in line", async () => {
    const whale = await withdraw(3n * PROVED);
    const small = await withdraw(10n);
    let paid = 0n;
    for (let day = 0; paid < 3n * PROVED; day++) {
      assert.ok(day < 5);
      const [, share] = await room();
      const part = share! < 3n * PROVED - paid ? share! : 3n * PROVED - paid;
      assert.deepEqual(await pay(0n), ["ClaimPaid"]);
      paid += part;
      assert.equal(await balance(whale), paid);
      if (paid < 3n * PROVED) {
        assert.equal((await refused(0n)).error, "CapReached");
        assert.deepEqual(await refused(1n), fault("ClaimNotFirst", 0n));
        await tomorrow();
      }
    }
    await pay(1n);
    assert.equal(await balance(small), 10n);
  });

  it("pays a line of dust in the day in which it pays whoever stands behind it: dust takes no room, and its maker's gas", async () => {
    await withdraw(PROVED);
    const made: bigint[] = [];
    for (let i = 0; i < 12; i++) {
      await withdraw(1n);
      made.push(await gasOfNewest());
    }
    const behind = await withdraw(200n);
    await tomorrow();
    const paid: bigint[] = [];
    for (let id = 0n; id < 12n; id++) {
      const { said, receipt } = await recover(world, "payClaim", [token, id]);
      assert.deepEqual(said, ["ClaimPaid"]);
      paid.push(receipt.gasUsed);
    }
    assert.deepEqual([await pay(12n), await balance(behind)], [["ClaimPaid"], 200n]);
    // Though the verifier of these tests asks for next to nothing; a real proof costs its maker 250,000 more.
    for (const [i, gas] of paid.entries()) assert.ok(gas < made[i]!, `${gas} and ${made[i]}`);
  });

  it("sets aside whom the token refuses, goes on with the line, and pays it when the token does, once", async () => {
    await withdraw(PROVED);
    const [blocked, next] = [await withdraw(300n), await withdraw(200n)];
    await tomorrow();
    await world.call(contract, "setRefused", blocked, true);
    assert.deepEqual(await pay(0n), ["ClaimSetAside"]);
    assert.deepEqual(
      [await line(), await claim(0n)],
      [
        [2n, 1n],
        [getAddress(blocked), 300n],
      ],
    );
    assert.equal((await room())[1], quarter(quarter((HELD - PROVED) / 10n)));
    assert.deepEqual([await pay(1n), await balance(next)], [["ClaimPaid"], 200n]);
    assert.equal((await refused(0n)).error, "TransferRefused");
    await world.call(contract, "setRefused", blocked, false);
    assert.deepEqual([await pay(0n), await balance(blocked)], [["ClaimPaid"], 300n]);
    assert.deepEqual([await line(), await refused(0n)], [[2n, 2n], fault("ClaimUnknown", 0n)]);
  });

  it("with any gas, a claim is paid or the call reverts: nobody sets another aside by giving too little", async () => {
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
