/** Gzip for JSON of some size. Answers that hold a credential are left alone: their length would tell about it (BREACH). */
import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Middleware, ParameterizedContext } from "koa";

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
    const isCompressed = takeSuffix(ctx.req.headers, "if-none-match");
    takeSuffix(ctx.req.headers, "if-match");
    await next();
    if (ctx.status === 304) {
      if (isCompressed) tag(ctx);
      return;
    }
    // Most answers are short, and say so before anything else about them is asked.
    const plain = plainBody(ctx);
    if (plain === undefined || plain.length < LEAST_BYTES || WITH_CREDENTIAL.has(ctx.path)) return;
    if (!/[/+]json$/.test(ctx.type) || ctx.acceptsEncodings("gzip", "identity") !== "gzip") return;
    // HEAD too: its length has to be that of the answer to GET (RFC 9110, section 8.6).
    ctx.body = await (Buffer.isBuffer(plain) ? compressKept(plain) : compress(plain, { level: LEVEL }));
    ctx.set("Content-Encoding", "gzip");
    tag(ctx);
  };
}

/** False when no tag of that condition has it. */
function takeSuffix(headers: IncomingHttpHeaders, name: "if-match" | "if-none-match"): boolean {
  const condition = headers[name];
  if (condition?.includes(`${SUFFIX}"`) !== true) return false;
  headers[name] = condition.replaceAll(`${SUFFIX}"`, '"');
  return true;
}

function tag(ctx: ParameterizedContext): void {
  // Koa's types promise a text here; without the header there is none.
  const etag = ctx.response.get("ETag") as string | undefined;
  if (etag?.startsWith('"') === true) ctx.set("ETag", `${etag.slice(0, -1)}${SUFFIX}"`);
}

/** The answer as it would be sent, if it is no stream. What a route left as an object is written here, once. */
function plainBody(ctx: ParameterizedContext): string | Buffer | undefined {
  const body: unknown = ctx.body;
  if (typeof body === "string" || Buffer.isBuffer(body)) return body;
  if (typeof body !== "object" || body === null || "pipe" in body) return undefined;
  const text = JSON.stringify(body);
  // Its type stays application/json, which Koa gave it as an object.
  ctx.body = text;
  return text;
}

function compressKept(body: Buffer): Promise<Buffer> {
  const known = kept.get(body);
  if (known !== undefined) return known;
  const made = compress(body, { level: LEVEL });
  kept.set(body, made);
  return made;
}
