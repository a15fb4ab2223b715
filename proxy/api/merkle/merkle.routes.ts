/** GET /merkle/root and /merkle/tree: parse, ask, answer in JSON or packed bytes. */
import {
  MAX_PAGE_NODES,
  merkleTreeQuery,
  type MerkleRoot,
  type MerkleTree,
} from "../../../shared/api/data.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import { ApiError } from "../../base/http/errors.ts";
import { etagOver, isKnown } from "../../base/http/etag.ts";
import { parse } from "../../base/http/parse.ts";
import type { Handler, Handlers } from "../../base/http/routes.ts";
import type { Merkle, RootView, TreePage } from "./merkle.service.ts";
import { PageCache, type CachedPage } from "./page-cache.ts";
import { NODE_BYTES } from "../../../shared/notes/merkle.ts";

const JSON_TYPE = "application/json";
const PACKED_TYPE = "application/octet-stream";
/** A tree of 2^20 leaves and all levels above it in packed form is 43 MiB. */
const CACHE_BYTES = 64 << 20;

export function merkleRoutes(merkle: Merkle): Handlers<"merkleRoot" | "merkleTree"> {
  const cache = new PageCache(CACHE_BYTES);
  let rootAnswer: { readonly of: RootView; readonly text: string; readonly etag: string } | undefined;

  return {
    merkleRoot(ctx) {
      const view = merkle.root();
      // Asked for by everybody all the time, and the same until the next block.
      if (rootAnswer?.of !== view)
        rootAnswer = { of: view, text: rootText(view), etag: `"${view.block.hash}"` };
      ctx.res.setHeader("Cache-Control", "no-cache");
      answer(ctx, JSON_TYPE, rootAnswer.text, rootAnswer.etag);
    },

    merkleTree(ctx) {
      const { level = 0, from = 0, limit = MAX_PAGE_NODES } = parse(merkleTreeQuery, ctx.query, "query");
      const type = ctx.accepts(JSON_TYPE, PACKED_TYPE);
      if (type === false)
        throw new ApiError("NOT_ACCEPTABLE", `one of ${JSON_TYPE} and ${PACKED_TYPE} is served here`);
      const page = merkle.page(level, from, limit);
      const isPacked = type === PACKED_TYPE;
      const { body, etag } = isPacked ? packed(page) : json(page);
      ctx.vary("Accept");
      // Not even a full page of final leaves is permanent: a refutation empties leaves, however old they are.
      ctx.set("Cache-Control", "no-cache");
      answer(ctx, type, body, etag);
    },
  };

  function packed(page: TreePage): CachedPage {
    return cache.get(`packed ${page.id}`, () => answerOf(Buffer.from(page.nodes()), 1));
  }

  function json(page: TreePage): CachedPage {
    const { root, leafCount, id } = page;
    return cache.get(`json ${toHex(word(root))} ${String(leafCount)} ${id}`, () => {
      const nodes = cache.get(`nodes ${id}`, () => answerOf(nodesText(page), 1));
      return answerOf(toJson(page, nodes.body), 2);
    });
  }
}

/** Without its body where the caller has it already. */
function answer(ctx: Parameters<Handler>[0], type: string, body: string | Buffer, etag: string): void {
  if (isKnown(ctx, etag)) return;
  // By its whole name: Koa would look that up for each answer.
  ctx.res.setHeader("Content-Type", type === JSON_TYPE ? `${type}; charset=utf-8` : type);
  ctx.body = body;
}

function rootText(view: RootView): string {
  return JSON.stringify({
    root: toHex(word(view.root)),
    leaf_count: view.leafCount,
    depth: view.depth,
    arity: view.arity,
    block_number: view.block.number,
    block_hash: view.block.hash,
    pending: view.pending,
  } satisfies MerkleRoot);
}

/** `times` says how often the body may come to be in memory: JSON is kept compressed too. */
function answerOf(body: Buffer, times: number): CachedPage {
  return { body, etag: etagOver(body), bytes: times * body.length };
}

/** `nodes` of the page as JSON text. Of one page under many roots, it is made once. */
function nodesText(page: TreePage): Buffer {
  const hex = Buffer.from(page.nodes()).toString("hex");
  const digits = 2 * NODE_BYTES;
  const nodes = Array.from({ length: hex.length / digits }, (_, i) =>
    hex.slice(i * digits, (i + 1) * digits),
  );
  return Buffer.from(nodes.length === 0 ? "[]" : `["0x${nodes.join('","0x')}"]`, "latin1");
}

function toJson({ root, leafCount, level, from, next }: TreePage, nodes: Buffer): Buffer {
  const about = { root: toHex(word(root)), leaf_count: leafCount, level, from, next: next ?? null };
  about satisfies Omit<MerkleTree, "nodes">;
  return Buffer.concat([
    Buffer.from(`${JSON.stringify(about).slice(0, -1)},"nodes":`),
    nodes,
    Buffer.from("}"),
  ]);
}
