/** The browser's own modal dialog: it keeps the focus, closes with Escape, and gives the focus back. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

export function Dialog({
  title,
  onClose,
  children,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  const closing = useRef(onClose);
  closing.current = onClose;
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog === null) return;
    dialog.showModal();
    const close = (): void => {
      closing.current();
    };
    dialog.addEventListener("close", close);
    return () => {
      dialog.removeEventListener("close", close);
      dialog.close();
    };
  }, []);
  return (
    <dialog ref={element} aria-labelledby={id}>
      <article>
        <h2 id={id}>{title}</h2>
        {children}
      </article>
    </dialog>
  );
}
