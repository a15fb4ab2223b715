/**
 * Words of others for a terminal: in quotes, in printable ASCII, everything else spelt out. An escape sequence in them could
 * write over the lines before, and a mark that turns the direction of writing could show them in another order.
 */
export const quoted = (text: string): string =>
  JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
