// The tree grows without a signer: when that is allowed, from where to where, and since when a root counts. See advance.tree.
import assert from "node:assert/strict";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { mustField, ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { emptyNode, nextHead, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { advanceOver, falseStatement, recover, refusedTo, rootAt, makersOf } from "./recovery.ts";
import {
  DAY,
  frontierOf,
  headAt,
  lie,
  nextBlockAt,
  now,
  outcome,
  startTold,
  tellUntil,
  trueUpdate,
  wordsOf,
} from "./told-world.ts";
import { actingAs, fault, mustAddress, type World } from "./world.ts";

const HOUR = 3_600;
const EMPTY_ROOT = emptyNode(TREE_DEPTH);
/** How many leaves wait behind a rollback in the last test; CLOISTER_LEAVES=50000 plays as many as shared/contracts/README.md tells of. */
const LEAVES = Number(process.env["CLOISTER_LEAVES"] ?? 2_000);

describe("pool: advance", function () {
  this.timeout(Math.max(180_000, LEAVES * 60));
  let world: World;
  let restore: () => Promise<void>;
  const [thief, honest] = [attester(0), attester(1)];
  before(async () => {
    world = await startTold({
      attesters: [thief, honest],
      guardian: mustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
    });
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const read = (name: string, ...args: unknown[]): Promise<unknown> => world.pool.getFunction(name)(...args);
  const pay = async (count = 1): Promise<number> => {
    const members = Array.from({ length: count }, () =>
      world.transfer({ root: EMPTY_ROOT, attesters: [honest] }),
    );
    const { receipt } = await world.execute(members, undefined, { gasLimit: 30_000_000n });
    return (await world.provider.getBlock(receipt.blockNumber))!.timestamp;
  };
  const silence = async (): Promise<void> => {
    await nextBlockAt(world, (await now(world)) + 6 * HOUR);
    await world.provider.send("evm_mine", []);
  };
  const provableFrom = async (root = world.rooted.root): Promise<number> =>
    Number(((await read("rootRecord", root)) as bigint[])[2]);

  it("SignersAtWork: until six hours after the last root, to the second", async () => {
    await pay();
    await world.execute([], trueUpdate(world, [honest]));
    await pay();
    const [, , from] = (await read("brakes")) as bigint[];
    const stranger = actingAs(world.pool, await world.account(5));
    const args = advanceOver(world);
    assert.deepEqual(await refusedTo(world, "advance", args), fault("SignersAtWork", from));
    await nextBlockAt(world, from! - 1n);
    await assert.rejects(world.call(stranger, "advance", ...args, { gasLimit: 2_000_000 }));
    await nextBlockAt(world, from!);
    const { said } = await recover(world, "advance", args);
    assert.deepEqual([said, world.rooted.root], [["RootUpdated"], rootAt(world, 8n)]);
    // That was no sign of the signers: who goes on after one leaf does not make the others wait for six hours.
    await pay();
    await recover(world, "advance", advanceOver(world, { count: 1n }));
    await recover(world, "advance", advanceOver(world));
    assert.equal(world.rooted.count, world.queue.count);
    await pay();
    await world.execute([], trueUpdate(world, [honest]));
    await pay();
    assert.equal((await refusedTo(world, "advance", advanceOver(world))).error, "SignersAtWork");
  });

  it("counts signers by what they leave waiting: a root over one payment every few hours holds up no other", async () => {
    const [first, second] = [await pay(), await pay()];
    const slow = { count: 4n, head: headAt(world, 4n) };
    await nextBlockAt(world, second + 5 * HOUR);
    const newRoot = mustField(rootAt(world, slow.count));
    assert.equal((await world.execute([], world.updateTo(slow, { newRoot }, [honest]))).update, 1n);
    const [, , from] = (await read("brakes")) as bigint[];
    assert.equal(from, BigInt(first + 6 * HOUR));
    assert.deepEqual(await refusedTo(world, "advance", advanceOver(world)), fault("SignersAtWork", from));
    await nextBlockAt(world, from);
    await recover(world, "advance", advanceOver(world));
    assert.equal(world.rooted.count, world.queue.count);
  });

  it("is allowed at once while the path is paused, and not when the pause is over", async () => {
    await pay();
    await world.call(actingAs(world.pool, await world.account(1)), "pause");
    await recover(world, "advance", advanceOver(world, { count: 2n }));
    const [attestedFrom] = (await read("brakes")) as bigint[];
    await nextBlockAt(world, attestedFrom! - 1n);
    await recover(world, "advance", advanceOver(world));
    await nextBlockAt(world, attestedFrom!);
    await pay();
    assert.equal((await refusedTo(world, "advance", advanceOver(world))).error, "SignersAtWork");
  });

  it("goes any part of the way, and an attested update goes on from there", async () => {
    await pay(2);
    await silence();
    await recover(world, "advance", advanceOver(world, { count: 3n }));
    assert.deepEqual([world.rooted.root, world.rooted.count], [rootAt(world, 3n), 3n]);
    const update = trueUpdate(world, [honest]);
    assert.equal((await world.execute([], update)).update, 2n);
    assert.equal(world.rooted.root, rootAt(world, 8n));
  });

  it("PrefixLength, PrefixUnknown, LeavesMismatch of nothing, too many, other leaves, another head, another place", async () => {
    await pay(2);
    await silence();
    const [frontier, count, head, leaves] = advanceOver(world) as [bigint[], bigint, string, bigint[]];
    for (const wrong of [0n, 9n])
      assert.deepEqual(
        await refusedTo(world, "advance", [frontier, wrong, head, leaves, []]),
        fault("PrefixLength", wrong, 8n),
      );
    for (const bent of [
      [frontier, count, `0x${"11".repeat(32)}`, leaves],
      [frontier, count, head, leaves.with(7, 5n)],
      [frontier, count, head, leaves.with(0, 5n)],
      [frontier, 1n, head, leaves.with(7, 5n)],
      [frontier, 1n, head, leaves.slice(0, 7)],
      [frontier, count, head, leaves.toReversed()],
      [frontier, count, head, [...leaves, 5n]],
      [frontier, 1n, head, leaves.slice(0, 4)],
    ]) {
      assert.deepEqual(await refusedTo(world, "advance", [...bent, []]), fault("PrefixUnknown"));
    }
  });

  it("FrontierMismatch: a frontier that is not that of the newest root", async () => {
    await pay();
    await world.execute([], trueUpdate(world, [honest]));
    await pay();
    await silence();
    const [frontier, ...rest] = advanceOver(world) as [bigint[], ...unknown[]];
    for (const i of frontier.keys()) {
      const refused = await refusedTo(world, "advance", [frontier.with(i, 5n), ...rest]);
      assert.equal(refused.error, "FrontierMismatch");
    }
    // Of another length it is none at all.
    const send = world.pool.getFunction("advance");
    for (const bent of [[], [...frontier, 5n]]) await assert.rejects(send.staticCall(bent, ...rest));
  });

  it("is anchored at the end of a call that the ring still has, at a window's checkpoint, at the end", async () => {
    await pay(2);
    const first = world.queue.count;
    await pay(2);
    await silence();
    for (const end of [first, world.queue.count]) {
      const again = await world.remember();
      await recover(world, "advance", advanceOver(world, { end, count: 1n }));
      await again();
    }
    // Once round the ring: its place for `first` is another position's, and the window's is at 252.
    await pay(62);
    assert.equal((world.queue.count - first) % 256n, 0n);
    assert.deepEqual(
      await refusedTo(world, "advance", advanceOver(world, { end: first })),
      fault("PrefixUnknown"),
    );
    assert.notEqual(await read("checkpointTime", 252n, headAt(world, 252n)), 0n);
    await recover(world, "advance", advanceOver(world, { end: 252n }));
    assert.equal(world.rooted.root, rootAt(world, 252n));
  });

  it("a root counts since its leaves were there, but not before the one below, and then proofs take it", async () => {
    const first = await pay(2);
    await nextBlockAt(world, first + 5 * HOUR);
    const second = await pay(2);
    await nextBlockAt(world, second + 5 * HOUR);
    await world.provider.send("evm_mine", []);
    // Over the first call's leaves, anchored there and anchored later.
    for (const [end, since] of [
      [8n, first],
      [16n, second],
    ] as const) {
      const again = await world.remember();
      await recover(world, "advance", advanceOver(world, { end, count: 4n }));
      assert.equal(await provableFrom(), since + 2 * DAY);
      // What comes on top of the younger anchor is not older than it.
      await world.call(actingAs(world.pool, await world.account(1)), "pause");
      await recover(world, "advance", advanceOver(world, { end: 8n }));
      assert.equal(await provableFrom(), since + 2 * DAY);
      await again();
    }
  });

  it(`rebuilds from before a lie, ${String(LEAVES)} leaves behind it, window by window to the end`, async () => {
    await tellUntil(world, "a private transfer", [honest]);
    const good = world.rooted.root;
    const forged = lie(world, "a private transfer", "a withdrawal", [thief]);
    assert.equal(await outcome(world, forged), 6n);
    await world.execute([], trueUpdate(world, [honest]));
    const bad = world.rooted.root;
    while (world.queue.count < LEAVES) {
      await pay(60);
      await world.execute([], world.updateTo(world.queue, {}, [honest]));
    }
    await recover(world, "refuteStatement", falseStatement(forged, wordsOf("a withdrawal"), [good, bad]));
    assert.equal(world.rooted.count, 6n);
    const began = performance.now();
    const heads = headsOf(world.leaves);
    const frontier = frontierOf(world, 6n);
    let [steps, gas] = [0, 0n];
    while (world.rooted.count < world.queue.count) {
      const from = Number(world.rooted.count);
      const end = await furthest(from, heads);
      const shown = world.leaves.slice(from, end);
      const { receipt } = await recover(world, "advance", [
        frontier.nodes(),
        shown.length,
        heads[from],
        shown,
        makersOf(world, BigInt(from), BigInt(end), new Set([6])),
      ]);
      gas += receipt.gasUsed;
      assert.equal(world.rooted.count, BigInt(end));
      for (let i = from; i < end; i++) frontier.append(mustField(i >= 6 && i < 10 ? 0n : world.leaves[i]!));
      assert.equal(world.rooted.root, frontier.root());
      steps += 1;
    }
    assert.ok(steps <= Math.ceil(LEAVES / 248) + 2, String(steps));
    const [leaves, seconds] = [world.queue.count - 6n, Math.round((performance.now() - began) / 1000)];
    assert.ok(gas / leaves < 25_000n, String(gas / leaves));
    const told = [`${String(steps)} calls`, `${gas.toLocaleString("en")} gas`, `${String(seconds)} s`];
    if ("CLOISTER_LEAVES" in process.env) console.log(`${String(leaves)} leaves again: ${told.join(", ")}`);
  });

  /** The last place that can be named among the next 256 leaves. */
  const furthest = async (from: number, heads: readonly string[]): Promise<number> => {
    const last = Number(world.queue.count);
    for (let end = Math.min(from + 256, last); end > from; end--) {
      if (end === last || (await read("checkpointTime", end, heads[end])) !== 0n) return end;
    }
    throw new Error(`nothing can be named behind ${String(from)}`);
  };
});

/** The head over the first n of them, for every n. */
function headsOf(leaves: readonly bigint[]): readonly string[] {
  const heads = [ZERO_BYTES32];
  for (const leaf of leaves) heads.push(nextHead(heads.at(-1)!, leaf));
  return heads;
}
