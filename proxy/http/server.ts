/** The listening socket: deadlines for slow senders, a problem document for what is no HTTP, an orderly end. */
import { randomUUID } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { API_VERSION } from "../../shared/api/endpoints.ts";
import { problemOf } from "./error-handler.ts";
import { ApiError } from "./errors.ts";

export interface HttpServer {
  readonly port: number;
  /** Takes no new connection, lets requests under way finish, and cuts what is left after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** A request has this long to arrive whole; 256 KiB in 30 s is 9 kB/s. Answers may take longer (streams). */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;

export async function startHttpServer(
  listener: RequestListener,
  host: string,
  port: number,
): Promise<HttpServer> {
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS }, listener);
  server.on("clientError", (_error, socket) => refuse(socket));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: (graceMs) =>
      new Promise((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close(() => {
          clearTimeout(cut);
          resolve();
        });
        server.closeIdleConnections();
      }),
  };
}

/** Bytes that Node's parser refused never become a request, so the error handler cannot answer them. */
function refuse(socket: Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const requestId = randomUUID();
  const body = JSON.stringify(
    problemOf(new ApiError("INVALID_REQUEST", "This is not an HTTP request"), requestId),
  );
  socket.end(
    [
      "HTTP/1.1 400 Bad Request",
      "Content-Type: application/problem+json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      `API-Version: ${API_VERSION}`,
      `X-Request-Id: ${requestId}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}
