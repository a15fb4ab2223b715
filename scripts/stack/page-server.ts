// Gives out the files of a built page, and nothing else: from an origin of its own, under a strict policy, permanently
// where a name says what is in the file.
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";

export interface PageServerOptions {
  /** What scripts/build/pages.ts has written. */
  readonly folder: string;
  /** What the page may ask beside its own origin. */
  readonly reached: readonly string[];
  /** Small files by path, such as the page's configuration; never kept by browsers. */
  readonly files: Readonly<Record<string, string>>;
  /** Proving files: `{kind}.zkey.br` and `{kind}.wasm.br` in a folder, given out under a path that names their content. */
  readonly artefacts: { readonly path: string; readonly folder: URL };
}

interface Answer {
  readonly status?: number;
  readonly type: string;
  readonly body: Uint8Array | string;
  readonly isForEver?: boolean;
  readonly encoding?: "gzip" | "br" | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};
const HASHED = /-[0-9A-Z]{8}\.[a-z]+$/;
/** The one file that runs WebAssembly: a worker has the policy that came with its own file. */
const PROVER = "/assets/prover.js";
/** For the service worker: all that belongs to the page. */
const LIST = "/files.json";
/** Its scope is the whole page, from wherever its file lies. */
const OFFLINE = "/assets/offline.js";

const [unzip, unbrotli] = [promisify(gunzip), promisify(brotliDecompress)];

export function pageListener(options: PageServerOptions): RequestListener {
  return (request, response) => {
    answerTo(request, options).then(
      (answer) => send(request, response, answer, options.reached),
      () => response.writeHead(500).end(),
    );
  };
}

/** What a browser may ask for: no source map, and no compressed copy by its own name. */
async function namesIn(folder: string): Promise<readonly string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile() && TYPES[path.extname(entry.name)] !== undefined)
    .map(
      (entry) =>
        `/${path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, "/")}`,
    );
}

async function answerTo(
  { url, method, headers }: IncomingMessage,
  { folder, artefacts, files }: PageServerOptions,
): Promise<Answer> {
  if (method !== "GET" && method !== "HEAD") return { ...plain("only GET"), status: 405 };
  const { pathname } = new URL(url ?? "/", "http://page");
  const accepted = headers["accept-encoding"] ?? "";
  const file = files[pathname];
  if (file !== undefined) return { type: "application/json", body: file };
  // Each time anew: the page may be built while this runs.
  const names = await namesIn(folder);
  if (pathname === LIST) {
    const own = ["/", ...Object.keys(files), ...names.filter((name) => name.startsWith("/assets/"))];
    return { type: "application/json", body: JSON.stringify(own) };
  }
  if (names.includes(pathname)) return built(folder, pathname, accepted);
  const [, name] = /^\/([a-z0-9-]+\.(?:zkey|wasm))$/.exec(pathname.replace(artefacts.path, "")) ?? [];
  if (name !== undefined && pathname === `${artefacts.path}/${name}`)
    return proving(new URL(`${name}.br`, artefacts.folder), accepted);
  // Each address of the page is the same document, which knows its own screens.
  if (path.extname(pathname) === "") return built(folder, "/index.html", accepted);
  return { ...plain("there is nothing here"), status: 404 };
}

async function built(folder: string, name: string, accepted: string): Promise<Answer> {
  const type = TYPES[path.extname(name)] ?? "application/octet-stream";
  const packed = await readFile(path.join(folder, `${name}.gz`)).catch(() => undefined);
  const isForEver = HASHED.test(name);
  if (packed === undefined) return { type, isForEver, body: await readFile(path.join(folder, name)) };
  if (accepted.includes("gzip")) return { type, isForEver, body: packed, encoding: "gzip" };
  return { type, isForEver, body: await unzip(packed) };
}

async function proving(file: URL, accepted: string): Promise<Answer> {
  const packed = await readFile(file).catch(() => undefined);
  if (packed === undefined) return { ...plain("no such proving file"), status: 404 };
  const terms = { type: "application/octet-stream", isForEver: true };
  return /\bbr\b/.test(accepted)
    ? { ...terms, body: packed, encoding: "br" }
    : { ...terms, body: await unbrotli(packed) };
}

function send(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  { status = 200, type, body, isForEver = false, encoding }: Answer,
  reached: readonly string[],
): void {
  const { pathname } = new URL(url ?? "/", "http://page");
  response.writeHead(status, {
    "Content-Type": type,
    "Content-Length": Buffer.byteLength(body),
    "Cache-Control": isForEver ? "public, max-age=31536000, immutable" : "no-cache",
    Vary: "Accept-Encoding",
    ...(encoding === undefined ? {} : { "Content-Encoding": encoding }),
    ...(pathname === OFFLINE ? { "Service-Worker-Allowed": "/" } : {}),
    "Content-Security-Policy": policyOf(reached, pathname === PROVER),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(method === "HEAD" ? undefined : body);
}

/** The style sheet's own pictures are data. */
function policyOf(reached: readonly string[], runsWasm: boolean): string {
  return [
    "default-src 'none'",
    `script-src 'self'${runsWasm ? " 'wasm-unsafe-eval'" : ""}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "worker-src 'self'",
    `connect-src ${["'self'", ...reached].join(" ")}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const plain = (text: string): Answer => ({ type: "text/plain", body: text });
