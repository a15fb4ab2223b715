/** Words that people give and others are shown: one line, short, and nothing in them that changes how the rest reads. */

/** UTF-8 bytes. */
export const MOST_MEMO_BYTES = 140;
export const MOST_LABEL_BYTES = 64;
export const MOST_NAME_BYTES = 128;

/** Controls, line ends, and what turns the direction of text: by these a shown line can say something else than it is. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/u;
/** A joiner is a part of emoji and of several scripts. */
const JOINERS = /[\u200c\u200d]/g;

/** The text, or what `fault` makes of the reason why it cannot be taken. */
export function requireText(untrusted: unknown, mostBytes: number, fault: (detail: string) => Error): string {
  if (typeof untrusted !== "string") throw fault("a text");
  if (untrusted.trim() !== untrusted || untrusted === "") throw fault("empty, or with spaces around it");
  if (untrusted.normalize("NFC") !== untrusted) throw fault("not in Unicode's form NFC");
  if (HIDDEN.test(untrusted.replace(JOINERS, ""))) throw fault("a character that is not shown");
  if (new TextEncoder().encode(untrusted).length > mostBytes) throw fault(`more than ${mostBytes} bytes`);
  return untrusted;
}
