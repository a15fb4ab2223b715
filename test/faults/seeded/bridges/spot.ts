/** A host of an instance with bridges: a proxy and a relay on the same data, each of which can be killed or held still alone. */
import type { Place } from "../hosts.ts";

export const PROGRAMS = ["proxy", "relay", "both"] as const;
export type Whom = (typeof PROGRAMS)[number];

export class Spot {
  readonly proxy: Place;
  readonly relay: Place;

  constructor(proxy: Place, relay: Place) {
    this.proxy = proxy;
    this.relay = relay;
  }

  #of(whom: Whom): readonly Place[] {
    return whom === "both" ? [this.proxy, this.relay] : [this[whom]];
  }

  get baseUrl(): string {
    return this.proxy.baseUrl;
  }
  get isUp(): boolean {
    return this.proxy.isUp;
  }
  get log(): readonly string[] {
    return [...this.proxy.log, "-- its relay", ...this.relay.log];
  }
  get kills(): number {
    return this.proxy.kills + this.relay.kills;
  }

  /** The proxy makes the store, without which no relay runs. */
  async start(): Promise<void> {
    await this.proxy.start();
    await this.relay.start();
  }
  async serving(): Promise<void> {
    await this.proxy.serving();
    await this.relay.serving();
  }
  kill(whom: Whom, pauseMs = 0): void {
    for (const place of this.#of(whom)) {
      place.pauseMs = pauseMs;
      place.kill();
    }
  }
  freeze(whom: Whom): void {
    for (const place of this.#of(whom)) place.freeze();
  }
  thaw(): void {
    for (const place of this.#of("both")) place.thaw();
  }
  setClock(aheadMs: number): void {
    for (const place of this.#of("both")) place.setClock(aheadMs);
  }
  /** True when both went as they should. */
  async stop(): Promise<boolean> {
    const ends = await Promise.all(this.#of("both").map((place) => place.stop()));
    return ends.every(Boolean);
  }
}
