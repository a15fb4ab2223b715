/**
 * The listening socket: deadlines for slow senders, a problem document for what is no HTTP, one request at a time on
 * each connection, an orderly end.
 */
import { randomUUID } from "node:crypto";
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { Socket, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { API_VERSION } from "../../../shared/api/endpoints.ts";
import type { ConnectionCap } from "./connection-cap.ts";
import { problemOf } from "./error-handler.ts";
import { PROBLEM_TYPE } from "./problems.ts";
import { ApiError } from "./errors.ts";
import { headerValues } from "./header-values.ts";
import { lingeringClose } from "./lingering-close.ts";

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
/** How long a caller may go on sending after the last answer of its connection: as long as for the head of a request. */
const LINGER_MS = HEADERS_MS;

const NO_TUNNEL = new ApiError(
  "METHOD_NOT_ALLOWED",
  "CONNECT asks for a tunnel, and this is no proxy for others",
);

/** Requests of one connection that wait for their turn; who sends more ahead is cut. */
const MOST_WAITING = 100;

/**
 * Requests may come before the earlier ones are answered (RFC 9112, section 9.3.2). They are taken one after the
 * other: the answer of a stream is the connection itself, and nothing may begin before it has it or while it has it.
 */
interface Connection {
  /** Has the connection. */
  current: ServerResponse | undefined;
  /** Those behind it, in the order of their requests. Most connections never have any, and there may be 10,000. */
  waiting: Waiting[] | undefined;
  /** What the socket had written when the current one got it. */
  writtenBefore: number;
  /** Why none of its requests is taken: one connection too many. */
  readonly refusal: ApiError | undefined;
  /** Why what came last can never be answered as a request. */
  fault: ApiError | undefined;
}

interface Waiting {
  readonly response: ServerResponse;
  readonly answer: () => void;
}

/** Milliseconds. */
export interface Deadlines {
  readonly request: number;
  readonly headers: number;
  readonly look: number;
  readonly idle: number;
  readonly linger: number;
}

const DEADLINES: Deadlines = {
  request: REQUEST_MS,
  headers: HEADERS_MS,
  look: LOOK_MS,
  idle: IDLE_MS,
  linger: LINGER_MS,
};

export interface ServerOptions {
  readonly deadlines?: Deadlines | undefined;
  /** Default: none. */
  readonly cap?: ConnectionCap | undefined;
}

/** The connections of a server, on each of which answers are given in the order of their requests. */
class Turns {
  // Ours and not `closeIdleConnections`: that one leaves a connection alone which has not sent anything yet,
  // and a client's pool holds such ones open for seconds.
  readonly #connections = new Map<Socket, Connection>();
  #isStopping = false;

  begin(socket: Socket, refusal: ApiError | undefined): void {
    this.#connections.set(socket, {
      ...{ current: undefined, waiting: undefined, writtenBefore: 0, refusal, fault: undefined },
    });
    socket.on("close", () => this.#connections.delete(socket));
  }

  /** Runs `answer` when everything that came before on this connection is answered. */
  take(request: IncomingMessage, response: ServerResponse, answer: () => void): void {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    // Gone while its bytes were still being read, or behind the last answer: nobody could be told its outcome.
    if (connection === undefined || !socket.writable) {
      request.resume();
      return;
    }
    response.on("close", () => this.#goOn(socket, connection));
    if (this.#isStopping) response.setHeader("Connection", "close");
    if (connection.current === undefined) {
      connection.current = response;
      if (connection.refusal === undefined) answer();
      else refuse(response, connection.refusal);
      return;
    }
    connection.waiting ??= [];
    if (connection.waiting.length < MOST_WAITING) connection.waiting.push({ response, answer });
    else socket.destroy();
  }

  /** The current answer is given. Those that wait have no socket yet, so theirs is never the one that closes. */
  #goOn(socket: Socket, connection: Connection): void {
    const next = connection.waiting?.shift();
    connection.current = next?.response;
    if (socket.destroyed || !socket.writable) return;
    connection.writtenBefore = socket.bytesWritten;
    if (connection.fault !== undefined && !isWhole(next?.response)) refuseBytes(socket, connection.fault);
    else if (next === undefined && this.#isStopping) socket.destroySoon();
    else next?.answer();
  }

  /** What came last on this connection is no request that could be. */
  refuse(socket: Socket, fault: ApiError): void {
    const connection = this.#connections.get(socket);
    // A refusal now would stand in the place of an answer that is still to come: it waits for its turn.
    if (connection !== undefined && isWhole(connection.current)) connection.fault ??= fault;
    // Or in the middle of one that came before its request was whole.
    else if (socket.bytesWritten > (connection?.writtenBefore ?? 0)) socket.destroy();
    else refuseBytes(socket, fault);
  }

  /** Every connection ends behind the last answer that it was asked for. */
  end(): void {
    this.#isStopping = true;
    for (const [socket, { current, waiting }] of this.#connections) {
      const last = waiting?.at(-1)?.response ?? current;
      if (last === undefined) socket.destroySoon();
      // So that the client sends no further request on it, which nobody would answer. Said earlier, it would cut
      // off what was asked together with this one.
      else if (!last.headersSent) last.setHeader("Connection", "close");
    }
  }
}

export async function startHttpServer(
  listener: RequestListener,
  host: string,
  port: number,
  { deadlines = DEADLINES, cap }: ServerOptions = {},
): Promise<HttpServer> {
  const turns = new Turns();
  const serve: RequestListener = (request, response) => {
    turns.take(request, response, () => {
      // RFC 9112 section 3.2: none, or more than one, is answered with 400.
      if (request.httpVersion === "1.1" && headerValues(request, "host").length !== 1) {
        refuse(response, invalid("A request names its Host, once"));
      } else listener(request, response);
    });
  };
  const server = createServer(
    // Node's own refusal of a missing Host has no body; ours is above.
    {
      requestTimeout: deadlines.request,
      headersTimeout: deadlines.headers,
      connectionsCheckingInterval: deadlines.look,
      requireHostHeader: false,
    },
    serve,
  );
  server.setTimeout(deadlines.idle);
  // 100 Continue is said by who reads the body, so not before the caller is known and allowed.
  server.on("checkContinue", serve);
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    turns.take(request, response, () => refuse(response, invalid("Expect may only say 100-continue")));
  });
  // A tunnel has no request behind it that could be answered in its turn.
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => {
    if (socket instanceof Socket) turns.refuse(socket, NO_TUNNEL);
  });
  server.on("connection", (socket) => {
    const admission = cap?.admit(socket) ?? "served";
    if (admission === "cut") {
      socket.destroy();
      return;
    }
    // Node's own way to end a connection behind an answer that says `Connection: close`, too.
    socket.destroySoon = () => lingeringClose(socket, deadlines.linger);
    turns.begin(socket, admission === "served" ? undefined : admission);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Behind its last answer: what comes is dropped, whatever it is.
    if (!(socket instanceof Socket) || socket.writableEnded) return;
    const isLate = error.code === "ERR_HTTP_REQUEST_TIMEOUT";
    turns.refuse(
      socket,
      invalid(isLate ? "The request did not arrive whole in time" : "This is not an HTTP request"),
    );
  });
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
        turns.end();
      }),
  };
}

