/**
 * Recomputes both ends of a root update and signs them. Nothing here knows the chain: a frontier, index or
 * head that is not the pool's gives an old root, index or head that the pool does not have, and no effect.
 */
import { rootUpdateDigest } from "../shared/protocol/attestation.ts";
import { asField, type Field } from "../shared/protocol/brands.ts";
import { refused, type AttestRootRequest, type EnclaveReply } from "../shared/protocol/enclave-messages.ts";
import { Frontier, MAX_UPDATE_LEAVES, nextHead } from "../shared/protocol/tree.ts";
import type { Signer } from "./signer.ts";

export function attestRoot(signer: Signer, request: AttestRootRequest): EnclaveReply {
  const { chainId, pool, fromIndex, headBefore } = request;

  // A node at or above r is a second spelling of another one, with the same root.
  const nodes = allFields(request.frontier);
  const tree = nodes === undefined ? undefined : Frontier.from(fromIndex, nodes);
  if (tree === undefined) return refused("FRONTIER_INVALID");

  // Zero is the empty leaf: appending it would move the index and leave the root as it was.
  const leaves = allFields(request.leaves);
  if (
    leaves === undefined ||
    leaves.length === 0 ||
    leaves.length > MAX_UPDATE_LEAVES ||
    leaves.includes(ZERO)
  ) {
    return refused("LEAVES_INVALID");
  }

  const oldRoot = tree.root();
  let headAfter = headBefore;
  for (const leaf of leaves) {
    if (!tree.append(leaf)) return refused("LEAVES_INVALID");
    headAfter = nextHead(headAfter, leaf);
  }
  const newRoot = tree.root();
  const toIndex = tree.leafCount;

  const update = { oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter };
  const signature = signer.sign(rootUpdateDigest({ chainId, pool }, update));
  return { type: "attest-root", oldRoot, newRoot, toIndex, headAfter, signature };
}

const ZERO = 0n as Field;

function allFields(values: readonly bigint[]): Field[] | undefined {
  const fields = values.map(asField).filter((field) => field !== undefined);
  return fields.length === values.length ? fields : undefined;
}
