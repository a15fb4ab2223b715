/** Headers of every answer, errors included: its API version, and what keeps a browser from misusing it. */
import type { Middleware } from "koa";
import { API_VERSION } from "../../../shared/api/endpoints.ts";
import { ApiError } from "./errors.ts";

const HEADERS = Object.entries({
  "API-Version": API_VERSION,
  // Answers are private to their caller; a route that may be cached says so itself.
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  // Compression and CORS look at them; said of every answer, so that a cache need not know which were compressed.
  Vary: "Origin, Accept-Encoding",
  "X-Content-Type-Options": "nosniff",
});

export function responseHeaders(): Middleware {
  return (ctx, next) => {
    for (const [name, value] of HEADERS) ctx.res.setHeader(name, value);
    return next();
  };
}

/** A client may say which version it was written for. */
export function apiVersion(): Middleware {
  return (ctx, next) => {
    const asked = ctx.get("API-Version");
    if (asked !== "" && asked !== API_VERSION) {
      throw new ApiError("UNSUPPORTED_VERSION", `This service speaks version ${API_VERSION}`);
    }
    return next();
  };
}
