/**
 * P6. The tree holds the leaves that the pool logged, all of them, in that order. A hostile proxy asks the real
 * enclave to sign other histories, which it does, since it knows no chain; the pool takes none of them.
 */
import assert from "node:assert/strict";
import type { JsonRpcSigner } from "ethers";
import { NO_UPDATE, type PoolRootUpdate } from "../../scripts/stack/pool-transaction.ts";
import { FIELD_ORDER, mustField, ZERO_BYTES32 } from "../../shared/protocol/brands.ts";
import type { AttestRootRequest } from "../../shared/protocol/enclave-messages.ts";
import { emptyFrontier } from "../../shared/protocol/host/frontier.ts";
import { Frontier } from "../../shared/protocol/tree.ts";
import { Battlefield, freshKeys, leavesOf, type Restored, type Signed } from "../support/adversary.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

describe("P6 the tree equals the log of leaves", function () {
  this.timeout(600_000);
  let field: Battlefield;
  let racer: JsonRpcSigner;
  const keys = freshKeys();

  before(async () => {
    field = await Battlefield.start();
    racer = await field.account(6);
    await field.settle(await field.deposit(keys, 10_000_000n));
    // Six leaves wait, in two calls.
    for (const amount of [1_000_000n, 2_000_000n]) {
      assert.equal(
        await field.executeOne(await field.transaction(await field.deposit(keys, amount))),
        "executed",
      );
    }
  });
  after(() => field.stop());

  /** Root of all leaves that the chain logged, by the wallet's tree; throws unless it is the pool's. */
  async function compareWithLog(): Promise<Restored> {
    const restored = await field.restore(keys);
    const [root, count] = (await field.pool.getFunction("currentRoot")()) as [bigint, bigint];
    assert.equal(restored.state.tree.root(Number(count)), root);
    return restored;
  }

  /** What the enclave refuses or signs for a bent request, and what the pool says to what it signed. */
  async function fate(request: AttestRootRequest): Promise<string> {
    const reply = await field.enclave.ask(request);
    if (reply.type === "refused") return reply.code;
    const before = await field.snapshot();
    const { update } = await field.execute([], await field.attestRoot(request));
    assert.deepEqual(await field.snapshot(), before);
    return update ?? "none";
  }

  it("P6 leaves left out, swapped, put in, doubled or replaced: signed by the enclave, skipped by the pool", async () => {
    const honest = await field.rootRequest();
    const leaves = honest.leaves;
    assert.equal(leaves.length, 6);
    const [a, b, ...rest] = leaves as [bigint, bigint, ...bigint[]];
    const lies: Record<string, readonly bigint[]> = {
      "first left out": [b, ...rest],
      "last left out": leaves.slice(0, -1),
      swapped: [b, a, ...rest],
      "one put in": [1n, ...leaves],
      "one put behind": [...leaves, 1n],
      doubled: [a, ...leaves],
      replaced: [1n, b, ...rest],
    };
    for (const [what, told] of Object.entries(lies)) {
      assert.equal(await fate({ ...honest, leaves: told }), "RootUpdateHead", what);
    }
  });

  it("P6 another past: a wrong frontier, index or head is stale or no head of the pool's", async () => {
    const honest = await field.rootRequest();
    const nodes = honest.frontier;
    assert.equal(await fate({ ...honest, frontier: nodes.with(0, 1n) }), "RootUpdateStale");
    assert.equal(await fate({ ...honest, frontier: [...nodes.slice(1), nodes[0]!] }), "RootUpdateStale");
    assert.equal(await fate({ ...honest, frontier: [], fromIndex: 0n }), "RootUpdateStale");
    assert.equal(
      await fate({ ...honest, frontier: [], fromIndex: 0n, headBefore: ZERO_BYTES32 }),
      "RootUpdateStale",
    );
    assert.equal(await fate({ ...honest, headBefore: ZERO_BYTES32 }), "RootUpdateHead");
    // The same leaves a second time, from where they ended.
    const all = leavesOf(await field.events());
    const frontier = emptyFrontier();
    for (const leaf of all) frontier.append(mustField(leaf));
    assert.equal(
      await fate({ ...honest, fromIndex: BigInt(all.length), frontier: frontier.nodes() }),
      "RootUpdateStale",
    );
    // An index too great, with empty leaves in the places that nobody filled: the same old root.
    const padded = Frontier.from(honest.fromIndex, honest.frontier.map(mustField))!;
    padded.append(mustField(0n));
    assert.equal(
      await fate({ ...honest, fromIndex: padded.leafCount, frontier: padded.nodes() }),
      "RootUpdateStale",
    );
  });

  it("P6 what is no history at all the enclave does not sign", async () => {
    const honest = await field.rootRequest();
    assert.equal(await fate({ ...honest, frontier: [...honest.frontier, 1n] }), "FRONTIER_INVALID");
    assert.equal(
      await fate({ ...honest, frontier: honest.frontier.with(0, honest.frontier[0]! + FIELD_ORDER) }),
      "FRONTIER_INVALID",
    );
    assert.equal(await fate({ ...honest, fromIndex: 4n ** 16n }), "FRONTIER_INVALID");
    assert.equal(await fate({ ...honest, leaves: [0n, ...honest.leaves] }), "LEAVES_INVALID");
    assert.equal(
      await fate({ ...honest, leaves: honest.leaves.with(0, honest.leaves[0]! + FIELD_ORDER) }),
      "LEAVES_INVALID",
    );
    const reply = await field.enclave.ask({ ...honest, frontier: honest.frontier.slice(1) });
    assert.equal(codeOf(reply), "FRONTIER_INVALID");
  });

  it("P6 a prefix that no call ended at is refused, one that a call ended at is taken", async () => {
    const whole = await field.rootRequest();
    const inside = { ...whole, leaves: whole.leaves.slice(0, 2) };
    assert.equal(await fate(inside), "RootUpdateHead");
    const prefix = await field.attestRoot({ ...whole, leaves: whole.leaves.slice(0, 3) });
    assert.equal((await field.execute([], prefix)).update, "taken");
    await compareWithLog();
    // What was attested over the whole of it from before is now from the wrong place, and harmless.
    assert.equal((await field.execute([], await field.attestRoot(whole))).update, "RootUpdateStale");
    assert.equal(
      (await field.execute([], await field.attestRoot(await field.rootRequest()))).update,
      "taken",
    );
    assert.equal((await compareWithLog()).balance, 13_000_000n);
  });

  it("P6 a racer that adds a leaf before every batch delays the root and changes nothing else", async () => {
    const late: PoolRootUpdate[] = [];
    for (let round = 0; round < 3; round++) {
      const honest = await field.deposit(keys, 4_000_000n);
      const update = await field.attestRoot(await field.rootRequest(honest.statement.facts.commitments));
      const transaction = await field.transaction(honest);
      // Seen in the pool of waiting transactions, and overtaken.
      const dust = await field.transaction(await field.deposit(freshKeys(), 1n));
      assert.equal(await field.executeOne(dust, racer), "executed");
      const outcome = await field.execute([transaction], update);
      assert.deepEqual([...outcome.members, outcome.update], ["executed", "RootUpdateHead"]);
      late.push(update);
    }
    await compareWithLog();
    // Nothing that was overtaken becomes true later, …
    for (const update of late) assert.notEqual((await field.execute([], update)).update, "taken");
    // … and one update, attested before the racer's next dust, still fits, because a prefix will do.
    const update = await field.attestRoot(await field.rootRequest());
    const dust = await field.transaction(await field.deposit(freshKeys(), 1n));
    assert.equal(await field.executeOne(dust, racer), "executed");
    assert.equal((await field.execute([], update)).update, "taken");
    assert.equal((await compareWithLog()).balance, 25_000_000n);
  });

  it("P6 an attester that says nothing for a while blocks the tree and nothing after it", async () => {
    const waiting: Signed[] = [];
    for (let i = 0; i < 3; i++) waiting.push(await field.deposit(keys, 1_000_000n));
    const transactions = await Promise.all(waiting.map((signed) => field.transaction(signed)));
    assert.deepEqual((await field.execute(transactions, NO_UPDATE)).members, [
      "executed",
      "executed",
      "executed",
    ]);
    assert.equal(
      (await field.execute([], await field.attestRoot(await field.rootRequest()))).update,
      "taken",
    );
    const restored = await compareWithLog();
    assert.equal(restored.balance, 28_000_000n);
    assert.equal(restored.state.latestRoot?.leafCount, restored.state.tree.leafCount);
  });
});
