/** GET /health, /info, /whoami and /openapi.json. */
import { infoQuery } from "../../../shared/api/service.ts";
import { fromHex } from "../../../shared/protocol/host/text.ts";
import { etagOver, isKnown } from "../../base/http/etag.ts";
import { isServing } from "../../base/http/operations.ts";
import { invalidField, parse } from "../../base/http/parse.ts";
import type { Handlers } from "../../base/http/routes.ts";
import type { Status } from "./status.service.ts";

export function statusRoutes(
  status: Status,
  openApiDocument: () => unknown,
): Handlers<"health" | "info" | "whoami" | "openapi"> {
  // The same for as long as this process runs; as bytes, so that compression, too, is done once.
  let document: { readonly bytes: Buffer; readonly etag: string } | undefined;

  return {
    async health(ctx) {
      const health = await status.health();
      ctx.status = isServing(health) ? 200 : 503;
      ctx.body = health;
    },

    async info(ctx) {
      const { nonce } = parse(infoQuery, ctx.query, "query");
      ctx.body = await status.info(nonce === undefined ? undefined : readNonce(nonce));
    },

    async whoami(ctx) {
      ctx.body = await status.whoami(ctx.state.principal, ctx.state.limitOverrides);
    },

    openapi(ctx) {
      if (document === undefined) {
        const bytes = Buffer.from(JSON.stringify(openApiDocument()));
        document = { bytes, etag: etagOver(bytes) };
      }
      ctx.set("Cache-Control", "no-cache");
      if (isKnown(ctx, document.etag)) return;
      ctx.type = "application/json";
      ctx.body = document.bytes;
    },
  };
}

function readNonce(text: string): Uint8Array {
  const bytes = fromHex(text.startsWith("0x") ? text : `0x${text}`);
  if (bytes === undefined) throw invalidField("nonce", "not hex");
  return bytes;
}
