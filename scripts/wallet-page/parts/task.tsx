/** Something that takes time: told step by step, one at a time, with a button that ends it. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Progress, StepEvent } from "../../../shared/client/index.ts";
import { SIDES, wordsOf } from "../words.ts";

interface Handed {
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

export interface Task<T> {
  readonly isRunning: boolean;
  readonly step: StepEvent | undefined;
  readonly result: T | undefined;
  readonly error: unknown;
  /** Does nothing while the last one runs: a second click is no second payment. */
  run(work: (handed: Handed) => Promise<T>): void;
  cancel(): void;
  forget(): void;
}

interface State<T> {
  readonly step?: StepEvent;
  readonly result?: T;
  readonly error?: unknown;
}

export function useTask<T>(): Task<T> {
  const [state, setState] = useState<State<T>>({});
  const running = useRef<AbortController | undefined>(undefined);
  const [isRunning, setRunning] = useState(false);
  // A payment outlives its screen; only what it tells has nobody left to tell it to.
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => void (isShown.current = false);
  }, []);
  const show = (next: State<T>): void => {
    if (isShown.current) setState(next);
  };

  async function work(of: (handed: Handed) => Promise<T>, ending: AbortController): Promise<void> {
    try {
      const progress = (step: StepEvent): void => {
        if (running.current === ending) show({ step });
      };
      show({ result: await of({ signal: ending.signal, progress }) });
    } catch (error) {
      show({ error });
    } finally {
      running.current = undefined;
      if (isShown.current) setRunning(false);
    }
  }

  return {
    isRunning,
    step: state.step,
    result: state.result,
    error: state.error,
    run(of) {
      if (running.current !== undefined) return;
      running.current = new AbortController();
      setRunning(true);
      setState({});
      void work(of, running.current);
    },
    cancel: () => running.current?.abort(),
    forget: () => setState({}),
  };
}

const STEPS: Readonly<Record<StepEvent["step"], string>> = {
  sync: "Reading what is new",
  prepare: "Choosing notes and fees",
  sign: "Waiting for your signature",
  prove: "Proving on this device",
  download: "Fetching the proving key, this once",
  load: "Checking the proving key",
  submit: "Sending it to the service",
  approve: "Waiting for your approval",
  send: "Waiting for your transaction",
  confirm: "Waiting for the chain",
  deliver: "Waiting for the other side",
};

/** What a task is at, or why it failed. Said to screen readers as it changes. */
export function TaskStatus<T>({ task, done }: { task: Task<T>; done?: (result: T) => ComponentChildren }) {
  const { step, error, result } = task;
  return (
    <div class="task" role="status">
      {task.isRunning && (
        <>
          <label>
            {step === undefined ? "Working" : STEPS[step.step]} …
            <progress value={step?.fraction} max={1} />
          </label>
          <button type="button" class="secondary outline" onClick={() => task.cancel()}>
            Cancel
          </button>
        </>
      )}
      {error !== undefined && <Fault error={error} />}
      {result !== undefined && done?.(result)}
    </div>
  );
}

export function Fault({ error }: { error: unknown }) {
  const { side, text } = wordsOf(error);
  return (
    <p class="fault" data-side={side}>
      <strong>{SIDES[side]}:</strong> {text}
    </p>
  );
}
