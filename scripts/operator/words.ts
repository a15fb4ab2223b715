// What the operator's commands share: a result that is shown as text or JSON, and the refusal of wrong words.

export interface Result {
  readonly data: unknown;
  readonly text: string;
}

/** Exit code 2: the command line is to be mended. */
export class UsageError extends Error {}

export function need(word: string | undefined, name: string): string {
  if (word === undefined || word === "") throw new UsageError(`${name} is missing; see --help`);
  return word;
}
