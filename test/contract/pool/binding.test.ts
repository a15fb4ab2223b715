// Every byte of an accepted call means something: changed, it is refused, or the call does exactly the same. Payments of both
// ways, advance, both refutations, a claim. See binding.tree.
import assert from "node:assert/strict";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { advanceOver, falseStatement, falseUpdate, recover } from "./recovery.ts";
import { simulate, type Tried } from "./simulation.ts";
import {
  DAY,
  lie,
  nextBlockAt,
  now,
  outcome,
  payOut,
  proved,
  startTold,
  tellUntil,
  told,
  trueUpdate,
  wordsOf,
} from "./told-world.ts";
import { drawField, seal } from "../../support/drafts.ts";
import { freshAddress, type World } from "./world.ts";

describe("pool: binding of calldata", function () {
  this.timeout(600_000);
  let world: World;
  let restore: () => Promise<void>;
  const [thief, honest] = [attester(0), attester(1)];
  before(async () => {
    world = await startTold({ attesters: [honest, thief], minimumCap: 2_400_000n });
    await tellUntil(world, "a withdrawal", [honest]);
    await payOut(world, 100_000n);
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  /** What a call leaves behind, beside its log: balances, what is spent, the tree. */
  const leftBy = (nullifiers: readonly bigint[], accounts: readonly string[]): Tried["then"] => {
    const { home } = world.setting;
    const ask = (name: string, args: readonly unknown[] = []) => ({
      to: home.pool,
      data: world.pool.interface.encodeFunctionData(name, args),
    });
    return [
      ...[ask("currentRoot"), ask("queue"), ask("brakes"), ask("room", [world.usdcAddress])],
      ...[ask("claimTotals", [world.usdcAddress]), ask("claim", [world.usdcAddress, 0n])],
      ...nullifiers.map((nullifier) => ask("isSpent", [nullifier])),
      ...[thief, honest].map(({ address }) => ask("isSigner", [address])),
      ...[home.pool, ...accounts].map((account) => ({
        to: world.usdcAddress,
        data: world.usdc.interface.encodeFunctionData("balanceOf", [account]),
      })),
    ];
  };

  /** Flips one bit of every byte in turn. */
  const assertBound = async (
    name: string,
    args: readonly unknown[],
    { nullifiers = [], accounts = [] }: { nullifiers?: readonly bigint[]; accounts?: readonly string[] } = {},
  ): Promise<void> => {
    const bytes = mustFromHex(world.pool.interface.encodeFunctionData(name, args));
    const then = leftBy(nullifiers, accounts)!;
    const right = await simulate(world, { data: toHex(bytes), then });
    assert.ok(
      right.isDone && right.said.every((each) => each.name !== "Rejected"),
      "the call itself is accepted",
    );
    const flipped = bytes.map((_, i) => i);
    let [refused, same] = [0, 0];
    const tryAt = async (i: number): Promise<void> => {
      const data = toHex(bytes.map((byte, at) => (at === i ? byte ^ (1 << (i % 8)) : byte)));
      const bent = await simulate(world, { data, then });
      const isRefused =
        !bent.isDone ||
        bent.said.some((each) => each.name === "Rejected" || each.name === "RootUpdateSkipped");
      if (isRefused) {
        refused += 1;
        return;
      }
      assert.deepEqual([bent.log, bent.after], [right.log, right.after], `byte ${String(i)} of ${name}`);
      same += 1;
    };
    for (let i = 0; i < flipped.length; i += 24) {
      await Promise.all(Array.from({ length: Math.min(24, bytes.length - i) }, (_, at) => tryAt(i + at)));
    }
    assert.equal(refused + same, bytes.length);
    assert.ok(refused > bytes.length / 4, `${String(refused)} of ${String(bytes.length)} refused`);
  };

  const recipient = (): string => toHex(told(world, "a withdrawal").draft.ext.slice(0, 20));
  const age = async (): Promise<void> => {
    await nextBlockAt(world, (await now(world)) + 2 * DAY);
    await world.provider.send("evm_mine", []);
  };

  it("execute, attested, with the root update that it travels with", async () => {
    const member = told(world, "a withdrawal", [honest]);
    const update = world.updateTo(world.after([member]), {}, [honest]);
    const { nullifiers } = member.draft;
    await assertBound("execute", [[member.transaction], update], { nullifiers, accounts: [recipient()] });
  });

  it("execute, proved", async () => {
    await age();
    const member = proved(world, "a withdrawal");
    const none = { ...world.updateTo(world.queue), fromIndex: 0n, toIndex: 0n, attestations: "0x" };
    const { nullifiers } = member.draft;
    await assertBound("execute", [[member.transaction], none], { nullifiers, accounts: [recipient()] });
  });

  it("advance", async () => {
    assert.equal(typeof (await outcome(world, told(world, "a withdrawal", [honest]))), "bigint");
    await age();
    await assertBound("advance", advanceOver(world, { count: 3n }));
  });

  it("refuteStatement", async () => {
    const good = world.rooted.root;
    const lied = lie(world, "a withdrawal", "a private transfer", [thief]);
    assert.equal(typeof (await outcome(world, lied)), "bigint");
    await world.execute([], trueUpdate(world, [honest]));
    const around = [good, world.rooted.root] as const;
    const args = falseStatement(lied, wordsOf("a private transfer"), around);
    await assertBound("refuteStatement", args, { nullifiers: lied.draft.nullifiers });
  });

  it("refuteRootUpdate", async () => {
    assert.equal(typeof (await outcome(world, told(world, "a withdrawal", [honest]))), "bigint");
    const forged = world.updateTo(world.queue, { newRoot: drawField() }, [thief]);
    await world.execute([], forged);
    assert.equal(world.rooted.root, forged.newRoot);
    await assertBound("refuteRootUpdate", falseUpdate(world, forged));
  });

  it("payClaim", async () => {
    await age();
    // Of the 600,000 that may leave at once so much that the rest is too little.
    const draft = world.withdrawalDraft(freshAddress(), 250_000n);
    assert.equal(typeof (await outcome(world, seal({ ...draft, attesters: [honest] }))), "bigint");
    assert.equal(typeof (await outcome(world, proved(world, "a withdrawal"))), "bigint");
    assert.equal((await world.pool.getFunction("claimTotals")(world.usdcAddress))[0], 1n);
    await age();
    await assertBound("payClaim", [world.usdcAddress, 0n], { accounts: [recipient()] });
    assert.deepEqual((await recover(world, "payClaim", [world.usdcAddress, 0n])).said, ["ClaimPaid"]);
  });
});
