/**
 * The event-stream format (WHATWG HTML, section 9.2.6) over text chunks, by `eventsource-parser`. Its input is untrusted: an
 * event that does not end must not fill the memory, and what is remembered is an id or a time, never a foreign object.
 */
import { createParser } from "eventsource-parser";

export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** The last id of a message so far: an id stays in force until another one comes. */
  readonly lastEventId: string;
  /** The id that this very message carried. */
  readonly id: string | undefined;
}

/** One event is a few hundred bytes; a server that never ends a line or an event must not fill our memory. */
export const MAX_EVENT_CHARS = 1 << 20;
/** Eleven days. What is longer, and what a timer cannot take, is no time to come back at. */
const MOST_RETRY_MS = 999_999_999;

export class SseParser {
  /** Reconnection time that the server asked for. */
  retryMs: number | undefined;
  #messages: SseMessage[] = [];
  #lastEventId = "";
  #isTooLong = false;
  #started = false;
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: ({ event = "message", id, data }) => {
      this.#lastEventId = id ?? this.#lastEventId;
      this.#messages.push({ event, data, lastEventId: this.#lastEventId, id });
    },
    onRetry: (ms) => {
      if (ms <= MOST_RETRY_MS) this.retryMs = ms;
    },
    // Of unknown fields and times that are no number the format says that they are passed over.
    onError: ({ type }) => {
      this.#isTooLong ||= type === "max-buffer-size-exceeded";
    },
  });

  /** Messages that became complete. Throws RangeError when one is longer than MAX_EVENT_CHARS. */
  push(chunk: string): SseMessage[] {
    this.#requireBounded();
    // The parser takes off a mark of bytes, and here are characters.
    const text = !this.#started && chunk.startsWith("\uFEFF") ? chunk.slice(1) : chunk;
    this.#started ||= chunk !== "";
    this.#parser.feed(text);
    this.#requireBounded();
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }

  /** The parser does not throw, it tells. */
  #requireBounded(): void {
    if (this.#isTooLong) throw new RangeError("event is too long");
  }
}
