/** GET /merkle/root and /merkle/tree: parse, ask, answer in JSON or packed bytes. */
import Router from "@koa/router";
import { MAX_PAGE_NODES, merkleTreeQuery, type MerkleRoot, type MerkleTree } from "../../shared/api/data.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import { ApiError } from "../http/errors.ts";
import { etagOver, namesEtag } from "../http/etag.ts";
import { parse } from "../http/parse.ts";
import type { RequestState } from "../http/state.ts";
import type { Merkle, TreePage } from "./merkle.service.ts";
import { NODE_BYTES } from "./tree.ts";

const JSON_TYPE = "application/json";
const PACKED_TYPE = "application/octet-stream";

export function merkleRoutes(merkle: Merkle): Router<RequestState> {
  const router = new Router<RequestState>();

  router.get("/merkle/root", (ctx) => {
    const view = merkle.root();
    ctx.set("Cache-Control", "no-cache");
    ctx.body = {
      root: toHex(word(view.root)),
      leaf_count: view.leafCount,
      depth: view.depth,
      arity: view.arity,
      block_number: view.block.number,
      block_hash: view.block.hash,
      pending: view.pending,
    } satisfies MerkleRoot;
  });

  router.get("/merkle/tree", (ctx) => {
    const { level = 0, from = 0, limit = MAX_PAGE_NODES } = parse(merkleTreeQuery, ctx.query, "query");
    const type = ctx.accepts(JSON_TYPE, PACKED_TYPE);
    if (type === false)
      throw new ApiError("NOT_ACCEPTABLE", `one of ${JSON_TYPE} and ${PACKED_TYPE} is served here`);
    const page = merkle.page(level, from, limit);
    ctx.status = 200;
    ctx.vary("Accept");
    ctx.set("Cache-Control", page.isImmutable ? "private, max-age=31536000, immutable" : "no-cache");
    const etag = etagOf(page, type);
    ctx.set("ETag", etag);
    if (namesEtag(ctx.get("If-None-Match"), etag)) {
      ctx.status = 304;
      return;
    }
    ctx.type = type;
    ctx.body = type === PACKED_TYPE ? Buffer.from(page.nodes) : toJson(page);
  });

  return router;
}

/** Over every byte of the answer. */
function etagOf(page: TreePage, type: string): string {
  const about = [type, page.root, page.leafCount, page.level, page.from, page.next ?? ""].join();
  return etagOver(about, page.nodes);
}

function toJson(page: TreePage): MerkleTree {
  const nodes = Array.from({ length: page.nodes.length / NODE_BYTES }, (_, i) =>
    toHex(page.nodes.subarray(i * NODE_BYTES, (i + 1) * NODE_BYTES)),
  );
  return {
    root: toHex(word(page.root)),
    leaf_count: page.leafCount,
    level: page.level,
    from: page.from,
    nodes,
    next: page.next ?? null,
  };
}
