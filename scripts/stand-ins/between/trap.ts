/** The moment at which a proxy is killed: before a party receives its question, or when it has answered and the proxy does not know. */
export type Moment = "before" | "after";

interface Set {
  readonly what: string | undefined;
  readonly moment: Moment;
  readonly act: () => void;
  left: number;
}

export class Trap {
  #set: Set | undefined;

  /** `what`: the kind of question; any, when it is undefined. Springs at the `nth` from now. */
  set(what: string | undefined, moment: Moment, act: () => void, nth = 1): void {
    this.#set = { what, moment, act, left: nth };
  }

  /** True when it springs now. */
  catches(what: string, moment: Moment): boolean {
    const set = this.#set;
    if (set?.moment !== moment || (set.what !== undefined && set.what !== what)) return false;
    set.left -= 1;
    if (set.left > 0) return false;
    this.#set = undefined;
    set.act();
    return true;
  }

  /** True when it was still set. */
  clear(): boolean {
    const wasSet = this.#set !== undefined;
    this.#set = undefined;
    return wasSet;
  }
}
