/** A button that asks before it does what cannot be undone, and says what will stop. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Act, Press, type Look } from "./button.tsx";
import { Dialog } from "./dialog.tsx";

export function Confirm({
  button,
  look = "quiet",
  title,
  yes,
  act,
  children,
}: {
  readonly button: string;
  readonly look?: Look;
  readonly title: string;
  readonly yes: string;
  readonly act: () => Promise<unknown>;
  /** What it does; shown in the dialog. */
  readonly children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => {
    setOpen(false);
  };
  return (
    <>
      <Press
        small
        look={look}
        onPress={() => {
          setOpen(true);
        }}
      >
        {button}
      </Press>
      {isOpen && (
        <Dialog title={title} onClose={close}>
          {children}
          <footer>
            <Press onPress={close}>Cancel</Press>
            <Act look="danger" act={() => act().then(close)}>
              {yes}
            </Act>
          </footer>
        </Dialog>
      )}
    </>
  );
}
