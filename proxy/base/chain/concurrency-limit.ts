/**
 * At most so many calls to the node at a time, and so many more in a queue: what callers ask at will must
 * not take the node from the sequencer and the indexer. A full queue says so at once.
 */
import { ChainUnreachable } from "./json-rpc.ts";

export type ConcurrencyLimit = ReturnType<typeof createConcurrencyLimit>;

export function createConcurrencyLimit(atOnce: number, inQueue: number) {
  let running = 0;
  const waiting: (() => void)[] = [];

  return {
    /** Runs when it is its turn; a call that is given up while it waits is never asked. */
    async run<T>(call: () => Promise<T>, signal: AbortSignal): Promise<T> {
      if (running >= atOnce) {
        if (waiting.length >= inQueue) throw new ChainUnreachable("too many calls to the node are waiting");
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else {
        running++;
      }
      try {
        if (signal.aborted) throw new ChainUnreachable("the call was given up before its turn");
        return await call();
      } finally {
        // The place is handed on, so `running` stays; with nobody waiting it is free.
        const next = waiting.shift();
        if (next === undefined) running--;
        else next();
      }
    },
  };
}
