// The HTTP side of a local venue: JSON in, JSON out, on this machine alone. A refusal is an answer like any other;
// what is thrown beside it is a fault of ours, and its text stays here.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface VenueRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Undefined when there is none. */
  readonly body: unknown;
}

export interface VenueAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface VenueServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface VenueServerOptions {
  /** Zero: a free one. */
  readonly port: number;
  readonly answer: (request: VenueRequest) => VenueAnswer | Promise<VenueAnswer>;
  /** Of our own faults, which the caller is not told. */
  readonly onFault: (error: unknown) => void;
}

const MAX_BODY_BYTES = 64 * 1024;

export async function serveJson({ port, answer, onFault }: VenueServerOptions): Promise<VenueServer> {
  async function respond(request: IncomingMessage): Promise<VenueAnswer> {
    const bytes = await bodyOf(request);
    if (bytes === undefined) return { status: 413, body: { code: 413, message: "The body is too large" } };
    const body = parsed(bytes);
    if (body === NO_JSON) return { status: 400, body: { code: 400, message: "The body is no JSON" } };
    const url = new URL(request.url ?? "/", "http://venue.invalid");
    return answer({
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      body,
    });
  }

  const server = createServer((request, response) => {
    respond(request)
      .catch((error: unknown): VenueAnswer => {
        onFault(error);
        return { status: 500, body: { code: 500, message: "A fault of this venue" } };
      })
      .then(({ status, body }) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify(body));
      })
      .catch(() => response.destroy());
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const NO_JSON = Symbol("no JSON");

function parsed(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return NO_JSON;
  }
}
