/** Records that a step has given a number: the number, a space, the record. */
import type { RecordForm } from "./records.ts";

export interface Numbered<T> {
  readonly number: number;
  readonly value: T;
}

const NUMBERED = /^([1-9]\d{0,15}) (.*)$/s;

export function numbered<T>(form: RecordForm<T>): RecordForm<Numbered<T>> {
  return {
    read(text, key) {
      const [, number, rest] = NUMBERED.exec(text) ?? [];
      if (rest === undefined) throw new Error("a record without its number");
      return { number: Number(number), value: form.read(rest, key) };
    },
    write: ({ number, value }, key) => `${String(number)} ${form.write(value, key)}`,
  };
}
