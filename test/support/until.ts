/** Waiting for a condition, with a deadline, instead of sleeping and hoping. */
import { PATIENCE_MS, poll } from "../../scripts/base/poll.ts";

type Answer<T> = T | undefined | false;
type Ask<T> = () => Promise<Answer<T>> | Answer<T>;

/** Resolves with the first answer that is not undefined or false. Throws when there is none in time. */
export async function until<T>(what: string, ask: Ask<T>, withinMs?: number): Promise<T>;
/** What is waited for is told by the words of the condition itself. */
export async function until<T>(ask: Ask<T>): Promise<T>;
export async function until<T>(
  what: string | Ask<T>,
  ask = what as Ask<T>,
  withinMs = PATIENCE_MS,
): Promise<T> {
  const look = async (): Promise<T | undefined> => {
    const answer = await ask();
    return answer === false ? undefined : answer;
  };
  const found = await poll(look, withinMs, 10);
  if (found === undefined) throw new Error(`in vain waited for: ${String(what)}`);
  return found;
}
