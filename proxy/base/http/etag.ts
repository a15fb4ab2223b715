/** Entity tags and the condition that names them. */
import { createHash } from "node:crypto";

/** Strong: over every byte of the answer, or of what decides it. */
export function etagOver(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return `"${hash.digest("base64url").slice(0, 27)}"`;
}

/**
 * RFC 9110, section 13.1.2. Not Koa's `fresh`, which ignores the condition beside `Cache-Control: no-cache`;
 * fetch adds that by itself to every request with a condition, and we are the origin, so the tag is fresh.
 */
export function namesEtag(condition: string, etag: string): boolean {
  if (condition === "") return false;
  return condition.split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag);
}
