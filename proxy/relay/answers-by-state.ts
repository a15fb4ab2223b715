/**
 * Answers that are made once for each state of the chains. A stranger can burn a thousand grains towards one address; were
 * everything made anew for each of them, whenever one is asked about, he would hold up all who are served here.
 */
export interface AnswersByState {
  /** The answer of before, as long as nothing has changed since. */
  of<Value>(what: string, make: () => Value): Value;
}

/** `state`: the same text as long as every answer is the same. */
export function createAnswersByState(state: () => string): AnswersByState {
  let at: string | undefined;
  const kept = new Map<string, unknown>();
  return {
    of<Value>(what: string, make: () => Value): Value {
      const now = state();
      if (now !== at) {
        kept.clear();
        at = now;
      }
      if (!kept.has(what)) kept.set(what, make());
      return kept.get(what) as Value;
    },
  };
}
