// What is started together: stopped in the opposite order, also when one of the later ones does not start, and watched
// for one that ends by itself.

interface Party {
  stop(): unknown;
}

export class Parties {
  readonly #started: Party[] = [];
  readonly #fail: (what: string) => void;
  #isStopping = false;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;

  private constructor() {
    let fail: (what: string) => void = () => undefined;
    this.failed = new Promise((resolve) => (fail = resolve));
    this.#fail = fail;
  }

  /** What `begin` makes; when it throws, what it had added is stopped. */
  static async start<T>(begin: (parties: Parties) => Promise<T>): Promise<T> {
    const parties = new Parties();
    try {
      return await begin(parties);
    } catch (error) {
      await parties.stop();
      throw error;
    }
  }

  add<T extends Party>(party: T): T {
    this.#started.push(party);
    return party;
  }

  /** One of them failed, as it says itself. */
  readonly fail = (what: string): void => {
    if (!this.#isStopping) this.#fail(what);
  };

  watch(ended: Promise<string>, failure: (how: string) => string): void {
    void ended.then((how) => this.fail(failure(how)));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const party of this.#started.splice(0).reverse()) await party.stop();
  }
}
