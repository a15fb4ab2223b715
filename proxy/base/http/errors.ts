/** The one way a refusal reaches a caller with its own words. Anything else that is thrown becomes INTERNAL and goes to the log. */
import type { ErrorCode } from "../../../shared/api/errors.ts";

export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[] | undefined;
  readonly retryAfterSecs: number | undefined;
  /** RATE_LIMITED only: the name of the limit that was hit. */
  readonly policy: string | undefined;

  /** `detail` may be shown to anyone: no stack, key, credential, query string or upstream text. */
  constructor(
    code: ErrorCode,
    detail: string,
    options: {
      fields?: readonly FieldError[];
      retryAfterSecs?: number | undefined;
      policy?: string;
      cause?: unknown;
    } = {},
  ) {
    super(detail, { cause: options.cause });
    this.name = "ApiError";
    this.code = code;
    this.fields = options.fields;
    this.retryAfterSecs = options.retryAfterSecs;
    this.policy = options.policy;
  }
}
