/** The event-stream format (WHATWG HTML, section 9.2.6) as a parser over text chunks. Its input is untrusted. */

export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** The last id seen so far, as the format defines it: an id stays in force until another one comes. */
  readonly lastEventId: string;
  /** The id that this very message carried. */
  readonly id: string | undefined;
}

/** One event is a few hundred bytes; a server that never ends a line or an event must not fill our memory. */
export const MAX_EVENT_CHARS = 1 << 20;

export class SseParser {
  /** Reconnection time that the server asked for. */
  retryMs: number | undefined;
  #rest = "";
  #data: string[] = [];
  #size = 0;
  #event = "";
  #id: string | undefined;
  #lastEventId = "";
  #started = false;

  /** Messages that became complete. Throws RangeError when one is longer than MAX_EVENT_CHARS. */
  push(chunk: string): SseMessage[] {
    if (!this.#started && chunk !== "") {
      this.#started = true;
      if (chunk.startsWith("\uFEFF")) chunk = chunk.slice(1);
    }
    // A CR at the very end waits: the LF may be in the next chunk.
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop()!;
    const messages = lines.map((line) => this.#line(line)).filter((message) => message !== undefined);
    if (this.#rest.length + this.#size > MAX_EVENT_CHARS) throw new RangeError("event is too long");
    return messages;
  }

  #line(line: string): SseMessage | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const raw = colon === -1 ? "" : line.slice(colon + 1);
    const value = raw.startsWith(" ") ? raw.slice(1) : raw;
    if (field === "event") this.#event = value;
    if (field === "data") {
      this.#size += value.length + 1;
      this.#data.push(value);
    }
    if (field === "id" && !value.includes("\0")) this.#id = value;
    if (field === "retry" && /^[0-9]{1,9}$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #dispatch(): SseMessage | undefined {
    const id = this.#id;
    if (id !== undefined) this.#lastEventId = id;
    const [event, data, lastEventId] = [this.#event || "message", this.#data, this.#lastEventId];
    this.#data = [];
    this.#size = 0;
    this.#event = "";
    this.#id = undefined;
    return data.length === 0 ? undefined : { event, data: data.join("\n"), lastEventId, id };
  }
}