/** Whether an answer is due. Only the last request of a connection can be there in part. */
function isWhole(response: ServerResponse | undefined): boolean {
  return response?.req.complete === true;
}

const invalid = (detail: string): ApiError => new ApiError("INVALID_REQUEST", detail);

/** For what never becomes a request to the app, so that the error handler cannot answer it. */
function refusal(error: ApiError): {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
} {
  const requestId = randomUUID();
  const problem = problemOf(error, requestId);
  const body = JSON.stringify(problem);
  const headers = {
    ...(error === NO_TUNNEL ? { Allow: "GET, HEAD, POST, OPTIONS" } : {}),
    ...(error.retryAfterSecs === undefined ? {} : { "Retry-After": String(error.retryAfterSecs) }),
    "Content-Type": PROBLEM_TYPE,
    "Content-Length": String(Buffer.byteLength(body)),
    "Cache-Control": "no-store",
    Vary: "Origin, Accept-Encoding",
    "API-Version": API_VERSION,
    "X-Request-Id": requestId,
    Connection: "close",
  };
  return { status: problem.status, headers, body };
}

function refuse(response: ServerResponse, error: ApiError): void {
  const { status, headers, body } = refusal(error);
  response.writeHead(status, headers).end(body);
}

/** Where there is no request that could be answered. */
function refuseBytes(socket: Socket, error: ApiError): void {
  if (!socket.writable) return void socket.destroy();
  const { status, headers, body } = refusal(error);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.write([`HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ""}`, ...lines, "", body].join("\r\n"));
  socket.destroySoon();
}
