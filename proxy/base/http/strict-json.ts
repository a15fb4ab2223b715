/**
 * JSON of strangers, read one way only. RFC 8259, section 4 leaves open what an object with a name twice means:
 * a filter in front of us could check the first value while we act on the second, so such a text is refused, and
 * so is one that nests deeper than any of ours.
 */

/** What documented bodies need is six. */
export const MAX_DEPTH = 32;

export class JsonRefusal extends Error {
  /** The name that came twice, as the caller wrote it; nothing of the body else. */
  readonly field: string | undefined;
  constructor(message: string, field?: string) {
    super(message);
    this.field = field;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

/** Throws JsonRefusal, or what JSON.parse throws. One pass over the text before that one; neither recurses. */
export function parseStrictJson(text: string): unknown {
  refuseAmbiguity(text);
  return JSON.parse(text);
}

/**
 * Exact for JSON. For other texts it may say nothing or anything, since JSON.parse refuses those: in JSON a
 * string with a colon behind it is a name and nothing else is, and brackets outside strings are structure.
 */
function refuseAmbiguity(text: string): void {
  /** Names seen in each open object; undefined stands for an open array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (open.length === MAX_DEPTH) throw new JsonRefusal(`nests deeper than ${String(MAX_DEPTH)} levels`);
        open.push(text.charCodeAt(at) === OPEN_OBJECT ? new Set() : undefined);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop();
        break;
      case QUOTE: {
        const end = endOfString(text, at);
        if (text.charCodeAt(skipSpace(text, end + 1)) === COLON)
          noteName(open.at(-1), text.slice(at, end + 1));
        at = end;
        break;
      }
    }
  }
}

/** `quoted` is still escaped: `"a"` and `"\u0061"` are one name. */
function noteName(names: Set<string> | undefined, quoted: string): void {
  const name = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (names?.has(name) === true) throw new JsonRefusal("has a field twice in one object", name);
  names?.add(name);
}

/** Position of the closing quote, or of the text's end. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) at++;
  }
  return text.length;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (" \t\n\r".includes(text.charAt(at)) && at < text.length) at++;
  return at;
}
