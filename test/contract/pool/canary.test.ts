// Somebody proves what cannot be: the circuits or their keys are broken, and the pool stops by itself. See canary.tree.
import assert from "node:assert/strict";
import { seal, type Sealed } from "../../support/drafts.ts";
import { toyKeys, toyProof, toyProved } from "../../support/toy-keys.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { quarter } from "./caps-model.ts";
import { advanceOver, recover, refusedTo } from "./recovery.ts";
import { DAY, nextBlockAt, now, outcome } from "./told-world.ts";
import { fault, freshAddress, World } from "./world.ts";

const [MINIMUM, HELD] = [1_600n, 100_000n];
const FOR_EVER = 2n ** 40n - 1n;
const EMPTY_ROOT = emptyNode(TREE_DEPTH);

describe("pool: the soundness canary", function () {
  let world: World;
  let restore: () => Promise<void>;
  before(async () => {
    world = await World.start({ ...{ keys: toyKeys(), minimumCap: MINIMUM }, forAllKinds: true });
    assert.equal(
      typeof (await outcome(world, await world.deposit({ ...world.depositDraft(HELD) }))),
      "bigint",
    );
    await nextBlockAt(world, (await now(world)) + DAY);
    await world.provider.send("evm_mine", []);
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const brakes = async (): Promise<unknown[]> => [...(await world.pool.getFunction("brakes")())];
  const report = ({ transaction }: Sealed, proof = toyProof(transaction.signals)): readonly unknown[] => [
    ...[transaction.kind, transaction.signals, proof],
  ];
  /** Money out of the tree that has none. */
  const impossible = (): Sealed[] => [
    seal({ ...world.withdrawalDraft(freshAddress(), 1n), root: EMPTY_ROOT }),
    seal({ ...world.draftOf("spend9"), root: EMPTY_ROOT, asset: BigInt(world.usdcAddress), amount: 1n }),
    seal({ ...world.draftOf("private-swap"), root: EMPTY_ROOT }),
  ];

  it("stops deposits and the attested path for ever, whichever kind was broken", async () => {
    for (const shown of impossible()) {
      const again = await world.remember();
      assert.deepEqual((await recover(world, "reportUnsound", report(shown))).said, [
        "Unsound",
        "AttestedPathClosed",
      ]);
      assert.deepEqual((await brakes()).slice(0, 2), [FOR_EVER, true]);
      await nextBlockAt(world, (await now(world)) + 3_000 * DAY);
      assert.deepEqual(await outcome(world, world.transfer()), fault("AttestedPathShut", FOR_EVER));
      const deposits = [await world.deposit(), toyProved(await world.deposit())];
      for (const deposit of deposits)
        assert.deepEqual(await outcome(world, deposit), fault("DepositsStopped"));
      await again();
    }
  });

  it("lets out the smallest share by proofs and claims, and the tree goes on", async () => {
    await recover(world, "reportUnsound", report(impossible()[0]!));
    const [, share] = (await world.pool.getFunction("room")(world.usdcAddress)) as bigint[];
    const held = (await world.usdc.getFunction("balanceOf")(world.setting.home.pool)) as bigint;
    assert.equal(share, quarter(quarter(quarter(held / 10n))));
    const [first, second] = [freshAddress(), freshAddress()];
    const withdraw = async (recipient: typeof first, amount: bigint): Promise<void> => {
      const draft = { ...world.withdrawalDraft(recipient, amount), root: EMPTY_ROOT };
      assert.equal(typeof (await outcome(world, toyProved(seal(draft)))), "bigint");
    };
    await withdraw(first, share);
    await withdraw(second, 5n);
    const balance = (of: string): Promise<bigint> => world.usdc.getFunction("balanceOf")(of);
    assert.deepEqual([await balance(first), await balance(second)], [share, 0n]);
    assert.equal((await refusedTo(world, "payClaim", [world.usdcAddress, 0n])).error, "CapReached");
    await nextBlockAt(world, (await now(world)) + DAY);
    await recover(world, "payClaim", [world.usdcAddress, 0n]);
    assert.equal(await balance(second), 5n);
    await recover(world, "advance", advanceOver(world));
    assert.equal(world.rooted.count, world.queue.count);
  });

  it("NotUnsound: what is not false on its face, or not proved", async () => {
    const [spend, , swap] = impossible() as [Sealed, Sealed, Sealed];
    const nothing = seal({ ...world.transferDraft(), root: EMPTY_ROOT });
    const elsewhere = seal({ ...world.withdrawalDraft(freshAddress(), 1n), root: 5n });
    const deposit = await world.deposit();
    const bent = toyProof(spend.transaction.signals).with(0, 1n);
    for (const args of [
      report(nothing),
      report(elsewhere),
      report(deposit),
      report(spend, bent),
      report(spend, toyProof(swap.transaction.signals)),
      [0, [], bent],
      [5, spend.transaction.signals, bent],
      [2, spend.transaction.signals.slice(0, 3), bent],
    ]) {
      assert.deepEqual(await refusedTo(world, "reportUnsound", args), fault("NotUnsound"));
    }
    assert.equal((await brakes())[1], false);
  });
});
