/**
 * A refusal on its way out of a worker, where it becomes a ClientError of the same code. That class stays outside:
 * it would bring all the service's errors into the worker's file.
 */
import type { ClientErrorCode } from "../../base/errors.ts";

export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: ClientErrorCode;

  /** `detail` must not depend on a witness: errors end up in logs. */
  constructor(code: ClientErrorCode, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.code = code;
  }
}
