import assert from "node:assert/strict";
import { CallsInFlight, type CallEffect } from "../../../../../proxy/api/sequencer/calls-in-flight.ts";
import { planRootUpdate } from "../../../../../proxy/api/sequencer/root-update.ts";
import type { Outgoing } from "../../../../../proxy/base/store/tickets.ts";
import { mustField, type Bytes32, type Field } from "../../../../../shared/protocol/brands.ts";
import { batchOf, queueOf } from "./queue-of.ts";

const SIZE = 4;
const hash = (nonce: number, attempt = 0): Bytes32 =>
  `0x${attempt.toString(16)}${nonce.toString(16).padStart(63, "0")}` as Bytes32;

function entry(nonce: number, terms: Partial<Outgoing> = {}): Outgoing {
  const attempt = { hash: hash(nonce), raw: "0x", maxFeePerGas: 3n, maxPriorityFeePerGas: 1n, signedAt: 0 };
  return {
    ...{ sender: `0x${"5e".repeat(20)}` as Outgoing["sender"], nonce, ticketIds: [], data: "0x" },
    ...{ gasLimit: 100n, attempts: [attempt], ...terms },
  };
}

/** The index after `calls` calls of so many members, `rooted` leaves of them in the tree; the rest is to come. */
function indexOf(calls: readonly number[], rooted: number) {
  const { view, tree } = queueOf(calls, SIZE, rooted);
  const executions = new Map<Bytes32, { txHash: Bytes32; block: number; leafIndexes: number[] }>();
  const roots = new Map<Field, true>([[tree.root(rooted), true]]);
  const index = {
    ...view,
    execution: (statement: Bytes32) => executions.get(statement),
    rejection: () => undefined,
    root: (root: Field) => (roots.has(root) ? { root, leafCount: rooted, sequence: 0, block: 0 } : undefined),
  };
  return { index, tree, executions };
}

/** The commitments that `queueOf` would give to the members of a call behind so many leaves. */
const membersAt = (leaves: number, members: number): Field[][] =>
  Array.from({ length: members }, (_, i) =>
    Array.from({ length: SIZE }, (_, j) => mustField(BigInt(leaves + i * SIZE + j + 1))),
  );
const sum = (calls: readonly number[]): number => calls.reduce((total, each) => total + each, 0);

