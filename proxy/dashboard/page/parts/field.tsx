/** One field of a form, with its hint and what is wrong with it, both read out with it. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Form } from "../service/form.ts";

interface Of<Name extends string> {
  readonly form: Form<Name>;
  readonly name: Name;
  readonly label: string;
  readonly hint?: ComponentChildren;
}

function described<Name extends string>({ form, name, hint }: Of<Name>, id: string) {
  const fault = form.faults[name];
  return {
    attributes: {
      id,
      name,
      "aria-invalid": fault === undefined ? undefined : true,
      "aria-describedby":
        [hint === undefined ? "" : `${id}-hint`, fault === undefined ? "" : `${id}-fault`].join(" ").trim() ||
        undefined,
    },
    notes: (
      <>
        {hint !== undefined && (
          <span class="hint" id={`${id}-hint`}>
            {hint}
          </span>
        )}
        {fault !== undefined && (
          <span class="fault" id={`${id}-fault`}>
            {fault}
          </span>
        )}
      </>
    ),
  };
}

export function TextField<Name extends string>(
  props: Of<Name> & {
    readonly inputMode?: "decimal" | "numeric" | "url";
    readonly placeholder?: string;
    readonly autoComplete?: string;
  },
) {
  const id = useId();
  const { attributes, notes } = described(props, id);
  const { form, name, label, inputMode, placeholder, autoComplete = "off" } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...attributes}
        type="text"
        value={form.values[name]}
        autoComplete={autoComplete}
        spellcheck={false}
        {...(inputMode && { inputMode })}
        {...(placeholder !== undefined && { placeholder })}
        onInput={(event) => {
          form.set(name, event.currentTarget.value);
        }}
      />
      {notes}
    </div>
  );
}

export interface Choice {
  readonly value: string;
  readonly text: string;
}

export function ChoiceField<Name extends string>(props: Of<Name> & { readonly choices: readonly Choice[] }) {
  const id = useId();
  const { attributes, notes } = described(props, id);
  const { form, name, label, choices } = props;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        {...attributes}
        value={form.values[name]}
        onChange={(event) => {
          form.set(name, event.currentTarget.value);
        }}
      >
        {choices.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      {notes}
    </div>
  );
}

/** Several of a few; the value is their list with spaces. */
export function ManyField<Name extends string>(props: Of<Name> & { readonly choices: readonly Choice[] }) {
  const id = useId();
  const { attributes, notes } = described(props, id);
  const { form, name, label, choices } = props;
  const chosen = listOf(form.values[name]);
  const { "aria-invalid": invalid, ...group } = attributes;
  return (
    <fieldset class="field choices" id={group.id} aria-describedby={group["aria-describedby"]}>
      <legend>{label}</legend>
      {choices.map(({ value, text }, index) => (
        <label key={value}>
          <input
            type="checkbox"
            name={name}
            value={value}
            checked={chosen.includes(value)}
            aria-invalid={index === 0 ? invalid : undefined}
            onChange={(event) => {
              const others = chosen.filter((other) => other !== value);
              form.set(name, (event.currentTarget.checked ? [...others, value] : others).join(" "));
            }}
          />
          {text}
        </label>
      ))}
      {notes}
    </fieldset>
  );
}

/** The value of a ManyField. */
export const listOf = (text: string): string[] => text.split(" ").filter((item) => item !== "");
