/** What the proxy and the dashboard say alike of a refusal, each by its own table of codes: to whoever asked (RFC 9457), and to the log. */
import type { Logger } from "../logging.ts";
import type { FieldError } from "./errors.ts";

export const PROBLEM_TYPE = "application/problem+json";

export interface Refusal<Code extends string> {
  readonly code: Code;
  /** May be shown to anyone. */
  readonly message: string;
  readonly fields: readonly FieldError[] | undefined;
  readonly cause?: unknown;
}

/** A row of a table of codes. */
export interface RefusalTerms {
  readonly status: number;
  readonly title: string;
  readonly retryable: boolean;
}

export function problemDocument<Code extends string>(
  table: "error" | "dashboard",
  { code, message, fields }: Refusal<Code>,
  { status, title, retryable }: RefusalTerms,
  requestId: string,
) {
  return {
    ...{ type: `urn:cloister:${table}:${code}`, title, status, detail: message, code, retryable },
    request_id: requestId,
    ...(fields === undefined ? {} : { errors: [...fields] }),
  };
}

export interface Fault {
  readonly code: "STORE_UNAVAILABLE" | "INTERNAL";
  readonly message: string;
  readonly retryAfterSecs?: number;
}

/** What is said of something thrown that is no refusal: nothing of it, since its words may quote a secret. */
export function faultOf(thrown: unknown): Fault {
  // store/ stands below http/ and cannot throw a refusal; it marks the one fault that a caller may be told.
  if (thrown instanceof Error && "code" in thrown && thrown.code === "STORE_UNAVAILABLE")
    return {
      ...{ code: "STORE_UNAVAILABLE", message: "The store cannot do this at the moment" },
      retryAfterSecs: 5,
    };
  return { code: "INTERNAL", message: "Something failed on our side; the request id tells us what" };
}

/** Refusals with a cause are somebody's to look at; an INTERNAL one is ours. */
export function logRefusal(
  logger: Logger,
  { code, cause }: Pick<Refusal<string>, "code" | "cause">,
  thrown: unknown,
  requestId: string,
): void {
  if (code !== "INTERNAL" && cause === undefined) return;
  const line = { request_id: requestId, code, err: cause ?? thrown };
  logger[code === "INTERNAL" ? "error" : "warn"](line, "refused");
}