describe("sequencer/calls-in-flight", () => {
  /** Sends calls of so many members behind `mined`, each with the update that is planned for it. */
  async function send(mined: readonly number[], rooted: number, calls: readonly number[]) {
    const { index, tree, executions } = indexOf(mined, rooted);
    const inFlight = new CallsInFlight(index, tree);
    const entries: Outgoing[] = [];
    const effects: CallEffect[] = [];
    let leaves = sum(mined) * SIZE;
    for (const [nonce, members] of calls.entries()) {
      const commitments = membersAt(leaves, members);
      leaves += members * SIZE;
      const ground = inFlight.ground()!;
      const update = (await planRootUpdate(ground.queue, ground.tree, commitments))?.expected;
      const effect = { statements: [hash(nonce, 7)], commitments, update };
      inFlight.sent(nonce, effect);
      effects.push(effect);
      entries.push(entry(nonce));
      inFlight.see(entries, entries);
    }
    return { inFlight, entries, effects, executions, index, tree };
  }

  for (const [mined, rooted, calls] of [
    [[], 0, [1]],
    [[2], 8, [1, 2, 3]],
    [[2, 1], 4, [1]],
    [[3], 12, [64, 64, 64]],
    [[60, 3], 240, [5, 64, 2, 64]],
    [[63], 4, [2, 2]],
    [[1, 1, 1], 0, [70, 3]],
  ] as const)
    it(`plans behind ${String(calls)} as after them, on ${String(mined)} with ${String(rooted)} leaves rooted`, async () => {
      const { inFlight, effects } = await send(mined, rooted, calls);
      const after = queueOf([...mined, ...calls], SIZE, Number(effects.at(-1)!.update!.toIndex));
      for (const batch of [[], batchOf(4), batchOf(4, 3, 4)]) {
        const ground = inFlight.ground()!;
        assert.equal(ground.isCertainOnly, false);
        assert.deepEqual(
          await planRootUpdate(ground.queue, ground.tree, batch),
          await planRootUpdate(after.view, after.tree, batch),
        );
      }
    });

  it("leaves out those that the index has met since they were looked at", async () => {
    const { inFlight, executions, index, tree, effects } = await send([2], 8, [1]);
    executions.set(effects[0]!.statements[0]!, { txHash: hash(0), block: 1, leafIndexes: [] });
    const ground = inFlight.ground()!;
    assert.deepEqual([ground.queue, ground.tree], [index, tree]);
    // Of another transaction than any of its attempts: a stranger was first, and ours is still to come.
    executions.set(effects[0]!.statements[0]!, { txHash: hash(9), block: 1, leafIndexes: [] });
    assert.notEqual(inFlight.ground()!.queue, index);
  });

  it("knows no ground behind a call of another term, or one whose leaves nobody can know", async () => {
    const { inFlight, entries } = await send([2], 8, [1]);
    inFlight.see([...entries, entry(1)], [...entries, entry(1)]);
    assert.equal(inFlight.ground(), undefined);
    inFlight.sent(1, { statements: [], commitments: undefined, update: undefined });
    assert.equal(inFlight.ground(), undefined);
    inFlight.see(entries, entries);
    assert.notEqual(inFlight.ground(), undefined);
  });

  it("assumes no update that the pool would skip: the root stays where it was", async () => {
    const { inFlight, entries, index } = await send([2], 8, [1]);
    const stale = { oldRoot: mustField(1n), newRoot: mustField(2n), fromIndex: 8n, toIndex: 12n };
    const heads = { headBefore: index.headAt(8)!, headAfter: hash(1) };
    inFlight.sent(0, {
      ...{ statements: [], commitments: membersAt(8, 1), update: { ...stale, ...heads } },
    });
    inFlight.see(entries, entries);
    assert.deepEqual(inFlight.ground()!.queue.currentRoot(), index.currentRoot());
    assert.equal(inFlight.ground()!.queue.leafCount(), 12);
  });

  it("after an update that was skipped, takes what is certain alone, until one is taken or nothing waits", async () => {
    const { index, tree } = indexOf([2], 4);
    const inFlight = new CallsInFlight(index, tree);
    const update = { oldRoot: mustField(1n), newRoot: mustField(2n), fromIndex: 4n, toIndex: 9n };
    const heads = { headBefore: hash(0), headAfter: hash(1) };
    inFlight.sent(0, { statements: [], commitments: [], update: { ...update, ...heads } });
    inFlight.see([entry(0)], [entry(0)]);
    assert.equal(inFlight.ground()!.isCertainOnly, false);
    inFlight.see([entry(0)], []);
    assert.equal(inFlight.ground()!.isCertainOnly, true);
    inFlight.sent(1, { statements: [], commitments: [], update: undefined });
    inFlight.see([entry(0), entry(1)], [entry(1)]);
    assert.equal(inFlight.ground(), undefined, "and nothing behind another one");
    const taken = { ...update, ...heads, newRoot: index.currentRoot()!.root };
    inFlight.sent(2, { statements: [], commitments: [], update: taken });
    inFlight.see([entry(2)], []);
    assert.equal(inFlight.ground()!.isCertainOnly, false);
  });

  it("owes what each may cost at most", () => {
    const { index, tree } = indexOf([], 0);
    const inFlight = new CallsInFlight(index, tree);
    assert.equal(inFlight.owed, 0n);
    const entries = [entry(0), entry(1)];
    inFlight.see(entries, entries);
    assert.equal(inFlight.owed, 600n);
  });
});
