/**
 * An answer without end, written to its connection by ourselves once everything before the route has agreed to
 * it. Node's response object would keep every header, and the text of all of them, for as long as the stream is
 * open, and put itself between each event and the socket: with ten thousand streams that is most of what they cost.
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Sink } from "./hub.ts";

const NOTHING: IncomingMessage["headers"] = Object.freeze({});
const NO_HEADERS: readonly string[] = Object.freeze([]);

export class RawAnswer implements Sink {
  readonly #socket: Socket | undefined;

  /** Sends the headers that are set on `res`, and takes over its connection; `res` still says when that closes. */
  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#socket = res.socket ?? undefined;
    const { statusCode } = res;
    const lines = [`HTTP/1.1 ${String(statusCode)} ${STATUS_CODES[statusCode] ?? ""}`];
    // Checked by Node when they were set: no line end is in them.
    for (const [name, value] of Object.entries(res.getHeaders())) {
      for (const one of [value].flat()) lines.push(`${name}: ${String(one)}`);
      res.removeHeader(name);
    }
    // Without a length or chunks the answer ends with its connection (RFC 9112, section 6.3, rule 8); a stream of
    // events says itself where an event ends.
    lines.push(`date: ${new Date().toUTCString()}`, "connection: close", "", "");
    this.write(Buffer.from(lines.join("\r\n"), "latin1"));
    // Nobody asks for the request any more: its headers, its target, and what was read of them.
    Object.assign(req, { headers: NOTHING, rawHeaders: NO_HEADERS, url: "", _parsedUrl: undefined });
  }

  write(bytes: Buffer): boolean {
    return this.#socket?.writable === true && this.#socket.write(bytes);
  }

  end(): void {
    this.#socket?.end();
  }

  cut(): void {
    this.#socket?.destroy();
  }

  onDrain(listener: () => void): void {
    this.#socket?.on("drain", listener);
  }
}
