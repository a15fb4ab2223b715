/** Gzip for JSON of some size. Answers that hold a credential are left alone: their length would tell about it (BREACH). */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Middleware } from "koa";

const compress = promisify(gzip);
const WITH_CREDENTIAL: ReadonlySet<string> = new Set(["/session", "/session/exchange"]);
const LEAST_BYTES = 1_024;
/** Fast: a full page of the tree is 4 MB of hex, whose entropy halves it at any level. */
const LEVEL = 1;
/** A strong ETag names bytes, and compressed bytes are others. */
const SUFFIX = "-gzip";
/** Of bodies that a route keeps and sends again: compressed once, and forgotten with the body. */
const kept = new WeakMap<Buffer, Promise<Buffer>>();

export function compression(): Middleware {
  return async (ctx, next) => {
    // Routes compare with the tag that they gave, so ours is taken off first.
    const condition = ctx.get("If-None-Match");
    if (condition.includes(`${SUFFIX}"`)) {
      ctx.req.headers["if-none-match"] = condition.replaceAll(`${SUFFIX}"`, '"');
    }
    await next();
    const body: unknown = ctx.body;
    if (WITH_CREDENTIAL.has(ctx.path)) return;
    const isJson = typeof ctx.type === "string" && /[/+]json$/.test(ctx.type);
    const isPlain =
      typeof body === "string" || (typeof body === "object" && body !== null && !("pipe" in body));
    const isEmpty = ctx.status === 204 || ctx.status === 304;
    if (!isJson && !isEmpty) return;
    ctx.vary("Accept-Encoding");
    if (ctx.acceptsEncodings("gzip", "identity") !== "gzip") return;
    if (ctx.status === 304) {
      tag();
      return;
    }
    if (!isPlain) return;
    const plain = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    if (plain.length < LEAST_BYTES) return;
    const { type } = ctx;
    // HEAD too: its length has to be that of the answer to GET (RFC 9110, section 8.6).
    ctx.body = await (Buffer.isBuffer(plain) ? compressKept(plain) : compress(plain, { level: LEVEL }));
    ctx.type = type;
    ctx.set("Content-Encoding", "gzip");
    tag();

    function tag(): void {
      // Koa's types promise a text here; without the header there is none.
      const etag = ctx.response.get("ETag") as string | undefined;
      if (etag?.startsWith('"') === true) ctx.set("ETag", `${etag.slice(0, -1)}${SUFFIX}"`);
    }
  };
}

function compressKept(body: Buffer): Promise<Buffer> {
  const known = kept.get(body);
  if (known !== undefined) return known;
  const made = compress(body, { level: LEVEL });
  kept.set(body, made);
  return made;
}
