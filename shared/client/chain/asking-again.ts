/**
 * Behind one address of a provider's many nodes answer: one may leave logs out, or be some blocks behind the one that
 * answered before. So what does not fit together, or is refused, is asked again before anybody is told of it.
 */
import { delay } from "../base/aborting.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import { NodeRefused } from "./json-rpc.ts";
import { Elsewhere } from "./nodes.ts";

/** Behind the first time. */
const MORE_TRIES = 3;

/** Each pause is twice as long as the one before. Throws NODE_UNREACHABLE and CHAIN_DOUBTED, or the signal's reason. */
export async function askedAgain<T>(
  ask: () => Promise<T>,
  pauseMs: number,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let failures = 0; ;) {
    try {
      return await ask();
    } catch (error) {
      await pauseAfter(error, failures++, pauseMs, signal);
    }
  }
}

/** Returns when it may be asked again, and throws what is final. */
export async function pauseAfter(
  error: unknown,
  failuresBefore: number,
  pauseMs: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!isDoubt(error) || error instanceof Elsewhere) throw error;
  if (failuresBefore < MORE_TRIES) return delay(pauseMs * 2 ** failuresBefore, signal);
  if (!(error instanceof NodeRefused)) throw error;
  throw new ClientError("NODE_UNREACHABLE", error.message, { cause: error });
}

/** The node answered, and not so that it can be believed or used: unlike one that does not answer at all. */
function isDoubt(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return [error, error.cause].some((one) => one instanceof NodeRefused) || hasCode(error, "CHAIN_DOUBTED");
}
