/**
 * A form whose rules are the API's own schema. What is wrong is said beside its field, and the first such field takes
 * the focus; a second press while the first is under way does nothing; `id` stays until the thing is made, so that a
 * repetition after a lost answer makes nothing more.
 */
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type * as z from "zod";
import { Cancelled, Refused, wordsOf } from "./faults.ts";

type Texts<Name extends string> = Readonly<Record<Name, string>>;

export interface FormOptions<Schema extends z.ZodType, Name extends string> {
  readonly schema: Schema;
  readonly initial: Texts<Name>;
  /** The schema's input, made of what was typed. Paths in it are the fields' names. */
  body(values: Texts<Name>, id: string): unknown;
  /** What the schema cannot say of a typed text, by field. */
  check?(values: Texts<Name>): Partial<Texts<Name>>;
  send(body: z.output<Schema>): Promise<unknown>;
  /** What was typed stays when it was sent. */
  readonly keeps?: boolean;
}

export interface Form<Name extends string> {
  readonly element: RefObject<HTMLFormElement | null>;
  readonly values: Texts<Name>;
  readonly faults: Partial<Texts<Name>>;
  /** What is wrong with the whole. */
  readonly fault: string | undefined;
  readonly isBusy: boolean;
  readonly set: (name: Name, text: string) => void;
  readonly submit: (event: Event) => void;
  readonly reset: () => void;
}

export function useForm<Schema extends z.ZodType, Name extends string>(
  options: FormOptions<Schema, Name>,
): Form<Name> {
  const [values, setValues] = useState(options.initial);
  const [faults, setFaults] = useState<Partial<Texts<Name>>>({});
  const [fault, setFault] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const element = useRef<HTMLFormElement>(null);
  const underWay = useRef(false);
  const id = useRef(crypto.randomUUID());

  useEffect(() => {
    element.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [faults]);

  const reset = (): void => {
    setValues(options.initial);
    setFaults({});
    setFault(undefined);
  };
  async function send(): Promise<void> {
    const body = options.schema.safeParse(options.body(values, id.current));
    const wrong = {
      ...faultsOf<Name>(
        body.success ? [] : body.error.issues.map((issue) => [issue.path.join("."), issue.message]),
      ),
      ...options.check?.(values),
    };
    setFault(undefined);
    setFaults(wrong);
    if (Object.keys(wrong).length > 0 || !body.success) return;
    try {
      await options.send(body.data);
      id.current = crypto.randomUUID();
      if (options.keeps !== true) reset();
    } catch (error) {
      const { beside, whole } = said(error, Object.keys(options.initial));
      setFaults(faultsOf<Name>(beside));
      setFault(whole);
    }
  }
  const submit = (event: Event): void => {
    event.preventDefault();
    if (underWay.current) return;
    underWay.current = true;
    setBusy(true);
    void send().finally(() => {
      underWay.current = false;
      setBusy(false);
    });
  };
  const set = (name: Name, text: string): void => {
    setValues((before) => ({ ...before, [name]: text }));
    setFaults(({ [name]: _mended, ...others }: Partial<Texts<Name>>) => others as Partial<Texts<Name>>);
  };
  return { element, values, faults, fault, isBusy, set, submit, reset };
}

/** Of several faults of a field the first. */
function faultsOf<Name extends string>(faults: readonly (readonly [string, string])[]): Partial<Texts<Name>> {
  return Object.fromEntries([...faults].reverse()) as Partial<Texts<Name>>;
}

/** What the service says of fields that are here goes beside them; the rest to the whole form. */
function said(
  error: unknown,
  names: readonly string[],
): { beside: readonly (readonly [string, string])[]; whole: string | undefined } {
  if (error instanceof Cancelled) return { beside: [], whole: error.message };
  const errors = error instanceof Refused ? (error.problem.errors ?? []) : [];
  const beside = errors
    .filter(({ path }) => names.includes(path))
    .map(({ path, message }) => [path, message] as const);
  const others = errors
    .filter(({ path }) => !names.includes(path))
    .map(({ path, message }) => `${path}: ${message}`);
  if (beside.length > 0 && others.length === 0) return { beside, whole: undefined };
  return { beside, whole: [wordsOf(error), ...others].join(" ") };
}
