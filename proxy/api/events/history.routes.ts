/** GET /history and /history/chunks: parse, ask, answer. */
import { historyChunksQuery, type History } from "../../../shared/api/data.ts";
import { ApiError } from "../../base/http/errors.ts";
import { etagOver, isKnown } from "../../base/http/etag.ts";
import { parse } from "../../base/http/parse.ts";
import type { Handlers } from "../../base/http/routes.ts";
import type { HistoryChunks, HistoryList } from "./history.ts";
import { idOf } from "./position.ts";

const JSON_TYPE = "application/json";
const PACKED_TYPE = "application/octet-stream";
const FOR_EVER = "public, max-age=31536000, immutable";

export function historyRoutes(
  chunks: Pick<HistoryChunks, "list" | "page">,
): Handlers<"history" | "historyChunks"> {
  let listed: { readonly of: HistoryList; readonly body: Buffer; readonly etag: string } | undefined;

  return {
    history(ctx) {
      const of = chunks.list();
      // Asked for by every wallet that begins, and the same until the next block.
      if (listed?.of !== of) {
        const body = Buffer.from(JSON.stringify(shown(of)));
        listed = { of, body, etag: etagOver(body) };
      }
      const { body, etag } = listed;
      ctx.set("Cache-Control", "no-cache");
      if (isKnown(ctx, etag)) return;
      ctx.type = JSON_TYPE;
      ctx.body = body;
    },

    async historyChunks(ctx) {
      const { from, limit, last } = parse(historyChunksQuery, ctx.query, "query");
      if (ctx.accepts(PACKED_TYPE) === false)
        throw new ApiError("NOT_ACCEPTABLE", `${PACKED_TYPE} is served here`);
      // The address says what the answer is, so the tag need not be made of the bytes.
      const etag = etagOver(`${String(from)} ${String(limit)} ${last}`);
      const body = await chunks.page(from, limit, last);
      ctx.set("Cache-Control", FOR_EVER);
      if (isKnown(ctx, etag)) return;
      ctx.type = PACKED_TYPE;
      ctx.body = body;
    },
  };
}

function shown({ outputsPerChunk, entries, voids }: HistoryList): History {
  const end = entries.at(-1)?.end;
  return {
    outputs_per_chunk: outputsPerChunk,
    chunks: entries.map(({ checksum, bytes }) => ({ sha256: checksum, bytes })),
    outputs: entries.length * outputsPerChunk,
    block_number: end?.position.block ?? null,
    last_event_id: end === undefined ? null : idOf(end),
    voids: voids.map(({ firstLeafIndex, leafCount }) => ({
      first_leaf_index: firstLeafIndex,
      count: leafCount,
    })),
  };
}
