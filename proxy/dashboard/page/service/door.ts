/**
 * Where a request waits for its person: the session has ended, or a change is asked for twice. The dialog that answers
 * stands over the screen, so what was typed there stays; then the request goes on.
 */
import { Cell } from "./cell.ts";
import { Cancelled } from "./faults.ts";

export type Need = "session" | "fresh";

export interface Waiting {
  readonly need: Need;
  /** The passkey was used. */
  readonly done: () => void;
  readonly cancel: () => void;
}

/** What the dialog shows; undefined: there is none. */
export const waiting = new Cell<Waiting | undefined>(undefined);

let passed: Promise<void> | undefined;

/** Resolves when a passkey was used; all requests that wait meanwhile wait for the one dialog. Throws Cancelled. */
export function passDoor(need: Need): Promise<void> {
  passed ??= new Promise<void>((resolve, reject) => {
    const end = (then: () => void) => () => {
      passed = undefined;
      waiting.set(undefined);
      then();
    };
    const refuse = (): void => {
      reject(new Cancelled());
    };
    waiting.set({ need, done: end(resolve), cancel: end(refuse) });
  });
  return passed;
}
