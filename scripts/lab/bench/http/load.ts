// The load generator: keeps a few connections busy with one request each, over bare sockets, so that it costs the
// machine as little as possible beside what is measured. Reads no more of an answer than its status and its length.

import { connect, type Socket } from "node:net";
import { answer } from "../answering.ts";
import { quantile } from "../figures.ts";

export interface Load {
  readonly port: number;
  readonly method: "GET" | "POST";
  /** Taken in turn. */
  readonly paths: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly connections: number;
  readonly seconds: number;
  /** Answers of any other status count as refused. */
  readonly status: number;
  /**
   * Never to sleep between answers. Waking a process on another processor costs the server's write of an answer as much as
   * the answer, and the more often the slower the server is, so a comparison of two servers is with this.
   */
  readonly isAwake?: boolean;
}

export interface LoadResult {
  readonly answers: number;
  readonly refused: number;
  readonly seconds: number;
  readonly bytes: number;
  /** Milliseconds, of all answers. */
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

async function run(load: Load): Promise<LoadResult> {
  const times: number[] = [];
  let refused = 0;
  let bytes = 0;
  let turn = 0;
  const requests = load.paths.map((path) => requestOf(load, path));
  const start = performance.now();
  const end = start + load.seconds * 1000;
  if (load.isAwake === true) stayAwake(end);

  await Promise.all(
    Array.from(
      { length: load.connections },
      () =>
        new Promise<void>((resolve, reject) => {
          const socket = connect(load.port, "127.0.0.1");
          socket.setNoDelay(true);
          let sentAt = 0;
          const next = (): void => {
            if (performance.now() >= end) {
              socket.destroy();
              resolve();
              return;
            }
            sentAt = performance.now();
            socket.write(requests[turn++ % requests.length] ?? "");
          };
          readAnswers(socket, (status, length) => {
            times.push(performance.now() - sentAt);
            bytes += length;
            if (status !== load.status) refused += 1;
            next();
          });
          socket.once("connect", next);
          socket.once("error", reject);
          socket.once("close", () => resolve());
        }),
    ),
  );

  return {
    answers: times.length,
    refused,
    seconds: (performance.now() - start) / 1000,
    bytes,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    most: quantile(times, 1),
  };
}

/** The event loop asks for what came in without waiting for it. */
function stayAwake(end: number): void {
  const turn = (): void => {
    if (performance.now() < end) setImmediate(turn);
  };
  setImmediate(turn);
}

function requestOf({ method, headers, body }: Load, path: string): string {
  const lines = [`${method} ${path} HTTP/1.1`, "Host: 127.0.0.1"];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined)
    lines.push("Content-Type: application/json", `Content-Length: ${String(Buffer.byteLength(body))}`);
  return `${lines.join("\r\n")}\r\n\r\n${body ?? ""}`;
}

/** Calls back for each whole answer. All answers of ours have a Content-Length. */
function readAnswers(socket: Socket, done: (status: number, bodyBytes: number) => void): void {
  let head = "";
  let status = 0;
  let length = 0;
  let left: number | undefined;
  socket.on("data", (chunk) => {
    if (left === undefined) {
      head += chunk.toString("latin1");
      const end = head.indexOf("\r\n\r\n");
      if (end === -1) return;
      status = Number(head.slice(9, 12));
      length = Number(/\r\ncontent-length: (\d+)/i.exec(head.slice(0, end + 2))?.[1] ?? 0);
      left = length - (head.length - end - 4);
      head = "";
    } else left -= chunk.length;
    if (left > 0) return;
    left = undefined;
    done(status, length);
  });
}

answer(run);
