/** How a scenario's proxies may send: how many calls are in flight at once, and how many members fill one. */
import { Random } from "../../../scripts/base/random.ts";

export interface Calls {
  readonly inFlight: 1 | 2 | 4;
  readonly members: 1 | 2 | 64;
}

/** Numbers of their own, so that all else of a seed's plan stays what it is. */
const CALLS_NUMBERS = 2 ** 29;

export function drawCalls(seed: number, stream: number): Calls {
  const random = new Random(seed, CALLS_NUMBERS + stream);
  return { inFlight: random.pick([1, 2, 4]), members: random.pick([1, 2, 64]) };
}

export const callsSettings = ({ inFlight, members }: Calls): Readonly<Record<string, string>> => ({
  CLOISTER_CALLS_IN_FLIGHT: String(inFlight),
  CLOISTER_MEMBERS_PER_CALL: String(members),
});

export const showCalls = ({ inFlight, members }: Calls): string =>
  `${String(inFlight)} in flight of ${String(members)} members`;
