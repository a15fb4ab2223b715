/** A text that is to be taken elsewhere, whole, with a button that copies it. */
import { useState } from "preact/hooks";

export function CopyText({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState("");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid("Copied."),
      () => setSaid("This browser does not let a page copy: select the text."),
    );
  };
  return (
    <div class="copy">
      <code tabIndex={0} aria-label={label} role="textbox" aria-readonly="true">
        {text}
      </code>
      <button type="button" class="secondary outline" onClick={copy} aria-label={`Copy ${label}`}>
        Copy
      </button>
      <small role="status">{said}</small>
    </div>
  );
}
