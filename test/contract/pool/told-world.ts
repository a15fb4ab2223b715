// Statements of the test vectors, with their real proofs, for a pool that stands where theirs does: each attested by keys
// of ours, or proved, or bent. And the tree over the queue, for whoever goes on without a signer.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import type { Draft, Sealed } from "../../support/drafts.ts";
import {
  attested,
  NO_UPDATE,
  type Attester,
  type PoolRootUpdate,
} from "../../../scripts/stack/pool-transaction.ts";
import { mustField, ZERO_BYTES32, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { readSignals } from "../../../shared/protocol/host/statements.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { type Frontier, nextHead } from "../../../shared/protocol/tree.ts";
import { STORY, statementCalled, type StatementStep } from "../vectors/story.ts";
import { mustAddress, World, type Fault, type WorldOptions } from "./world.ts";

export const DAY = 86_400;

/** Money for its depositor, a venue with something to give, and a short `provedDelay` unless another is asked for. */
export async function startTold(options: WorldOptions = {}): Promise<World> {
  const world = await World.start({
    ...{ asTold: true, moreAssets: ["TestUSDC", "TestUSDC"], executor: "FixedExecutor" },
    ...{ changeDelay: 4 * DAY, provedDelay: 2 * DAY },
    ...options,
  });
  assert.equal(world.setting.home.pool, mustAddress(STORY.pool));
  await world.call(world.usdc, "mint", mustAddress(depositorName()), 10n ** 12n);
  return world;
}

function depositorName(): string {
  return String(statementCalled("a deposit").ext["depositor"]);
}

/** A statement as it is told, attested by ours. */
export function told(world: World, name: string, attesters = world.setting.attesters): Sealed {
  return attestedStep(world, statementCalled(name), attesters);
}

function attestedStep(world: World, step: StatementStep, attesters: readonly Attester[]): Sealed {
  const signals = step.signals.map(BigInt);
  const facts = readSignals(step.kind, signals);
  assert.ok(typeof facts === "object");
  const draft: Draft = {
    home: world.setting.home,
    kind: step.kind,
    deadline: BigInt(step.deadline),
    root: facts.root ?? 0n,
    ...{
      asset: facts.asset,
      amount: facts.amount,
      nullifiers: facts.nullifiers,
      commitments: facts.commitments,
    },
    ext: mustFromHex(step.extBytes),
    proof: mustFromHex(step.compressedProof),
    authorization: mustFromHex(step.authorization),
    verifyingKeyHash: world.setting.verifyingKeyHashes[step.kind],
    attesters,
  };
  const transaction = {
    ...{ kind: step.kindId, deadline: draft.deadline, signals, ext: step.extBytes },
    ...{ proof: step.compressedProof, authorization: step.authorization },
  };
  return {
    draft,
    statementHash: step.statementHash,
    transaction: attested(draft.home, draft.verifyingKeyHash, transaction, attesters),
  };
}

/** The same with the uncompressed proof, and nobody's word. */
export function proved(world: World, name: string, changes: Partial<Sealed["transaction"]> = {}): Sealed {
  const member = told(world, name);
  const { proof } = statementCalled(name);
  return { ...member, transaction: { ...member.transaction, proof, attestations: "0x", ...changes } };
}

/** Attested with the proof of another statement: its points are valid, and it does not show this statement. */
export function lie(world: World, name: string, of: string, attesters?: readonly Attester[]): Sealed {
  const step = { ...statementCalled(name), compressedProof: statementCalled(of).compressedProof };
  return attestedStep(world, step, attesters ?? world.setting.attesters);
}

/** Its eight words, in the order of EIP-197. */
export function wordsOf(name: string): bigint[] {
  const { proof } = statementCalled(name);
  return Array.from({ length: 8 }, (_, i) => BigInt(`0x${proof.slice(2 + 64 * i, 66 + 64 * i)}`));
}

/** What happened before that statement could be made: as attested, each root the true one. */
export async function tellUntil(
  world: World,
  name: string,
  attesters = world.setting.attesters,
): Promise<void> {
  const { root } = told(world, name).draft;
  for (const step of STORY.steps) {
    if (world.rooted.root === root) return;
    if (step.step === "statement") {
      if (step.hashed !== undefined) await payOut(world, BigInt(step.hashed.value));
      const first = await outcome(world, attestedStep(world, step, attesters));
      assert.equal(first, BigInt(step.firstLeafIndex), step.name);
    } else {
      assert.equal(typeof (await world.execute([], trueUpdate(world, attesters))).update, "bigint");
      assert.equal(String(world.rooted.root), step.attestation.message["newRoot"]);
    }
  }
  assert.equal(world.rooted.root, root);
}

/** What the venue gives from now on. */
export async function payOut(world: World, amount: bigint): Promise<void> {
  const fixed = new Contract(world.executor!, (await loadArtifact("FixedExecutor")).abi, world.owner);
  await world.call(fixed, "setPayout", amount);
  const other = new Contract(STORY.assets.other, world.usdc.interface, world.owner);
  await world.call(other, "mint", world.executor, amount);
}

/** Each member's outcome; with gas for all of them, so that nothing is estimated. */
export async function outcomes(world: World, ...members: Sealed[]): Promise<(bigint | Fault)[]> {
  return [...(await world.execute(members, NO_UPDATE, { gasLimit: GAS })).members];
}

export async function outcome(world: World, member: Sealed): Promise<bigint | Fault> {
  const [only] = await outcomes(world, member);
  assert.ok(only !== undefined);
  return only;
}

/** Below EIP-7825's limit for one transaction. */
export const GAS = 16_000_000n;

/** The next block has that time. */
export function nextBlockAt(world: World, unixSecs: bigint | number): Promise<unknown> {
  return world.provider.send("evm_setNextBlockTimestamp", [Number(unixSecs)]);
}

/** The next block comes a day later: what moves in it fixes the caps anew, and no bucket has anything in it. */
export async function nextBlockTomorrow(world: World): Promise<void> {
  await nextBlockAt(world, (await now(world)) + DAY);
}

export async function now(world: World): Promise<number> {
  return (await world.provider.getBlock("latest"))!.timestamp;
}

// ---------------------------------------------------------------- the tree

/** Over the first so many leaves of the queue, void ones empty. */
export function frontierOf(world: World, count: bigint, voided: ReadonlySet<number> = new Set()): Frontier {
  const frontier = emptyFrontier();
  for (const [i, leaf] of world.leaves.slice(0, Number(count)).entries()) {
    assert.ok(frontier.append(voided.has(i) ? (0n as Field) : mustField(leaf)));
  }
  return frontier;
}

/** Over everything that waits, with the root that it has. */
export function trueUpdate(world: World, attesters = world.setting.attesters): PoolRootUpdate {
  const newRoot = frontierOf(world, world.queue.count).root();
  return world.updateTo(world.queue, { newRoot }, attesters);
}

/** The head over the first so many leaves. */
export function headAt(world: World, count: bigint): Bytes32 {
  return world.leaves.slice(0, Number(count)).reduce((head, leaf) => nextHead(head, leaf), ZERO_BYTES32);
}
