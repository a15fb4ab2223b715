/** What a running service was asked and what it answered, as `npm run examples` recorded it. Holds no credential. */
import recorded from "./examples.json" with { type: "json" };

export interface Example {
  /** Of the document's example; unique within its operation. */
  readonly name: string;
  readonly summary: string;
  /** Which of the two instances was asked. */
  readonly network: "first" | "second";
  /** What the request carried, and the example does not. */
  readonly credential: "api-key" | "session" | "none";
  readonly query?: Readonly<Record<string, string>>;
  readonly path?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Name of this operation's example whose body was sent once more. */
  readonly bodyOf?: string;
  readonly response: { readonly status: number; readonly type: string; readonly body: unknown };
}

/** In the places of credentials. */
export const PLACEHOLDERS = {
  session: "sst_a-session-token-of-your-own",
  accessToken: "an-access-token-of-your-identity-provider",
} as const;

/** By the names of ENDPOINTS. */
export const EXAMPLES = recorded as unknown as Readonly<Partial<Record<string, readonly Example[]>>>;
