// A root that signers vouched for and that is not the tree's, and which roots a refutation takes away. See refuted-roots.tree.
import assert from "node:assert/strict";
import { attester, type PoolRootUpdate } from "../../../scripts/stack/pool-transaction.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { emptyNode, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { drawField } from "../../support/drafts.ts";
import { advanceOver, falseStatement, falseUpdate, recover, refusedTo, rootAt } from "./recovery.ts";
import { simulate } from "./simulation.ts";
import {
  DAY,
  headAt,
  lie,
  nextBlockAt,
  outcome,
  startTold,
  tellUntil,
  told,
  trueUpdate,
  wordsOf,
} from "./told-world.ts";
import { fault, type World } from "./world.ts";

const BOND = 10n ** 17n;
const EMPTY_ROOT = emptyNode(TREE_DEPTH);
const PROOF = "a withdrawal";

describe("pool: refuting a root", function () {
  let world: World;
  let restore: () => Promise<void>;
  const [thief, honest, past] = [attester(0), attester(1), attester(2)];
  before(async () => {
    world = await startTold({ attesters: [thief, honest, past], signerBond: BOND });
    await tellUntil(world, "a private transfer", [honest]);
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const read = (name: string, ...args: unknown[]): Promise<unknown> => world.pool.getFunction(name)(...args);
  const isSigner = (one = thief): Promise<unknown> => read("isSigner", one.address);
  const pays = async (): Promise<void> => {
    assert.equal(typeof (await outcome(world, world.transfer({ attesters: [honest] }))), "bigint");
  };
  const rooted = async (by = honest): Promise<bigint> => {
    await pays();
    await world.execute([], trueUpdate(world, [by]));
    return world.rooted.root;
  };
  /** Over what waits, with a root that is nobody's. */
  const forgedUpdate = (newRoot = drawField()): PoolRootUpdate =>
    world.updateTo(world.queue, { newRoot }, [thief]);
  const forgedPayment = () => lie(world, "a private transfer", PROOF, [thief]);

  it("a root that is none is refuted with all that stand on it; the tree goes on from the one before", async () => {
    const good = world.rooted.root;
    await pays();
    const update = forgedUpdate();
    await world.execute([], update);
    await pays();
    await world.execute([], world.updateTo(world.queue, {}, [honest]));
    const last = world.rooted.root;
    const { said } = await recover(world, "refuteRootUpdate", falseUpdate(world, update));
    assert.deepEqual(said, [
      "RootsRevoked",
      "Refuted",
      "AttestedPathClosed",
      "ImageRevoked",
      "SignerRemoved",
      "BondPaid",
    ]);
    for (const root of [update.newRoot, last]) assert.equal(await read("rootSequence", root), 0n);
    assert.deepEqual([world.rooted.root, world.rooted.count], [good, 6n]);
    assert.deepEqual([await isSigner(thief), await isSigner(honest)], [false, true]);
    // The payment on the good root stays, and its leaves come into the tree; the one on the root that is none is suspended.
    const voided = new Set([10, 11, 12, 13]);
    const over = await recover(world, "advance", advanceOver(world, { voided, unnamed: new Set() }));
    assert.deepEqual(over.said, ["LeavesSuspended", "RootUpdated"]);
    assert.equal(world.rooted.root, rootAt(world, 14n, voided));
    assert.deepEqual([await read("isVoid", 6), await read("isVoid", 10)], [false, true]);
  });

  it("StatementTrue: the update that is the tree's", async () => {
    await pays();
    const update = trueUpdate(world, [honest]);
    const shown = falseUpdate(world, update);
    assert.deepEqual(await refusedTo(world, "refuteRootUpdate", shown), fault("StatementTrue"));
    await world.execute([], update);
    assert.deepEqual(await refusedTo(world, "refuteRootUpdate", shown), fault("StatementTrue"));
    assert.equal(await isSigner(honest), true);
  });

  it("LeavesMismatch, FrontierMismatch: shown with other leaves, fewer, or another tree before", async () => {
    await pays();
    const update = forgedUpdate();
    const [, frontier, leaves] = falseUpdate(world, update) as [unknown, bigint[], bigint[]];
    for (const bent of [leaves.slice(1), [...leaves, 5n], leaves.with(0, 5n), leaves.toReversed(), []]) {
      assert.deepEqual(
        await refusedTo(world, "refuteRootUpdate", [update, frontier, bent]),
        fault("LeavesMismatch"),
      );
    }
    for (const i of frontier.keys()) {
      const shown = [update, frontier.with(i, 5n), leaves];
      assert.equal((await refusedTo(world, "refuteRootUpdate", shown)).error, "FrontierMismatch");
    }
    assert.equal(await isSigner(), true);
  });

  it("an update that nobody took: its signer is out, and no root goes", async () => {
    await pays();
    const shown = falseUpdate(world, forgedUpdate());
    const { said } = await recover(world, "refuteRootUpdate", shown);
    assert.deepEqual(said, ["Refuted", "AttestedPathClosed", "ImageRevoked", "SignerRemoved", "BondPaid"]);
    assert.equal(world.rooted.count, 6n);
  });

  it("an update that names a root which another one made: its signer is out, and that root stays", async () => {
    // Over two leaves less, under the name of the root of all of them.
    await pays();
    await pays();
    const truth = trueUpdate(world, [honest]);
    const update = world.updateTo(
      { count: 10n, head: headAt(world, 10n) },
      { newRoot: mustField(truth.newRoot) },
      [thief],
    );
    const shown = falseUpdate(world, update);
    await world.execute([], truth);
    await recover(world, "refuteRootUpdate", shown);
    assert.deepEqual([world.rooted.root, world.rooted.count], [truth.newRoot, 14n]);
    assert.deepEqual([await isSigner(thief), await isSigner(honest)], [false, true]);
  });

  it("a root that was revoked is recorded again, when it becomes the tree's", async () => {
    await pays();
    await pays();
    const right = rootAt(world, 14n);
    const early = world.updateTo({ count: 10n, head: headAt(world, 10n) }, { newRoot: mustField(right) }, [
      thief,
    ]);
    assert.equal(typeof (await world.execute([], early)).update, "bigint");
    await recover(world, "refuteRootUpdate", falseUpdate(world, early));
    assert.equal(await read("rootSequence", right), 0n);
    await recover(world, "advance", advanceOver(world));
    assert.equal(world.rooted.root, right);
    assert.equal(await read("rootSequence", right), 4n);
  });

  it("RootsNotAdjacent: neighbours that would spare a bad root, or take a good one away", async () => {
    const before = world.rooted.root;
    assert.equal(await outcome(world, forgedPayment()), 6n);
    await world.execute([], trueUpdate(world, [honest]));
    const bad = world.rooted.root;
    const later = await rooted();
    for (const [good, worse] of [
      [before, later],
      [EMPTY_ROOT, bad],
      [EMPTY_ROOT, before],
      [bad, later],
      [bad, before],
      [before, before],
      [before, 5n],
      [5n, bad],
    ] as const) {
      const shown = falseStatement(forgedPayment(), wordsOf(PROOF), [good, worse]);
      assert.deepEqual(await refusedTo(world, "refuteStatement", shown), fault("RootsNotAdjacent"));
    }
    await recover(world, "refuteStatement", falseStatement(forgedPayment(), wordsOf(PROOF), [before, bad]));
    assert.equal(await read("rootSequence", later), 0n);
  });

  it("a lie about an earlier leaf is refuted after one about a later leaf, over the roots that are gone", async () => {
    const before = world.rooted.root;
    assert.equal(await outcome(world, forgedPayment()), 6n);
    await world.execute([], trueUpdate(world, [honest]));
    const bad = world.rooted.root;
    const swap = lie(world, "a payment of many notes", PROOF, [past]);
    assert.equal(await outcome(world, swap), 10n);
    const between = world.rooted.root;
    await world.execute([], trueUpdate(world, [honest]));
    const last = world.rooted.root;
    await recover(world, "refuteStatement", falseStatement(swap, wordsOf(PROOF), [between, last]));
    assert.deepEqual([world.rooted.root, world.rooted.count], [bad, 10n]);
    // The tree goes on meanwhile, and what goes on is covered by the second refutation too.
    await recover(world, "advance", advanceOver(world, { voided: new Set([10, 11, 12, 13]) }));
    assert.deepEqual([world.rooted.root, world.rooted.count], [bad, 14n]);
    await recover(world, "refuteStatement", falseStatement(forgedPayment(), wordsOf(PROOF), [before, bad]));
    assert.deepEqual([world.rooted.root, world.rooted.count], [before, 6n]);
    const voided = new Set([6, 7, 8, 9, 10, 11, 12, 13]);
    await recover(world, "advance", advanceOver(world, { voided }));
    assert.deepEqual([world.rooted.root, world.rooted.count], [before, 14n]);
    assert.equal(await isSigner(past), false);
  });

  it("of a statement executed with another proof, the true one: the signer is out, and what was paid stays", async () => {
    assert.equal(await outcome(world, told(world, "a private transfer", [honest])), 6n);
    const { said } = await recover(world, "refuteStatement", falseStatement(forgedPayment(), wordsOf(PROOF)));
    assert.deepEqual(said, ["Refuted", "AttestedPathClosed", "ImageRevoked", "SignerRemoved", "BondPaid"]);
    assert.deepEqual(
      [await read("isVoid", 6), await read("isSpent", forgedPayment().draft.nullifiers[0])],
      [false, true],
    );
  });

  it("of a signer that is out already, believed before: its image is as guilty as it was", async () => {
    const lied = lie(world, "a private transfer", PROOF, [past]);
    assert.equal(await outcome(world, lied), 6n);
    await world.call(world.pool, "removeSigner", past.address);
    const { said } = await recover(world, "refuteStatement", falseStatement(lied, wordsOf(PROOF)));
    assert.deepEqual(said, ["LeavesVoided", "Refuted", "ImageRevoked", "BondPaid"]);
  });

  it("of a signer that is out already: its bond is paid, its image and the path stay as they are", async () => {
    await world.call(world.pool, "removeSigner", past.address);
    const lied = lie(world, "a private transfer", PROOF, [past]);
    const { said } = await recover(world, "refuteStatement", falseStatement(lied, wordsOf(PROOF)));
    // Nobody took its word: others of its image stay, or whoever has a key that is out could remove them one image at a time.
    assert.deepEqual(said, ["Refuted", "BondPaid"]);
    await pays();
    // Nothing is left for a second one, nor for whoever posted it.
    assert.deepEqual((await recover(world, "refuteStatement", falseStatement(lied, wordsOf(PROOF)))).said, [
      "Refuted",
    ]);
    await nextBlockAt(world, (await world.provider.getBlock("latest"))!.timestamp + 5 * DAY);
    assert.deepEqual(await refusedTo(world, "releaseBond", [past.address]), fault("BondMismatch", 0n));
  });

  it("SignerUnknown, SignatureInvalid, AttestationLength: of nobody whom the pool ever took", async () => {
    const stranger = attester(77);
    const lied = lie(world, "a private transfer", PROOF, [stranger]);
    const refused = await refusedTo(world, "refuteStatement", falseStatement(lied, wordsOf(PROOF)));
    assert.equal(refused.error, "SignerUnknown");
    // Nor one whom the owner put out before it ever came.
    await world.call(world.pool, "removeSigner", stranger.address);
    const again = await refusedTo(world, "refuteStatement", falseStatement(lied, wordsOf(PROOF)));
    assert.equal(again.error, "SignerUnknown");
    for (const [attestations, error] of [
      ["0x", "AttestationLength"],
      ["0x00", "AttestationLength"],
      [`0x${"00".repeat(65)}`, "SignatureInvalid"],
    ] as const) {
      const bent = { ...lied, transaction: { ...lied.transaction, attestations } };
      assert.equal(
        (await refusedTo(world, "refuteStatement", falseStatement(bent, wordsOf(PROOF)))).error,
        error,
      );
    }
  });

  it("UnknownKind, ProofLength: of what is no statement", async () => {
    const lied = forgedPayment();
    const kind = { ...lied, transaction: { ...lied.transaction, kind: 5 } };
    assert.deepEqual(
      await refusedTo(world, "refuteStatement", falseStatement(kind, wordsOf(PROOF))),
      fault("UnknownKind", 5n),
    );
    const proof = { ...lied, transaction: { ...lied.transaction, proof: "0x00" } };
    assert.deepEqual(
      await refusedTo(world, "refuteStatement", falseStatement(proof, wordsOf(PROOF))),
      fault("ProofLength", 1n),
    );
  });

  it("with any gas a true statement stays true, and a lie is refuted or nothing happens", async () => {
    const truth = falseStatement(told(world, "a private transfer", [honest]), wordsOf("a private transfer"));
    const lied = falseStatement(forgedPayment(), wordsOf(PROOF));
    const results = new Set<string>();
    for (let gas = 80_000n; gas < 1_500_000n; gas += 43_000n) {
      for (const [what, args] of [
        ["truth", truth],
        ["lie", lied],
      ] as const) {
        const data = world.pool.interface.encodeFunctionData("refuteStatement", args);
        const { isDone } = await simulate(world, { data, gas });
        results.add(`${what} ${isDone ? "refuted" : "reverted"}`);
      }
    }
    assert.deepEqual([...results].sort(), ["lie refuted", "lie reverted", "truth reverted"]);
  });
});
