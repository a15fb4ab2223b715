/** JSON has no integers of this size: bigints travel as decimal text. */
export type Text<T> = {
  readonly [K in keyof T]: T[K] extends bigint
    ? string
    : T[K] extends readonly bigint[]
      ? readonly string[]
      : T[K];
};
