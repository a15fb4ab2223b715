/** Buttons that say when they are at work. A busy one is not disabled: that would take the focus from it. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { wordsOf } from "../service/faults.ts";

export type Look = "main" | "quiet" | "danger";

interface Common {
  readonly look?: Look;
  readonly small?: boolean;
  readonly children: ComponentChildren;
}

const classesOf = (look: Look, small: boolean): string =>
  [look === "main" ? "" : look, small ? "small" : ""].filter((name) => name !== "").join(" ");

export function Submit({ look = "main", isBusy, children }: Common & { readonly isBusy: boolean }) {
  return (
    <button type="submit" class={classesOf(look, false)} aria-busy={isBusy} aria-disabled={isBusy}>
      {children}
    </button>
  );
}

export function Press({
  look = "quiet",
  small = false,
  onPress,
  children,
}: Common & { readonly onPress: () => void }) {
  return (
    <button type="button" class={classesOf(look, small)} onClick={onPress}>
      {children}
    </button>
  );
}

/** Does one thing that takes a while. What goes wrong is said beside it. */
export function Act({
  look = "quiet",
  small = false,
  act,
  children,
}: Common & { readonly act: () => Promise<unknown> }) {
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const underWay = useRef(false);
  async function run(): Promise<void> {
    if (underWay.current) return;
    underWay.current = true;
    setBusy(true);
    setFault(undefined);
    try {
      await act();
    } catch (error) {
      setFault(wordsOf(error));
    } finally {
      underWay.current = false;
      setBusy(false);
    }
  }
  return (
    <>
      <button
        type="button"
        class={classesOf(look, small)}
        aria-busy={isBusy}
        aria-disabled={isBusy}
        onClick={() => void run()}
      >
        {children}
      </button>
      {fault !== undefined && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </>
  );
}
