/** The head of a screen: its title, and in a line what the service knows of users from what is shown below. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Eye } from "./icons.tsx";

/** The first screen leaves the focus where the browser has it; each later one is announced by its title. */
let isFirst = true;

export function Screen({
  title,
  known,
  actions,
  children,
}: {
  readonly title: string;
  readonly known: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Before anybody can type: later, it would take the focus from them.
  useLayoutEffect(() => {
    document.title = `${title} · Cloister`;
    if (!isFirst) heading.current?.focus();
    isFirst = false;
  }, [title]);
  return (
    <>
      <div class="head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      <p class="known">
        <Eye />
        <span>
          <span class="unseen">What the service knows: </span>
          {known}
        </span>
      </p>
      {children}
    </>
  );
}
