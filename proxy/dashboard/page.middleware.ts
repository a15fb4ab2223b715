/**
 * The built page: files that were read once at the start, so no path of a request reaches the disk. A file whose name
 * holds a hash of its content may be kept permanently; the page itself is asked for each time.
 */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import type { Middleware } from "koa";
import { DashboardError } from "./errors.ts";
import type { DashboardState } from "./state.ts";

interface File {
  readonly type: string;
  readonly isImmutable: boolean;
  readonly plain: Buffer;
  readonly br: Buffer;
  readonly gzip: Buffer;
}
export type PageFiles = ReadonlyMap<string, File>;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
};
/** As esbuild names them: `app-5X2QJ7KD.js`. */
const HASHED = /-[A-Z0-9]{8}\.[a-z0-9]+$/;
const INDEX = "/index.html";
const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** By path. Empty where nothing is built. */
export async function readPage(folder: string): Promise<PageFiles> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, File>();
  for (const entry of found) {
    const type = TYPES[path.extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const file = path.join(entry.parentPath, entry.name);
    const plain = await readFile(file);
    const url = `/${path.relative(folder, file).split(path.sep).join("/")}`;
    files.set(url, {
      ...{ type, plain, isImmutable: HASHED.test(entry.name) },
      ...{ br: await compressBrotli(plain), gzip: await compressGzip(plain) },
    });
  }
  return files;
}

export function page(files: PageFiles): Middleware<DashboardState> {
  return (ctx) => {
    if (ctx.method !== "GET" && ctx.method !== "HEAD") throw new DashboardError("METHOD_NOT_ALLOWED");
    // Routes of the page have no dot: they are drawn by the page, whatever they are called.
    const isRoute = !/\.[a-z0-9]+$/i.test(ctx.path);
    const file = files.get(isRoute ? INDEX : ctx.path);
    if (file === undefined)
      throw new DashboardError("NOT_FOUND", isRoute ? "The page is not built: npm run build" : undefined);
    ctx.type = file.type;
    ctx.set("Vary", "Accept-Encoding");
    ctx.set("Cache-Control", file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache");
    const encoding = ctx.acceptsEncodings("br", "gzip", "identity");
    if (encoding === "br" || encoding === "gzip") {
      ctx.set("Content-Encoding", encoding);
      ctx.body = file[encoding];
    } else ctx.body = file.plain;
    ctx.type = file.type;
  };
}
