/**
 * The reference page: the OpenAPI document with its guide as something to read, drawn by redoc, on an origin of its own. Never
 * on the API's: a page there could send what a reader types or what a browser holds to the API itself. It has no
 * form, asks nobody but this port, takes no credential and holds no secret.
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createRequire } from "node:module";
import { openApiDocument } from "../../../shared/api/openapi.ts";
import { startHttpServer, type HttpServer } from "./server.ts";

interface File {
  readonly type: string;
  readonly body: string | Buffer;
}

/** Begins redoc by a file, since the policy allows no script within the page. Without search: that is a worker made of text. */
const BEGIN = `const { nonce } = document.currentScript.dataset;
Redoc.init("/openapi.json", { nonce, disableSearch: true, sanitize: true, hideDownloadButton: false },
  document.querySelector("main"));
`;

const SPEC = new URL("../../../shared/protocol/SPEC.md", import.meta.url);

/** Throws when redoc is not installed: it is an optional package. */
export async function startReference(host: string, port: number): Promise<HttpServer> {
  const redoc = createRequire(import.meta.url).resolve("redoc/bundles/redoc.standalone.js");
  const files: Readonly<Record<string, File>> = {
    "/redoc.js": { type: "text/javascript; charset=utf-8", body: await readFile(redoc) },
    "/begin.js": { type: "text/javascript; charset=utf-8", body: BEGIN },
    "/openapi.json": { type: "application/json", body: JSON.stringify(openApiDocument()) },
    // Where the document's guide links to.
    "/SPEC.md": { type: "text/plain; charset=utf-8", body: await readFile(SPEC) },
  };
  return startHttpServer((request, response) => answer(files, request, response), host, port);
}

function answer(
  files: Readonly<Record<string, File>>,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method = "", url = "" } = request;
  const nonce = randomBytes(18).toString("base64");
  for (const [name, value] of Object.entries(headersOf(nonce))) response.setHeader(name, value);
  if (method !== "GET" && method !== "HEAD") {
    response.writeHead(405, { Allow: "GET, HEAD" }).end();
    return;
  }
  const file = url === "/" ? { type: "text/html; charset=utf-8", body: page(nonce) } : own(files, url);
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "Content-Type": file.type, "Content-Length": Buffer.byteLength(file.body) });
  response.end(method === "HEAD" ? undefined : file.body);
}

const own = (files: Readonly<Record<string, File>>, url: string): File | undefined =>
  Object.hasOwn(files, url) ? files[url] : undefined;

/** `nonce` is for the styles that redoc makes; scripts come from files here, everything else from nowhere. */
function headersOf(nonce: string): Record<string, string> {
  return {
    "Cache-Control": "no-store",
    "Content-Security-Policy": [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'nonce-${nonce}'`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  };
}

function page(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cloister: HTTP interface</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">body { margin: 0 }</style>
</head>
<body>
<main></main>
<script src="/redoc.js"></script>
<script src="/begin.js" data-nonce="${nonce}"></script>
</body>
</html>
`;
}
