/** What holds every waiting ticket and the operator can mend; each part of the submitter reports what it meets. */
export type Blocked = "chain" | "enclave" | "gas";

export class Blockage {
  #by: Blocked | undefined;

  get by(): Blocked | undefined {
    return this.#by;
  }

  report(by: Blocked): void {
    this.#by = by;
  }

  /** All of it, or only if it is what is named. */
  clear(only?: Blocked): void {
    if (only === undefined || this.#by === only) this.#by = undefined;
  }
}
