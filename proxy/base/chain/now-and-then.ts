/** A question to the node that is asked now and then, for the operator's figures; nothing is decided by its answer. */
import { ChainRefused, ChainUnreachable } from "./json-rpc.ts";

export function askNowAndThen<T>(question: () => Promise<T>, everyMs: number) {
  let known: T | undefined;
  let asking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function ask(): Promise<void> {
    try {
      known = await question();
    } catch (error) {
      if (!(error instanceof ChainUnreachable || error instanceof ChainRefused)) throw error;
      known = undefined;
    }
  }
  const look = (): void => {
    asking ??= ask().finally(() => (asking = undefined));
  };

  return {
    start(): void {
      timer = setInterval(look, everyMs);
      look();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await asking;
    },
    /** At most one interval old; undefined when the node did not say when it was last asked. */
    answer: () => known,
  };
}
