/** Every value that a request has under one name, as they were sent: Node's own view of some headers keeps one of them. */
import type { IncomingMessage } from "node:http";

/** `name` in lower case. */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  // Names and values in turn.
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) {
      values.push(rawHeaders[i + 1] ?? "");
    }
  }
  return values;
}
