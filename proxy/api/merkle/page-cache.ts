/**
 * Answers of /merkle/tree that many clients ask for, made once: a full page is 2 MiB, its JSON 4 MiB, and a
 * copy for each of a thousand slow readers would be all memory there is. Bounded in bytes; the least recently
 * asked for goes first.
 */

export interface CachedPage {
  readonly body: Buffer;
  readonly etag: string;
  /** Counted against the bound. */
  readonly bytes: number;
}

/** Beside its bytes: a page of one node must not be free. */
const ENTRY_BYTES = 512;

export class PageCache {
  readonly #maxBytes: number;
  /** Least recently used first. */
  readonly #pages = new Map<string, CachedPage>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The key names everything that the answer depends on. */
  get(key: string, make: () => CachedPage): CachedPage {
    const known = this.#pages.get(key);
    if (known !== undefined) {
      this.#pages.delete(key);
      this.#pages.set(key, known);
      return known;
    }
    const page = make();
    this.#pages.set(key, page);
    this.#bytes += page.bytes + ENTRY_BYTES;
    for (const [oldest, { bytes }] of this.#pages) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#pages.delete(oldest);
      this.#bytes -= bytes + ENTRY_BYTES;
    }
    return page;
  }
}
