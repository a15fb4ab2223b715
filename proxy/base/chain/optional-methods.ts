/**
 * Methods and forms that not every node has. Vendors refuse what they lack in their own ways: with any code of JSON-RPC,
 * with HTTP 400 or 403, or by cutting the connection. So whatever is no answer of such a method means that this node
 * lacks it, as long as it answers another question; it is not asked for it again for an hour.
 */
import type { Logger } from "../logging.ts";
import { ChainBusy, ChainRefused, ChainUnreachable } from "./json-rpc.ts";

/** What each is for, and what is done without it. */
export const OPTIONAL_METHODS = {
  eth_simulateV1: {
    for: "which tickets of a call the pool would refuse, and its gas",
    without: "each ticket goes, and one that is refused costs gas; eth_estimateGas says how much gas",
  },
  eth_maxPriorityFeePerGas: {
    for: "what a transaction bids above the base fee",
    without: "what eth_gasPrice is above the base fee of the newest block",
  },
  "EIP-1898": {
    for: "several answers of one block, by its hash",
    without: "asked by number, and believed if the block of that number is still the same",
  },
  /** Of the watcher, which is refused by transaction, and remembers nothing of it. */
  debug_traceTransaction: {
    for: "what another contract has handed to the pool",
    without: "that it cannot be known is a finding of the watcher's",
  },
} as const;
export type OptionalMethod = keyof typeof OPTIONAL_METHODS;

export interface OptionalOptions {
  /** A question that every node answers: whether it is there at all. */
  readonly isThere: () => Promise<unknown>;
  readonly onLacking?: ((method: OptionalMethod, reason: string) => void) | undefined;
  /** Milliseconds, of any clock that only goes on. */
  readonly now?: () => number;
}

const RETRY_MS = 3_600_000;

/** For the log of a program. */
export const lackingTold =
  (logger: Pick<Logger, "warn">) =>
  (method: OptionalMethod, reason: string): void =>
    logger.warn(
      { method, reason, instead: OPTIONAL_METHODS[method].without },
      "the node lacks a method; it is asked for it again in an hour",
    );

export function createOptional({ isThere, onLacking, now = () => performance.now() }: OptionalOptions) {
  const lackedUntil = new Map<OptionalMethod, number>();

  /** Undefined where the node lacks it. */
  return async <T>(method: OptionalMethod, ask: () => Promise<T>): Promise<T | undefined> => {
    if (now() < (lackedUntil.get(method) ?? -Infinity)) return undefined;
    try {
      return await ask();
    } catch (error) {
      const isNoAnswer = error instanceof ChainRefused || error instanceof ChainUnreachable;
      // Too busy is busy, and says nothing of what it has.
      if (!isNoAnswer || error instanceof ChainBusy) throw error;
      await isThere();
      lackedUntil.set(method, now() + RETRY_MS);
      onLacking?.(method, error.message);
      return undefined;
    }
  };
}
