// Callers who hold on to a connection: requests that never come to their end, and answers that nobody reads.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { BadRequest, Heard } from "./bad-requests.ts";
import { assertDocumented } from "./documented.ts";

/** Never the last ones of a request, however long the service waits. */
const KEPT_BACK = 2;
const BYTE_EVERY_MS = 100;

/**
 * Sends a request a byte at a time from the middle of its body on, or of its head, and never its end. Resolves with the answer when the service
 * has ended the connection; fails when that is not documented.
 */
export async function dribble(baseUrl: string, request: BadRequest): Promise<Heard> {
  const { method, path } = request;
  const [head, content] = partsOf(request);
  const bytes = Buffer.concat([head, content]);
  const socket = await open(baseUrl);
  const heard: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => void heard.push(chunk));
  // The service may have closed before the next byte arrives there.
  socket.on("error", () => undefined);
  let sent = Math.floor(content.length === 0 ? head.length / 2 : head.length + content.length / 2);
  socket.write(bytes.subarray(0, sent));
  const timer = setInterval(() => {
    if (sent >= bytes.length - KEPT_BACK || socket.destroyed) return;
    socket.write(bytes.subarray(sent, ++sent));
  }, BYTE_EVERY_MS);
  try {
    await once(socket, "close");
  } finally {
    clearInterval(timer);
  }
  return read(method, path, Buffer.concat(heard));
}

/** Asks, over and over where that is wanted, and reads nothing. */
export async function takeNothing(
  baseUrl: string,
  request: BadRequest,
  times = 1,
): Promise<{ leave(): void }> {
  const socket = await open(baseUrl);
  socket.pause();
  socket.on("error", () => undefined);
  const bytes = Buffer.concat(partsOf(request));
  for (let i = 0; i < times; i++) socket.write(bytes);
  return { leave: () => socket.destroy() };
}

async function open(baseUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  return socket;
}

/** Head and body. */
function partsOf({ method, path, headers, body }: BadRequest): [Buffer, Buffer] {
  const content = Buffer.from(body ?? "");
  const lines = [
    `${method} ${path} HTTP/1.1`,
    "Host: localhost",
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [`Content-Length: ${String(content.length)}`]),
  ];
  return [Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), content];
}

function read(method: string, url: string, bytes: Buffer): Heard {
  const end = bytes.indexOf("\r\n\r\n");
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const status = Number(first.split(" ")[1]);
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
  // What is switched off is refused at once; the end of its connection is another answer, behind this one.
  const body = bytes.subarray(end + 4, end + 4 + Number(headers.get("content-length")));
  assertDocumented({ method, url, status, headers, body });
  return { status, headers, body: JSON.parse(body.toString("utf8")) as Heard["body"] };
}
