// An origin for the pages of a test: a server on a port of its own that gives out files and does nothing else. What a
// page asks of a service is then asked across origins, as every application's page does.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface PageFile {
  readonly type: string;
  readonly body: string | Uint8Array;
  /** In the place of the origin's. */
  readonly policy?: string;
}

export interface PageOrigin {
  readonly url: string;
  /** By path. */
  readonly files: Map<string, PageFile>;
  /** The content security policy of every answer. */
  policy: string;
  close(): Promise<void>;
}

/** What the client library's README names, and nothing else. `reached`: what a page may ask beside its own origin. */
export function strictPolicy(reached: string, changed: Readonly<Record<string, string>> = {}): string {
  return Object.entries({
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "worker-src": "'self'",
    "connect-src": `'self' ${reached}`,
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    ...changed,
  })
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join("; ");
}

/** `script` is the whole program of the page at `/`. Its policy is the strict one, but for whom it may ask. */
export async function startPageOrigin(script: string | Uint8Array): Promise<PageOrigin> {
  const files = new Map<string, PageFile>([
    [
      "/",
      {
        type: "text/html",
        body: '<!doctype html><link rel=icon href=data:,><script type="module" src="/app.js"></script>',
      },
    ],
    ["/app.js", { type: "text/javascript", body: script }],
  ]);
  const server: Server = createServer((request, response) => {
    const file = files.get(request.url ?? "");
    response.writeHead(file === undefined ? 404 : 200, {
      "Content-Type": file?.type ?? "text/plain",
      "Content-Security-Policy": file?.policy ?? origin.policy,
    });
    response.end(file?.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin: PageOrigin = {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    files,
    policy: strictPolicy("http: https:"),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return origin;
}
