// Refutes statements and roots that the test's signer attested without verifying them, and calls `advance`, on a real pool.
import { Contract } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { StoredRoot } from "../../proxy/base/store/chain-data.ts";
import { attestationDigest, rootUpdateDigest, type RootUpdate } from "../../shared/protocol/attestation.ts";
import type { Field } from "../../shared/protocol/brands.ts";
import { makerOf, makersOf } from "../../shared/notes/advance.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { compressProof, proofHashOf } from "../../shared/protocol/proof.ts";
import { KINDS } from "../../shared/protocol/statements.ts";
import { sealUpdate, signAll, signatureBytes, type Attester } from "../../scripts/stack/pool-transaction.ts";
import { NO_PROOF, type MadeStatement, type Money } from "./money.ts";

export function poolOf(on: Money): Contract {
  return new Contract(on.pool.address, POOL_ABI, on.owner);
}

/** In the tree, and the root that it got. */
export async function deposited(on: Money): Promise<{ made: MadeStatement; root: StoredRoot }> {
  const made = await on.deposit();
  await on.reaches(await on.accept(made), "confirmed");
  return { made, root: on.rooted() };
}

/** `lastGood`, `firstBad`: the roots around the leaves that it made; anything when no root covers them. */
export async function refute(
  on: Money,
  { statement }: MadeStatement,
  signer: Attester,
  [lastGood, firstBad]: readonly [Field, Field],
): Promise<void> {
  const { kind, deadline, signals, extBytes, hash: statementHash } = statement;
  const verifyingKeyHash = await on.pool.verifyingKeyHash(kind);
  const message = { kind, verifyingKeyHash, statementHash, proofHash: proofHashOf(NO_PROOF), deadline };
  const shown = {
    ...{ kind: KINDS[kind].id, deadline, signals: [...signals], extHash: keccakHex(extBytes) },
    proof: toHex(compressProof(NO_PROOF)),
    // It decompresses to nothing, whatever the words are.
    words: Array<bigint>(8).fill(0n),
    attestations: toHex(signAll(attestationDigest(on.home, message), [signer])),
  };
  const sent = (await poolOf(on).getFunction("refuteStatement")(shown, lastGood, firstBad)) as {
    wait(): Promise<unknown>;
  };
  await sent.wait();
}

/** A root that is nobody's, over all leaves that wait; the pool takes it on the signer's word. */
export async function forgeRoot(on: Money, signer: Attester, newRoot: Field): Promise<RootUpdate> {
  const { root: oldRoot, leafCount } = on.rooted();
  const to = on.data.leafCount();
  const [headBefore, headAfter] = [on.data.headAt(leafCount)!, on.data.headAt(to)!];
  const places = { fromIndex: BigInt(leafCount), toIndex: BigInt(to) };
  const update = { oldRoot, newRoot, ...places, headBefore, headAfter };
  const signature = signatureBytes(signer.key, rootUpdateDigest(on.home, update));
  const attestations = [{ signer: signer.address, signature }];
  const data = on.pool.encodeExecute([], { ...update, attestations });
  await (await on.owner.sendTransaction({ to: on.pool.address, data, gasLimit: 3_000_000n })).wait();
  return update;
}

/** `on` knows the leaves, and still those before them as they were then. */
export async function refuteRoot(on: Money, update: RootUpdate, signer: Attester): Promise<void> {
  const [from, to] = [Number(update.fromIndex), Number(update.toIndex)];
  const leaves = on.data.leaves(from, to).map(({ commitment }) => commitment);
  const sent = (await poolOf(on).getFunction("refuteRootUpdate")(
    sealUpdate(on.home, update, [signer]),
    on.indexer.tree.frontier(from),
    leaves,
    { gasLimit: 10_000_000n },
  )) as { wait(): Promise<unknown> };
  await sent.wait();
}

/** By as many leaves as wait, as the index knows them. */
export async function advance(on: Money): Promise<void> {
  const { leafCount: from } = on.data.currentRoot()!;
  const leaves = on.data.leaves(from, on.data.leafCount()).map(({ commitment }) => commitment);
  const frontier = on.indexer.tree.frontier(from);
  const makers = makersOf(
    { from, to: on.data.leafCount() },
    (leaf) => on.data.leaf(leaf)?.isVoid === true,
    (first) => {
      const made = on.data.madeAt(first);
      return made && { leafCount: made.leafCount, maker: makerOf(made.statement, made.nullifiers) };
    },
  );
  const sent = (await poolOf(on).getFunction("advance")(
    frontier,
    leaves.length,
    on.data.headAt(from),
    leaves,
    makers,
    // A node guesses too low where most of the gas goes through calls.
    { gasLimit: 10_000_000n },
  )) as { wait(): Promise<unknown> };
  await sent.wait();
}
