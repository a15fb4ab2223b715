/**
 * Stands before everybody outside that the services of a stack ask: each of its nodes, the attester and the exchange lies
 * by chance, from a seed. Nothing that people are told of true addresses goes through it. DEVELOPMENT ONLY.
 */
import { randomInt } from "node:crypto";
import { wholeNumber } from "../base/command.ts";
import { startAttesterRelay } from "../stand-ins/between/attester-relay.ts";
import { startExchangeRelay } from "../stand-ins/between/exchange-relay.ts";
import { Mood } from "../stand-ins/between/mood.ts";
import { startRpcRelay } from "../stand-ins/between/node-relay.ts";
import { Random } from "../base/random.ts";

/** Of a hundred answers. */
const LIES_PERCENT = 8;

interface Party {
  readonly url: string;
  setMood(mood: Mood): void;
  takeStruck(): ReadonlyMap<string, number>;
  close(): Promise<void>;
}

const MAX_SEED = 2 ** 32;

/** Of a command's option. */
export const liarOf = (seed: string): Liar =>
  new Liar(wholeNumber("--liar", seed, 0, MAX_SEED - 1) || randomInt(1, MAX_SEED));

export class Liar {
  readonly seed: number;
  readonly #parties: Party[] = [];

  constructor(seed: number) {
    this.seed = seed;
  }

  /** Addresses to be asked in the place of this one; the two nodes of the pool's chain do not agree with each other. */
  async nodes(url: string): Promise<string> {
    return `${await this.node(url)} ${await this.node(url)}`;
  }

  readonly node = (url: string): Promise<string> => this.#before(startRpcRelay(url));
  readonly attester = (url: string): Promise<string> => this.#before(startAttesterRelay(url));
  readonly exchange = (url: string): Promise<string> => this.#before(startExchangeRelay(url));

  /** What they did, how often. */
  told(): string {
    const counts = new Map<string, number>();
    for (const party of this.#parties)
      for (const [name, times] of party.takeStruck()) counts.set(name, (counts.get(name) ?? 0) + times);
    const rows = [...counts].sort(([, one], [, other]) => other - one);
    return rows.map(([name, times]) => `${name} ${String(times)}`).join(", ");
  }

  async stop(): Promise<void> {
    await Promise.all(this.#parties.map((party) => party.close()));
  }

  async #before(starting: Promise<Party>): Promise<string> {
    const party = await starting;
    party.setMood(new Mood(new Random(this.seed, this.#parties.length), LIES_PERCENT));
    this.#parties.push(party);
    return party.url;
  }
}
