// What the operator's commands share: a result that is shown as text or JSON, and the refusal of wrong words.

import type { Measurement } from "../../../shared/protocol/attestation-document.ts";

export interface Result {
  readonly data: unknown;
  readonly text: string;
}

/** Exit code 2: the command line is wrong. */
export class UsageError extends Error {}

export function need(word: string | undefined, name: string): string {
  if (word === undefined || word === "") throw new UsageError(`${name} is missing; see --help`);
  return word;
}

/** The JSON that `npm run measure -- --json` and `npm run build-image` write. */
export function readMeasurement(text: string): Measurement {
  const wrong = new UsageError("--measurement is no JSON with pcr0, pcr1 and pcr2");
  let read: Partial<Record<keyof Measurement, unknown>> | null;
  try {
    read = JSON.parse(text) as typeof read;
  } catch {
    throw wrong;
  }
  const { pcr0, pcr1, pcr2 } = read ?? {};
  const isRegister = (value: unknown): value is string =>
    typeof value === "string" && /^[0-9a-f]{96}$/.test(value);
  if (!isRegister(pcr0) || !isRegister(pcr1) || !isRegister(pcr2)) throw wrong;
  return { pcr0, pcr1, pcr2 };
}
