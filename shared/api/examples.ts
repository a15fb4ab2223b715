/** What a running service was asked and what it answered, as `npm run examples` recorded it. */
export interface Example {
  /** Of the document's example; unique within its operation. */
  readonly name: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly path?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly response: { readonly status: number; readonly type: string; readonly body: unknown };
}

export const EXAMPLES: Readonly<Partial<Record<string, readonly Example[]>>> = {};
