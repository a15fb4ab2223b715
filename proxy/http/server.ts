/** The listening socket: deadlines for slow senders, a problem document for what is no HTTP, an orderly end. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { API_VERSION } from "../../shared/api/endpoints.ts";
import { problemOf } from "./error-handler.ts";
import { ApiError } from "./errors.ts";
import { headerValues } from "./header-values.ts";

export interface HttpServer {
  readonly port: number;
  /**
   * Takes no new connection, closes those on which nothing is under way at once, answers the requests that
   * are, and cuts what is left after `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

/** A request has this long to arrive whole; 256 KiB in 30 s is 9 kB/s. Answers may take longer (streams). */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
/** How late either may be noticed; Node's own 30 s would give a slow sender three times as long. */
const LOOK_MS = 5_000;
/**
 * A connection on which nothing moves for so long is ended: whoever does not read keeps an answer of megabytes in our
 * memory. Longer than the longest silence of a good one, which is `Prefer: wait=30`; a stream has a comment every 15 s.
 */
const IDLE_MS = 75_000;

/** Milliseconds. */
export interface Deadlines {
  readonly request: number;
  readonly headers: number;
  readonly look: number;
  readonly idle: number;
}

const DEADLINES: Deadlines = { request: REQUEST_MS, headers: HEADERS_MS, look: LOOK_MS, idle: IDLE_MS };

export async function startHttpServer(
  listener: RequestListener,
  host: string,
  port: number,
  deadlines: Deadlines = DEADLINES,
): Promise<HttpServer> {
  // Ours and not `closeIdleConnections`: that one leaves a connection alone which has not sent anything yet,
  // and a client's pool holds such ones open for seconds.
  const connections = new Map<Socket, Set<ServerResponse>>();
  let isStopping = false;

  function track(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const underWay = connections.get(socket);
    underWay?.add(response);
    response.once("close", () => {
      underWay?.delete(response);
      if (isStopping && underWay?.size === 0) socket.destroySoon();
    });
    if (isStopping) response.setHeader("Connection", "close");
  }

  const server = createServer(
    // Node's own refusal of a missing Host has no body; ours is below.
    {
      requestTimeout: deadlines.request,
      headersTimeout: deadlines.headers,
      connectionsCheckingInterval: deadlines.look,
      requireHostHeader: false,
    },
    (request, response) => {
      track(request, response);
      // RFC 9112 section 3.2: none, or more than one, is answered with 400.
      if (request.httpVersion === "1.1" && headerValues(request, "host").length !== 1) {
        refuse(request.socket, "A request names its Host, once");
      } else listener(request, response);
    },
  );
  server.setTimeout(deadlines.idle);
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    track(request, response);
    refuse(request.socket, "Expect may only say 100-continue");
  });
  server.on("connection", (socket) => {
    connections.set(socket, new Set());
    socket.once("close", () => connections.delete(socket));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    refuse(
      socket,
      error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "The request did not arrive whole in time"
        : "This is not an HTTP request",
    ),
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });

  function letGo(): void {
    isStopping = true;
    for (const [socket, underWay] of connections) {
      if (underWay.size === 0) socket.destroySoon();
      // So that the client sends no further request on it, which nobody would answer.
      for (const response of underWay) if (!response.headersSent) response.setHeader("Connection", "close");
    }
  }

  return {
    port: (server.address() as AddressInfo).port,
    stop: (graceMs) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        letGo();
      }),
  };
}

/** For what never becomes a request to the app, so that the error handler cannot answer it. */
function refuse(socket: Duplex, detail: string): void {
  if (!socket.writable) return void socket.destroy();
  const requestId = randomUUID();
  const body = JSON.stringify(problemOf(new ApiError("INVALID_REQUEST", detail), requestId));
  socket.end(
    [
      "HTTP/1.1 400 Bad Request",
      "Content-Type: application/problem+json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Cache-Control: no-store",
      "Vary: Origin, Accept-Encoding",
      `API-Version: ${API_VERSION}`,
      `X-Request-Id: ${requestId}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}
