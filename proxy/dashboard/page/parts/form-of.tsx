/** A form's fields, what is wrong with the whole, and its button. The browser's own checks are off: ours say what to do. */
import type { ComponentChildren } from "preact";
import type { Form } from "../service/form.ts";
import { Press, Submit, type Look } from "./button.tsx";

export function FormOf<Name extends string>({
  form,
  yes,
  look = "main",
  cancel,
  children,
}: {
  readonly form: Form<Name>;
  readonly yes: string;
  readonly look?: Look;
  /** In a dialog. */
  readonly cancel?: () => void;
  readonly children: ComponentChildren;
}) {
  return (
    <form ref={form.element} onSubmit={form.submit} noValidate>
      {children}
      <div role="alert">{form.fault !== undefined && <div class="notice bad">{form.fault}</div>}</div>
      <div class="actions">
        <Submit look={look} isBusy={form.isBusy}>
          {yes}
        </Submit>
        {cancel !== undefined && <Press onPress={cancel}>Cancel</Press>}
      </div>
    </form>
  );
}
