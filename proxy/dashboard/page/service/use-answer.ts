/** What a screen shows of one endpoint: asked when it opens, and again when the connection is back. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { AnswerOf, DashboardEndpointName } from "../../contract/endpoints.ts";
import { ask } from "./ask.ts";
import { Unreachable } from "./faults.ts";
import type { Given } from "./request.ts";

export interface Answer<T> {
  /** The latest; while a newer one is asked for, and after that failed, the one before. */
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
  /** For a change that answers with the new state. */
  readonly replace: (data: T) => void;
}

const AGAIN_MS = 5_000;

/** `everyMs`: asks again in that rhythm while the page is looked at. */
export function useAnswer<Name extends DashboardEndpointName>(
  name: Name,
  given: Given<Name>,
  everyMs?: number,
): Answer<AnswerOf<Name>> {
  const [state, setState] = useState<{ data?: AnswerOf<Name>; error?: unknown; isLoading: boolean }>({
    isLoading: true,
  });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(given);
  const latest = useRef(given);
  latest.current = given;
  const reload = useCallback(() => {
    setTurn((before) => before + 1);
  }, []);

  useEffect(() => {
    const end = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    ask(name, latest.current, end.signal).then(
      (data) => {
        if (!end.signal.aborted) setState({ data, isLoading: false });
      },
      (error: unknown) => {
        if (!end.signal.aborted) setState(({ data }) => ({ ...(data && { data }), error, isLoading: false }));
      },
    );
    return () => {
      end.abort();
    };
  }, [name, key, turn]);

  const isAway = state.error instanceof Unreachable;
  useEffect(() => {
    const rhythm = isAway ? AGAIN_MS : everyMs;
    const timer = rhythm === undefined ? undefined : setInterval(() => !document.hidden && reload(), rhythm);
    if (isAway) addEventListener("online", reload);
    return () => {
      clearInterval(timer);
      removeEventListener("online", reload);
    };
  }, [isAway, everyMs]);

  const replace = useCallback((data: AnswerOf<Name>) => {
    setState({ data, isLoading: false });
  }, []);
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload, replace };
}
