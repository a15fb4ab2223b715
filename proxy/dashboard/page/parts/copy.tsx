/** A text to take elsewhere, with a button that copies it. */
import { useState } from "preact/hooks";
import { Press } from "./button.tsx";

export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [said, say] = useState("");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        say("Copied.");
      },
      () => {
        say("The browser does not allow it: select the text and copy it.");
      },
    );
  };
  return (
    <div class="copy">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <div class="actions">
        <Press small onPress={copy}>
          {label}
        </Press>
        <span role="status" class="muted">
          {said}
        </span>
      </div>
    </div>
  );
}
