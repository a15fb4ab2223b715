// An origin for the pages of a test: a server on a port of its own that gives out files and does nothing else. What a
// page asks of a service is then asked across origins, as every application's page does.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface PageFile {
  readonly type: string;
  readonly body: string | Uint8Array;
}

export interface PageOrigin {
  readonly url: string;
  /** By path. */
  readonly files: Map<string, PageFile>;
  close(): Promise<void>;
}

/** `script` is the whole program of the page at `/`. */
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
    if (file === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "Content-Type": file.type }).end(file.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    files,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
