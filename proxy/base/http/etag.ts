/** Entity tags and the conditions that name them. */
import { createHash } from "node:crypto";
import type { Context } from "koa";
import { ApiError } from "./errors.ts";

/** Strong: over every byte of the answer, or of what decides it. */
export function etagOver(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return `"${hash.digest("base64url").slice(0, 27)}"`;
}

/**
 * Names the answer and sets its status. True when the caller has it already. Throws where `If-Match` names another one. Not
 * Koa's `fresh`, which ignores the condition beside `Cache-Control: no-cache`; fetch adds that by itself to every request with
 * a condition, and we are the origin, so the tag is fresh.
 */
export function isKnown(ctx: Pick<Context, "req" | "res" | "status">, etag: string): boolean {
  ctx.res.setHeader("ETag", etag);
  const { "if-match": wanted, "if-none-match": had } = ctx.req.headers;
  // RFC 9110, section 13.1.1: a weak tag never matches there.
  if (wanted !== undefined && !tagsOf(wanted).some((tag) => tag === "*" || tag === etag))
    throw new ApiError("PRECONDITION_FAILED", "If-Match names another answer than there is now");
  const known =
    had !== undefined && tagsOf(had).some((tag) => tag === "*" || tag.replace(/^W\//, "") === etag);
  ctx.status = known ? 304 : 200;
  return known;
}

const tagsOf = (condition: string): string[] => condition.split(",").map((tag) => tag.trim());
