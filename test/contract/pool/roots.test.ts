// The queue, its checkpoints and attested root updates, under racers and long silence. See roots.tree.
import assert from "node:assert/strict";
import { drawField, type Sealed } from "../../support/drafts.ts";
import { attester, NO_UPDATE, type PoolRootUpdate } from "../../../scripts/stack/pool-transaction.ts";
import { mustField, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { fault, World } from "./world.ts";

describe("pool: queue and roots", () => {
  let world: World;
  beforeEach(async () => {
    world = await World.start();
  });
  afterEach(() => world.stop());

  const transfers = (count: number): Sealed[] => Array.from({ length: count }, () => world.transfer());
  const currentRoot = async (): Promise<bigint[]> => [...(await world.pool.getFunction("currentRoot")())];

  it("begins with the root of the empty tree as shared/protocol computes it", async () => {
    assert.deepEqual(await currentRoot(), [emptyNode(TREE_DEPTH), 0n, 0n]);
    assert.equal(await world.pool.getFunction("rootSequence")(emptyNode(TREE_DEPTH)), 1n);
    assert.equal(typeof (await world.executeOne(world.transfer())), "bigint");
  });

  it("takes an update over the call's own leaves, and keeps every root for spending", async () => {
    const roots = [world.rooted.root];
    for (let sequence = 1n; sequence <= 4n; sequence++) {
      const members = transfers(2);
      const { update } = await world.execute(members, world.updateTo(world.after(members)));
      assert.equal(update, sequence);
      roots.push(world.rooted.root);
      assert.deepEqual(await currentRoot(), [world.rooted.root, 8n * sequence, sequence]);
    }
    const { members } = await world.execute(roots.map((root) => world.transfer({ root })));
    assert.ok(members.every((outcome) => typeof outcome === "bigint"));
  });

  it("does not let a call spend on the root that it brings itself", async () => {
    const newRoot = drawField();
    const members = [...transfers(1), world.transfer({ root: newRoot })];
    const { members: outcomes, update } = await world.execute(
      members,
      world.updateTo(world.after(members.slice(0, 1)), { newRoot }),
    );
    assert.deepEqual(outcomes[1], fault("RootUnknown", newRoot));
    assert.equal(update, 1n);
  });

  it("takes a prefix that ends at any transaction of the running call", async () => {
    for (const covered of [1, 2, 3]) {
      const members = transfers(3);
      const { update } = await world.execute(members, world.updateTo(world.after(members.slice(0, covered))));
      assert.equal(typeof update, "bigint", `${covered} of 3`);
      const rest = await world.execute([], world.updateTo(world.queue));
      if (covered === 3) assert.deepEqual(rest.update, fault("RootUpdateSize"));
      else assert.equal(typeof rest.update, "bigint");
      assert.equal(world.rooted.count, world.queue.count);
    }
  });

  it("RootUpdateHead: a prefix that ends inside a transaction, or at a boundary of an older call", async () => {
    const members = transfers(2);
    const inside = world.after(members);
    const [first] = members;
    assert.ok(first !== undefined);
    const boundary = world.after([first]);
    const { update } = await world.execute(members, world.updateTo({ ...inside, count: inside.count - 1n }));
    assert.deepEqual(update, fault("RootUpdateHead"));
    assert.deepEqual((await world.execute([], world.updateTo(boundary))).update, fault("RootUpdateHead"));
    assert.equal((await world.execute([], world.updateTo(world.queue))).update, 1n);
  });

  it("takes an update over earlier calls up to where any of them ended, whatever came after", async () => {
    const ends = [];
    for (let i = 0; i < 5; i++) {
      await world.execute(transfers(2));
      ends.push(world.queue);
    }
    for (const end of [ends[1]!, ends[2]!, ends[4]!]) {
      assert.equal(typeof (await world.execute(transfers(1), world.updateTo(end))).update, "bigint");
      assert.equal(world.rooted.count, end.count);
    }
  });

  it("a racer who adds leaves first delays the update but neither payments nor the tree", async () => {
    const members = transfers(2);
    const prepared = world.updateTo(world.after(members));
    await world.execute([await world.deposit()], NO_UPDATE, { sender: await world.account(4) });
    const raced = await world.execute(members, prepared);
    assert.ok(raced.members.every((outcome) => typeof outcome === "bigint"));
    assert.deepEqual(raced.update, fault("RootUpdateHead"));

    // He races every call; an update over what is already mined is ready each time.
    for (let i = 0; i < 5; i++) {
      const ready = world.updateTo(world.queue);
      await world.execute([await world.deposit()], NO_UPDATE, { sender: await world.account(4) });
      assert.equal(typeof (await world.execute(transfers(1), ready)).update, "bigint");
    }
  });

  it("skips a member's failure: an update that counted on it does not match, one that did not, does", async () => {
    const [good, bad] = [world.transfer(), world.transfer({ root: 1n })];
    const skipped = await world.execute([good, bad], world.updateTo(world.after([good, bad])));
    assert.deepEqual(skipped.update, fault("RootUpdateHead"));
    const [next, worse] = [world.transfer(), world.transfer({ root: 1n })];
    const taken = await world.execute([worse, next], world.updateTo(world.after([next])));
    assert.equal(taken.update, 1n);
  });

  it("RootUpdateStale: another old root, another start, the same update twice, a root that is known", async () => {
    const members = transfers(1);
    await world.execute(members);
    const stale: PoolRootUpdate[] = [
      world.updateTo(world.queue, { oldRoot: mustField(5n) }),
      world.updateTo(world.queue, { fromIndex: 1n }),
      world.updateTo(world.queue, { newRoot: emptyNode(TREE_DEPTH) }),
    ];
    for (const update of stale)
      assert.deepEqual((await world.execute([], update)).update, fault("RootUpdateStale"));
    const good = world.updateTo(world.queue);
    assert.equal((await world.execute([], good)).update, 1n);
    assert.deepEqual((await world.execute([], good)).update, fault("RootUpdateStale"));
  });

  it("RootUpdateSize: nothing, backwards, more than 256 leaves; 256 are taken", async () => {
    await world.execute(transfers(1), NO_UPDATE);
    const backwards = world.updateTo(world.queue, { toIndex: 0n });
    assert.deepEqual((await world.execute([], backwards)).update, fault("RootUpdateSize"));
    await world.execute([], world.updateTo(world.queue));
    assert.deepEqual((await world.execute([], world.updateTo(world.queue))).update, fault("RootUpdateSize"));

    const members = transfers(64);
    const tooFar = world.updateTo({ ...world.after(members), count: world.queue.count + 257n });
    assert.deepEqual((await world.execute([], tooFar)).update, fault("RootUpdateSize"));
    assert.equal(
      typeof (await world.execute(members, world.updateTo(world.after(members)))).update,
      "bigint",
    );
    assert.equal(world.rooted.count, 260n);
  });

  it("RootUpdateHead: heads that are not the queue's, at either end", async () => {
    await world.execute(transfers(1));
    await world.execute([], world.updateTo(world.queue));
    await world.execute(transfers(1));
    const wrong = `0x${"11".repeat(32)}` as Bytes32;
    for (const update of [
      world.updateTo(world.queue, { headAfter: wrong }),
      world.updateTo(world.queue, { headBefore: wrong }),
      world.updateTo(world.queue, { headBefore: `0x${"00".repeat(32)}` as Bytes32 }),
    ]) {
      assert.deepEqual((await world.execute([], update)).update, fault("RootUpdateHead"));
    }
    assert.equal((await world.execute([], world.updateTo(world.queue))).update, 2n);
  });

  it("skips an update without a true attestation, and its neighbours are executed", async () => {
    const members = transfers(1);
    const place = world.after(members);
    const unsigned = { ...world.updateTo(place), attestations: "0x" };
    const { members: outcomes, update } = await world.execute(members, unsigned);
    assert.equal(typeof outcomes[0], "bigint");
    assert.deepEqual(update, fault("TooFewAttestations", 0n, 1n));
    const forged = await world.execute([], world.updateTo(place, {}, [attester(66)]));
    assert.equal(typeof forged.update === "object" && forged.update.error, "SignerUnknown");
    for (const change of [{ newRoot: mustField(3n) }, { headBefore: `0x${"00".repeat(31)}01` as Bytes32 }]) {
      const changed = await world.execute([], { ...world.updateTo(place), ...change });
      assert.equal(typeof changed.update, "object");
    }
    assert.deepEqual(await currentRoot(), [emptyNode(TREE_DEPTH), 0n, 0n]);
  });

  it("never strands the tree: after a silence of many calls and a call of many leaves, 256 at a time reach the end", async () => {
    const ends: (typeof world.queue)[] = [];
    const grow = async (count: number): Promise<void> => {
      const members = transfers(count);
      ends.push(...members.map((_, i) => world.after(members.slice(0, i + 1))));
      await world.execute(members, NO_UPDATE, { gasLimit: 30_000_000n });
    };
    // 37 calls of 32 leaves: far past the 256 places of the ring. Then one with more leaves than an update may cover.
    for (let i = 0; i < 37; i++) await grow(8);
    await grow(100);

    while (world.rooted.count < world.queue.count) {
      const reachable = ends.filter(
        ({ count }) => count > world.rooted.count && count <= world.rooted.count + 256n,
      );
      let isTaken = false;
      for (const end of reachable.reverse()) {
        if (typeof (await world.execute([], world.updateTo(end))).update === "bigint") {
          isTaken = true;
          break;
        }
      }
      assert.ok(isTaken, `no checkpoint within 256 leaves of ${world.rooted.count}`);
    }
    assert.deepEqual([...(await world.pool.getFunction("queue")())], [world.rooted.count, world.rooted.head]);
  });

  it("the end of a call keeps its time, however many calls add nothing after it", async () => {
    const { receipt } = await world.execute(transfers(1));
    const time = BigInt((await world.provider.getBlock(receipt.blockNumber))!.timestamp);
    await world.increaseTime(1_000);
    for (const members of [[], [world.transfer({ root: 1n })]]) {
      await world.execute(members);
      const { count, head } = world.queue;
      assert.equal(await world.pool.getFunction("checkpointTime")(count, head), time);
    }
  });

  it("does not take a recycled place of the ring for the position that had it before", async () => {
    // A call ends at 8. Once round, 264 has the same place, but no call ends there to overwrite it.
    await world.execute(transfers(2));
    const old = world.queue;
    await world.execute([], world.updateTo(old));
    for (let i = 0; i < 5; i++) {
      const members = transfers(13);
      await world.execute(members, world.updateTo(world.after(members.slice(0, 11))));
    }
    assert.deepEqual([world.rooted.count, world.queue.count], [260n, 268n]);
    const forged = world.updateTo({ count: 264n, head: old.head });
    assert.deepEqual((await world.execute([], forged)).update, fault("RootUpdateHead"));
    assert.equal(typeof (await world.execute([], world.updateTo(world.queue))).update, "bigint");
  });
});
