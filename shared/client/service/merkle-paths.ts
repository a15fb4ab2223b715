/**
 * Paths of known leaves without the history that a wallet reads: from whole levels of the tree, so that the service
 * does not learn whose leaf is which. Every path is climbed to the service's root, and the root is confirmed
 * by somebody else; a false one could not steal, it would only make a proof that the pool refuses.
 */
import { asField, type Field } from "../../protocol/brands.ts";
import { bytesToUint } from "../../protocol/bytes.ts";
import { TREE_ARITY, TREE_CAPACITY, TREE_DEPTH } from "../../protocol/tree.ts";
import { climb, NODE_BYTES, treePath, type CompleteNodes } from "../../notes/merkle.ts";
import { orAborted } from "../base/aborting.ts";
import type { Client } from "./client.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import type { CallOptions } from "./http.ts";
import { confirms, type RootVerifier } from "./root-verifier.ts";
import type { TreeLevel } from "./tree-level.ts";

/** A leaf of one's own: `noteCommitment` of its note. */
export interface KnownLeaf {
  readonly leafIndex: number;
  readonly commitment: Field;
}

export interface MerklePaths {
  readonly root: Field;
  readonly leafCount: number;
  /** In the order of the leaves, each the `path` of a `SpendInput`. */
  readonly paths: readonly (readonly (readonly Field[])[])[];
}

export interface MerklePathsOptions extends CallOptions, Pick<TreeLevel, "pageNodes"> {
  /** `poolRootVerifier` asks a chain node; "unverified" takes the service's word. */
  readonly verifyRoot: RootVerifier | "unverified";
}

/**
 * Reads 43 bytes for each leaf of the pool and holds one page at a time. Throws NOTE_UNKNOWN for a leaf that is not
 * there or under no root yet, ROOT_UNVERIFIED, and TREE_INCONSISTENT when two readings gave no path: a reorganisation
 * may spoil the first. A service can make the tree seem large and the reading long; the signal ends it.
 */
export async function merklePaths(
  client: Pick<Client, "merkleRoot" | "treeLevel">,
  leaves: readonly KnownLeaf[],
  options: MerklePathsOptions,
): Promise<MerklePaths> {
  try {
    return await readPaths(client, leaves, options);
  } catch (error) {
    if (!hasCode(error, "TREE_INCONSISTENT")) throw error;
    return readPaths(client, leaves, options);
  }
}

async function readPaths(
  client: Pick<Client, "merkleRoot" | "treeLevel">,
  leaves: readonly KnownLeaf[],
  { verifyRoot, pageNodes, signal }: MerklePathsOptions,
): Promise<MerklePaths> {
  const { root, leafCount } = await newestRoot(client, { signal });
  if (verifyRoot !== "unverified" && !(await orAborted(confirms(verifyRoot, root), signal)))
    throw new ClientError("ROOT_UNVERIFIED");
  for (const { leafIndex } of leaves)
    if (!Number.isSafeInteger(leafIndex) || leafIndex < 0 || leafIndex >= leafCount)
      throw new ClientError("NOTE_UNKNOWN", "no root covers that leaf yet");

  const kept = nodesNeeded(leaves, leafCount);
  // All of every level, whatever is needed of it: what is asked for must not depend on the leaves.
  for (const [level, nodes] of kept.entries()) {
    const wanted = { level, leafCount, ...(pageNodes === undefined ? {} : { pageNodes }) };
    for await (const page of client.treeLevel(wanted, { signal })) keep(nodes, page);
  }
  const node: CompleteNodes = (level, place) => kept[level]!.get(place)!;
  const paths = leaves.map(({ leafIndex, commitment }) => {
    const path = treePath(leafIndex, leafCount, node);
    if (climb(commitment, leafIndex, path) === root) return path;
    // The tree is as the service says, and has another leaf there.
    if (climb(node(0, leafIndex), leafIndex, path) === root) throw new ClientError("NOTE_UNKNOWN");
    throw new ClientError("TREE_INCONSISTENT");
  });
  return { root, leafCount, paths };
}

async function newestRoot(
  client: Pick<Client, "merkleRoot">,
  options: CallOptions,
): Promise<{ root: Field; leafCount: number }> {
  const { root: text, leaf_count: leafCount, depth, arity } = await client.merkleRoot(options);
  const root = asField(BigInt(text));
  if (depth !== TREE_DEPTH || arity !== TREE_ARITY || root === undefined || leafCount >= TREE_CAPACITY)
    throw new ClientError("UNEXPECTED_ANSWER", "not the root of a tree of this pool's form");
  return { root, leafCount };
}

/** By level, the places of all nodes that the paths are made of. Found by walking the paths in a tree of zeros. */
function nodesNeeded(leaves: readonly KnownLeaf[], leafCount: number): Map<number, Field>[] {
  const needed = Array.from({ length: TREE_DEPTH }, () => new Map<number, Field>());
  const ask: CompleteNodes = (level, place) => {
    needed[level]!.set(place, 0n as Field);
    return 0n as Field;
  };
  for (const { leafIndex } of leaves) {
    ask(0, leafIndex);
    treePath(leafIndex, leafCount, ask);
  }
  return needed;
}

function keep(needed: Map<number, Field>, { from, nodes }: { from: number; nodes: Uint8Array }): void {
  for (const place of needed.keys()) {
    const at = (place - from) * NODE_BYTES;
    if (at < 0 || at >= nodes.length) continue;
    const node = asField(bytesToUint(nodes.subarray(at, at + NODE_BYTES)));
    if (node === undefined) throw new ClientError("UNEXPECTED_ANSWER", "a node is no field element");
    needed.set(place, node);
  }
}
