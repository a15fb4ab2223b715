/**
 * Whole subtrees beside the leaves that they are made of, each with a checksum: a start believes their inner nodes, and the
 * pool's root vouches only for what is hashed again.
 */
import { createHash } from "node:crypto";
import { equalBytes } from "../../../../shared/protocol/bytes.ts";
import { SUBTREE_LEAVES } from "../../../../shared/notes/merkle.ts";
import type { Subtree } from "../chain-data.ts";
import type { Database } from "./database.ts";

const CHECKSUM_BYTES = 32;

export function openSubtrees(table: ReturnType<Database["table"]>) {
  return {
    find: (place: number): Uint8Array | undefined => {
      const row = table.get(["subtree", place]);
      if (!(row instanceof Uint8Array) || row.length <= CHECKSUM_BYTES) return undefined;
      const nodes = row.subarray(CHECKSUM_BYTES);
      return equalBytes(row.subarray(0, CHECKSUM_BYTES), checksumOf(place, nodes)) ? nodes : undefined;
    },
    /** Within a transaction, as the next one. */
    write: ({ place, nodes }: Subtree): void => {
      table.putSync(["subtree", place], Buffer.concat([checksumOf(place, nodes), nodes]));
    },
    forgetOver: (leaf: number): void => {
      table.removeSync(["subtree", Math.floor(leaf / SUBTREE_LEAVES)]);
    },
  };
}

/** Over its place too: one subtree in another's row is damage. */
function checksumOf(place: number, nodes: Uint8Array): Uint8Array {
  return createHash("sha256")
    .update(`${String(place)} `)
    .update(nodes)
    .digest();
}
