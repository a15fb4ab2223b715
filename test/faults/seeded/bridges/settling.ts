/** The end of every scenario of bridges: the faults are over, and blocks are made until all money is at an end. */
import { poll } from "../../../../scripts/base/poll.ts";
import { calmFees } from "../world.ts";
import { unsaid, unsettled } from "./checker.ts";
import { readExchange } from "./exchange-seen.ts";
import { DAY } from "./measures.ts";
import { readAll, totalsOf, type Before } from "./observe.ts";
import { ROUND_MS, sleep, type Player } from "./player.ts";
import type { Between, Stage } from "./stage.ts";
import { chainsOf, CONFIRMATIONS, PLACES } from "./world.ts";

/** Rounds in which everything has to come to its end. */
const MAX_ROUNDS = 160;
/** What waits longer and longer is asked for again when so much time has passed. */
const LATER_MS = 61_000;
const CLOCK_EVERY_ROUNDS = 12;

export class Settling {
  readonly #stage: Stage;
  readonly #player: Player;
  readonly #before: Before;

  constructor(stage: Stage, player: Player, before: Before) {
    this.#stage = stage;
    this.#player = player;
    this.#before = before;
  }

  /** Faults off, everybody alive, and a block costs what it did. */
  async heal(): Promise<void> {
    const { parties, extras } = this.#stage;
    for (const name of chainsOf(extras())) await calmFees(parties.chains[name].rpc);
    if (extras().exchange) {
      await parties.exchange.start();
      await parties.exchange.pause(false);
    }
    await this.#player.attesterAway(0);
    for (const place of this.#player.places) place.thaw();
    for (const [i, between] of this.#stage.between.entries())
      // The moment did not come: a scenario that was to kill kills.
      if (healed(between)) {
        this.#player.count("kill-now");
        this.#player.count("kill-both");
        this.#player.place(i).kill("both");
      }
    await this.#serving();
    await this.#player.desk.answered();
    await this.#serving();
    await this.#player.desk.askAgain();
  }

  async #serving(): Promise<void> {
    await Promise.all(this.#player.places.map((place) => place.serving()));
  }

  /** Until all money is at an end, by the chains alone, and final; then until the service says so. What is left, otherwise. */
  async settle(): Promise<string | undefined> {
    let left: readonly string[] = [];
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      // What was to be forgotten on a chain where nothing of ours was sent before.
      await this.#player.forget();
      // Where nothing of ours is to be mined, it waits for confirmations.
      await this.#player.people.mine((await this.#isMining()) ? 1 : CONFIRMATIONS - 1);
      await sleep(ROUND_MS);
      await this.#synced();
      await this.#player.device.signAll(this.#player.place(0));
      left = await this.#left();
      if (left.length === 0) break;
      if (round % CLOCK_EVERY_ROUNDS === 0) await this.#passTime();
    }
    if (left.length > 0)
      return `after ${String(MAX_ROUNDS)} rounds: ${left.join(", ")}${await this.#saidInFull()}`;
    await this.#player.people.mine(CONFIRMATIONS);
    await this.#synced();
    await this.#player.desk.askAgain();
    await this.#said();
    // The last block may be one that was made while it was waited for.
    await this.#synced();
    return undefined;
  }

  /** What the service and the attester say of what is not at its end. */
  async #saidInFull(): Promise<string> {
    const { desk, people } = this.#player;
    const lines = [...(await desk.inFull()), ...(await people.attestedInFull())];
    return lines.map((line) => `\n      ${line}`).join("");
  }

  /** What the exchange refuses goes back when its clock has run, and no earlier. */
  async #passTime(): Promise<void> {
    this.#player.moveClock(LATER_MS);
    const isRefused = this.#player.desk.asked.some(
      (one) => one.direction === "out" && one.account?.kind === "leaver",
    );
    if (isRefused) await this.#player.people.blocks.home.passTime(DAY + 60);
  }

  async #left(): Promise<string[]> {
    const found = unsettled(this.#player.desk.asked, await readAll(this.#stage), await this.#exchange());
    if (await this.#isMining()) found.push("something of ours is to be mined");
    if (((await this.pendingLeaves()) ?? 1) > 0) found.push("leaves wait for a root");
    return found;
  }

  async #exchange() {
    return this.#before.exchange && readExchange(this.#stage, this.#before.exchange);
  }

  async #isMining(): Promise<boolean> {
    for (const name of chainsOf(this.#stage.extras()))
      if ((await this.#player.people.blocks[name].waiting(0)) !== undefined) return true;
    return false;
  }

  async pendingLeaves(): Promise<number | undefined> {
    return this.#player.desk.pendingLeaves(await this.#player.people.blocks.home.height());
  }

  /** Blocks come no faster than a proxy on a busy machine reads them. */
  async #synced(): Promise<void> {
    await poll(() => this.pendingLeaves());
  }

  /** Until the service says what the chains say: a relay on a busy machine may still read. The checker says what it never did. */
  async #said(): Promise<void> {
    for (let i = 1; i <= 60; i++) {
      await this.#player.desk.readStatuses();
      const { asked } = this.#player.desk;
      const [chains, after] = [await readAll(this.#stage), await totalsOf(this.#stage, asked)];
      if (unsaid(asked, { chains, after, exchange: await this.#exchange() }).length === 0) return;
      await sleep(50);
      if (i % 10 === 0) await this.#player.people.mine(1);
    }
  }
}

/** True when a trap was still set. */
export function healed({ rpc, attester, exchange }: Between): boolean {
  const traps = [...PLACES.map((name) => rpc[name].heal()), attester.heal(), exchange.heal()];
  return traps.some(Boolean);
}
