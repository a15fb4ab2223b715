/** The dashboard's refusals, with codes of its own table; those of the parts that it shares with the proxy are translated here. */
import { DASHBOARD_ERRORS, type DashboardErrorCode, type DashboardProblem } from "./contract/errors.ts";
import { ApiError, type FieldError } from "../base/http/errors.ts";
import { faultOf, problemDocument } from "../base/http/problems.ts";

interface Details {
  readonly fields?: readonly FieldError[] | undefined;
  readonly retryAfterSecs?: number | undefined;
  readonly cause?: unknown;
}

export class DashboardError extends Error {
  readonly code: DashboardErrorCode;
  readonly fields: readonly FieldError[] | undefined;
  readonly retryAfterSecs: number | undefined;

  /** `detail` may be shown to anyone. Default: the code's title. */
  constructor(code: DashboardErrorCode, detail?: string, { fields, retryAfterSecs, cause }: Details = {}) {
    super(detail ?? DASHBOARD_ERRORS[code].title, { cause });
    this.name = "DashboardError";
    this.code = code;
    this.fields = fields;
    this.retryAfterSecs = retryAfterSecs;
  }
}

/** What is wrong with one field of a body, for whoever fills in the form. */
export function wrongField(path: string, message: string): DashboardError {
  return new DashboardError("INVALID_REQUEST", message, { fields: [{ path, message }] });
}

/** What one function refuses in words is beside this field. */
export async function asField<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isRefusalInWords(error)) throw wrongField(path, error.message);
    throw error;
  }
}

/** Registration and fee rules refuse with plain errors, whose words are for people; all else has a class or a code. */
const isRefusalInWords = (error: unknown): error is Error =>
  error instanceof Error && Object.getPrototypeOf(error) === Error.prototype && !("code" in error);

export function asDashboardError(thrown: unknown): DashboardError {
  if (thrown instanceof DashboardError) return thrown;
  if (thrown instanceof ApiError && Object.hasOwn(DASHBOARD_ERRORS, thrown.code)) {
    const { fields, retryAfterSecs, cause } = thrown;
    return new DashboardError(thrown.code as DashboardErrorCode, thrown.message, {
      fields,
      retryAfterSecs,
      cause,
    });
  }
  const { code, message, retryAfterSecs } = faultOf(thrown);
  return new DashboardError(code, message, { retryAfterSecs, cause: thrown });
}

export const dashboardProblem = (error: DashboardError, requestId: string): DashboardProblem =>
  problemDocument("dashboard", error, DASHBOARD_ERRORS[error.code], requestId);
