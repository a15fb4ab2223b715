/** A screen's heading, which takes the focus when the screen comes. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export function Screen({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => void (document.title = `${title} – Cloister wallet`), [title]);
  const heading = useRef<HTMLHeadingElement>(null);
  // Who reads with the ears, or without a mouse, begins at the new screen and not behind the old link. At once: later,
  // it would take the focus from somebody who already types.
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <section>
      <h1 tabIndex={-1} ref={heading}>
        {title}
      </h1>
      {children}
    </section>
  );
}
