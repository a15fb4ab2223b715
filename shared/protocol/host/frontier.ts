import { Frontier } from "../tree.ts";

/** Of a tree without leaves: it has no node, which fits. */
export function emptyFrontier(): Frontier {
  return Frontier.from(0n, [])!;
}
