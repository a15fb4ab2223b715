// Refutes statements that the test's signer attested without verifying their proof, and calls `advance`, on a real pool.
import { Contract } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { attestationDigest } from "../../shared/protocol/attestation.ts";
import type { Field } from "../../shared/protocol/brands.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { compressProof, proofHashOf } from "../../shared/protocol/proof.ts";
import { KINDS } from "../../shared/protocol/statements.ts";
import { signAll, type Attester } from "../../scripts/stack/pool-transaction.ts";
import { NO_PROOF, type MadeStatement, type Money } from "./money.ts";

export function poolOf(on: Money): Contract {
  return new Contract(on.pool.address, POOL_ABI, on.owner);
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

/** By as many leaves as wait, as the index knows them. */
export async function advance(on: Money): Promise<void> {
  const { leafCount: from } = on.data.currentRoot()!;
  const leaves = on.data.leaves(from, on.data.leafCount()).map(({ commitment }) => commitment);
  const frontier = on.indexer.tree.frontier(from);
  const sent = (await poolOf(on).getFunction("advance")(
    frontier,
    leaves.length,
    on.data.headAt(from),
    leaves,
    // A node guesses too low where most of the gas goes through calls.
    { gasLimit: 10_000_000n },
  )) as { wait(): Promise<unknown> };
  await sent.wait();
}
