/**
 * One whole level of the pool's tree, page by page in packed form. Only complete nodes are read: those never change
 * while the tree grows, so pages of different moments fit together, and a reorganisation shows when they give
 * another root. The nodes are the service's word; ./merkle-paths.ts checks what it keeps of them.
 */
import { MAX_PAGE_NODES } from "../../api/data.ts";
import { ENDPOINTS } from "../../api/endpoints.ts";
import { NODE_BYTES } from "../../notes/merkle.ts";
import { TREE_ARITY, TREE_DEPTH } from "../../protocol/tree.ts";
import { ClientError } from "../base/errors.ts";
import type { CallOptions, Transport } from "./http.ts";

export interface TreeLevel {
  /** 0 is the leaves. */
  readonly level: number;
  /** How many leaves the tree in question has, as `merkleRoot` tells. */
  readonly leafCount: number;
  /** Node to begin with: after a break, the first one that is missing. Default 0. */
  readonly from?: number;
  /** Nodes in one request. Default 65,536, the most: 2 MiB, and the pages that everybody asks for, which a cache keeps. */
  readonly pageNodes?: number;
}

export interface TreePage {
  readonly level: number;
  readonly from: number;
  /** 32 bytes each, big-endian; unchecked. */
  readonly nodes: Uint8Array;
}

/** Throws TREE_INCONSISTENT where the service has fewer nodes than `leafCount` leaves make. */
export async function* readTreeLevel(
  transport: Transport,
  { level, leafCount, from = 0, pageNodes = MAX_PAGE_NODES }: TreeLevel,
  { signal }: CallOptions,
): AsyncGenerator<TreePage, void, undefined> {
  requireInteger("level", level, 0, TREE_DEPTH);
  requireInteger("leafCount", leafCount, 0, Number.MAX_SAFE_INTEGER);
  requireInteger("from", from, 0, Number.MAX_SAFE_INTEGER);
  requireInteger("pageNodes", pageNodes, 1, MAX_PAGE_NODES);
  const end = Math.floor(leafCount / TREE_ARITY ** level);
  for (let at = from; at < end; at += pageNodes) {
    const bytes = await transport.call<Uint8Array>(ENDPOINTS.merkleTree, {
      // Not less for the last page: the address is then one that others have asked for too.
      query: { level, from: at, limit: pageNodes },
      packed: { maxBytes: pageNodes * NODE_BYTES },
      signal,
    });
    if (bytes.length % NODE_BYTES !== 0) throw new ClientError("UNEXPECTED_ANSWER", "a part of a node");
    const wanted = Math.min(pageNodes, end - at) * NODE_BYTES;
    if (bytes.length < wanted) throw new ClientError("TREE_INCONSISTENT", `level ${level} ends too early`);
    // The rest has come since, or is the node at the edge, which is not complete.
    yield { level, from: at, nodes: bytes.subarray(0, wanted) };
  }
}

function requireInteger(name: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw new ClientError("OPTIONS_INVALID", `${name}: not an integer from ${least} to ${most}`);
}
