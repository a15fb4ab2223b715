/** A labelled field with what is wrong with it beside it. */
import { useId } from "preact/hooks";
import type { ComponentChildren } from "preact";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (text: string) => void;
  /** In words; undefined while nothing is wrong. */
  readonly fault?: string | undefined;
  readonly hint?: ComponentChildren;
  readonly type?: "text" | "password";
  readonly inputMode?: "decimal" | "text";
  readonly autoComplete?: string;
  readonly isLong?: boolean;
  readonly name: string;
  readonly disabled?: boolean;
}

export function Field({ label, value, onValue, fault, hint, isLong = false, ...rest }: FieldProps) {
  const id = useId();
  const isWrong = fault !== undefined;
  const shared = {
    ...{ id, value, name: rest.name, disabled: rest.disabled === true },
    "aria-describedby": `${id}-help`,
    // Pico paints a field that is right green; only what is wrong is of interest here.
    ...(isWrong ? { "aria-invalid": true as const } : {}),
  };
  const typed = (event: { currentTarget: { value: string } }): void => onValue(event.currentTarget.value);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {isLong ? (
        <textarea {...shared} rows={3} spellcheck={false} autocomplete="off" onInput={typed} />
      ) : (
        <Line {...rest} {...shared} onInput={typed} />
      )}
      <small id={`${id}-help`} class={isWrong ? "wrong" : undefined}>
        {isWrong ? fault : hint}
      </small>
    </div>
  );
}

type LineProps = Pick<FieldProps, "type" | "inputMode" | "autoComplete" | "value" | "name"> & {
  readonly id: string;
  readonly disabled: boolean;
  readonly onInput: (event: { currentTarget: { value: string } }) => void;
};

function Line({ type = "text", inputMode = "text", autoComplete = "off", ...rest }: LineProps) {
  const shared = { ...rest, autocomplete: autoComplete, spellcheck: false };
  return type === "password" ? (
    <input type="password" {...shared} />
  ) : (
    <input type="text" inputMode={inputMode} {...shared} />
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly hint?: string;
}

export function Choice({ label, name, value, onValue, options, hint }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
      {hint !== undefined && <small>{hint}</small>}
    </div>
  );
}
