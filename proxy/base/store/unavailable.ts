/** The one fault of a store that reaches callers: what was asked may not have been kept, and nothing was kept in part. */
export class StoreUnavailable extends Error {
  /** The HTTP edge knows it by this and answers STORE_UNAVAILABLE. */
  readonly code = "STORE_UNAVAILABLE";
  constructor(cause: unknown) {
    super("the store could not do it", { cause });
    this.name = "StoreUnavailable";
  }
}
