/** Shows what was asked for: while it is waited for, when it cannot be had, and when it is there. */
import type { ComponentChildren } from "preact";
import type { Answer } from "../service/use-answer.ts";
import { Unreachable, wordsOf } from "../service/faults.ts";
import { Press } from "./button.tsx";

export function Answered<T>({
  of: answer,
  children,
}: {
  readonly of: Answer<T>;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, error, isLoading, reload } = answer;
  return (
    <>
      <div role="status">
        {error !== undefined && (
          <div class="notice bad">
            <p>
              {error instanceof Unreachable
                ? `The service cannot be reached. ${data === undefined ? "" : "What is shown is from before. "}This page tries again by itself.`
                : wordsOf(error)}
            </p>
            <Press small onPress={reload}>
              Try again now
            </Press>
          </div>
        )}
        {data === undefined && isLoading && error === undefined && (
          <p aria-busy="true" class="muted">
            Loading …
          </p>
        )}
      </div>
      {data !== undefined && children(data)}
    </>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}
