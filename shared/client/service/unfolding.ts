/** Leaves that a wallet has folded, read again from the service and held against the node that it kept. */
import { NODE_BYTES, SUBTREE_LEAVES, type NoteTree } from "../../notes/merkle.ts";
import type { Client } from "./client.ts";
import { ClientError } from "../base/errors.ts";
import type { CallOptions } from "./http.ts";

/**
 * Reads all leaves of the pool, 32 bytes each, whichever is wanted: what is asked for must not depend on it. Throws
 * TREE_INCONSISTENT where the service's leaves do not give the node.
 */
export async function unfoldSubtree(
  client: Pick<Client, "treeLevel">,
  tree: NoteTree,
  place: number,
  options: CallOptions = {},
): Promise<void> {
  const leaves = new Uint8Array(SUBTREE_LEAVES * NODE_BYTES);
  const at = place * leaves.length;
  for await (const page of client.treeLevel({ level: 0, leafCount: tree.leafCount }, options)) {
    const from = page.from * NODE_BYTES;
    const part = page.nodes.subarray(Math.max(0, at - from), Math.max(0, at + leaves.length - from));
    leaves.set(part, Math.max(0, from - at) % leaves.length);
  }
  if (!tree.unfold(place, leaves)) throw new ClientError("TREE_INCONSISTENT");
}
