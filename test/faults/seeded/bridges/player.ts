/** Plays the steps of one scenario of bridges, and counts what struck. */
import type { Desk } from "./desk.ts";
import type { Device } from "./device.ts";
import type { BridgeFaultName } from "./fault-names.ts";
import { ABOVE_FAST_FEE, MINIMUM } from "./measures.ts";
import { People } from "./people.ts";
import type { Stage } from "./stage.ts";
import type { ExchangeAct, Step } from "./steps.ts";
import type { ChainName } from "./world.ts";
import type { Spot } from "./spot.ts";

const GWEI = 1_000_000_000;
/** Between two blocks: a proxy asks each chain once meanwhile. */
export const ROUND_MS = 110;
const FAR_AHEAD_SECS = 7_200_000;

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Player {
  readonly people: People;
  readonly places: readonly Spot[];
  readonly desk: Desk;
  readonly device: Device;
  readonly struck: Map<BridgeFaultName, number>;
  /** How often each address was paid to. */
  readonly paid = new Map<string, number>();
  wentBack = false;
  readonly #stage: Stage;
  /** Whose nodes will forget the next transaction of ours. */
  readonly #forgetful = new Set<ChainName>();
  #aheadMs = 0;

  constructor(
    stage: Stage,
    {
      places,
      desk,
      device,
      struck,
    }: {
      readonly places: readonly Spot[];
      readonly desk: Desk;
      readonly device: Device;
      readonly struck: Map<BridgeFaultName, number>;
    },
  ) {
    this.#stage = stage;
    this.people = new People(stage);
    this.places = places;
    this.desk = desk;
    this.device = device;
    this.struck = struck;
  }

  count(name: BridgeFaultName, times = 1): void {
    this.struck.set(name, (this.struck.get(name) ?? 0) + times);
  }

  async play(step: Step): Promise<void> {
    const { blocks } = this.people;
    switch (step.do) {
      case "ask":
        return this.desk.ask(step.what, this.place(step.via), step);
      case "pay":
        return this.#pay(step);
      case "go":
        return this.go(step.rounds);
      case "mine":
        return step.chain === "alt"
          ? this.#stage.parties.alt.pass(step.blocks)
          : blocks[step.chain].mine(step.blocks);
      case "sign":
        return this.#sign(step);
      case "rpc":
        if (step.arming.fault === "stale") this.wentBack = true;
        this.#stage.between[step.via].rpc[step.chain].arm(step.arming);
        return;
      case "attester":
        this.#stage.between[step.via].attester.arm(step.fault, step.times);
        return;
      case "withdraw":
        return this.#withdraw(step);
      case "exchange":
        if (await this.#exchange(step.act)) this.count(`exchange-${step.act}`);
        return;
      case "exchange-api":
        this.#stage.between[step.via].exchange.arm(step.fault, step.times);
        return;
      case "attester-away":
        await this.attesterAway(Math.floor(Date.now() / 1_000) + FAR_AHEAD_SECS);
        this.count("attester-away");
        return;
      case "kill":
        this.#kill(step);
        return;
      case "freeze":
        this.place(step.via).freeze(step.whom);
        if (step.lapses) await this.#stage.store.lapse();
        this.count(step.lapses ? "freeze-past-lease" : "freeze");
        this.count(`freeze-${step.whom}`);
        return;
      case "thaw":
        for (const place of this.places) place.thaw();
        return;
      case "reorg":
        if (
          step.chain === "alt"
            ? await this.people.reorganiseAlt(step.depth, step.content)
            : await blocks[step.chain].reorganise(step.depth, step.content)
        ) {
          this.wentBack = true;
          this.count(`reorg-${step.content}-${step.chain}`);
        }
        return;
      case "rollback":
        if (await blocks[step.chain].rollback(step.depth)) {
          this.wentBack = true;
          this.count(`rollback-${step.chain}`);
        }
        return;
      case "drop":
        this.#forgetful.add(step.chain);
        return;
      case "base-fee":
        await this.#stage.parties.chains[step.chain].rpc("anvil_setNextBlockBaseFeePerGas", [
          `0x${(step.gwei * GWEI).toString(16)}`,
        ]);
        await blocks[step.chain].mine(1);
        this.count(`base-fee-${step.chain}`);
        return;
      case "chain-clock":
        await blocks[step.chain].passTime(step.secs);
        this.count(`chain-clock-${step.chain}`);
        return;
      case "proxy-clock":
        this.moveClock(step.ms);
        this.count("proxy-clock");
        return;
      case "stranger":
        if (await this.people.act(step.act, this.desk.prebuilt(step.what)))
          this.count(`stranger-${step.act}`);
        return;
      case "flood":
        if (!(await this.desk.told(step.what))) return;
        await this.people.flood(this.desk.prebuilt(step.what), step.times);
        this.count("flood");
        return;
      case "forge":
        if (await this.people.forge(this.desk.prebuilt(step.what))) this.count("forged-message");
    }
  }

  async #sign({ what, how, via }: Extract<Step, { do: "sign" }>): Promise<void> {
    await this.desk.told(what);
    if (await this.device.sign(what, how, this.place(via), this.place(1 - via))) this.count(`sign-${how}`);
  }

  async #pay({ what, chain, amount, token }: Extract<Step, { do: "pay" }>): Promise<void> {
    if (!(await this.desk.told(what))) return;
    const { place, deposit } = this.desk.prebuilt(what);
    const units = BigInt(amount);
    if (chain === "alt") await this.#stage.parties.alt.issue(deposit!.key, units);
    else {
      const to = chain === "home" || place.direction === "out" ? place.address : place.source!.address;
      await this.people.pay(chain, to, units, token);
    }
    if (token === "wrong") {
      this.count("wrong-token");
      return;
    }
    this.paid.set(what, (this.paid.get(what) ?? 0) + 1);
    if (units < MINIMUM) this.count("dust");
    if (units >= ABOVE_FAST_FEE) this.count("above-fast-fee");
  }

  async #withdraw({ what, amount }: Extract<Step, { do: "withdraw" }>): Promise<void> {
    if (!(await this.desk.told(what))) return;
    const { place } = this.desk.prebuilt(what);
    const isTaken = await this.#stage.parties.exchange.pay(place.address, BigInt(amount));
    if (isTaken) this.paid.set(what, (this.paid.get(what) ?? 0) + 1);
  }

  async #exchange(act: ExchangeAct): Promise<boolean> {
    const { exchange } = this.#stage.parties;
    switch (act) {
      case "pause":
        return exchange.pause(true);
      case "forget":
        return exchange.forget(this.#stage.facts.exchange.accounts.leaver);
      case "away":
      case "restart":
        await exchange.kill();
        if (act === "restart") await exchange.start();
        return true;
    }
  }

  #kill({ via, at, whom, pauseMs }: Extract<Step, { do: "kill" }>): void {
    const place = this.place(via);
    const { rpc, attester, exchange } = this.#stage.between[via];
    const strike = (name: BridgeFaultName): void => {
      this.count(name);
      this.count(`kill-${whom}`);
      place.kill(whom, pauseMs);
    };
    if (at.on === "now") strike("kill-now");
    else if (at.on === "rpc")
      rpc[at.chain].trap(at.method, at.moment, () => strike(`kill-at-${at.chain}`), at.nth);
    else if (at.on === "attester") attester.trap(at.question, at.moment, () => strike("kill-at-attester"));
    else exchange.trap(at.question, at.moment, () => strike("kill-at-exchange-api"));
  }

  async go(rounds: number): Promise<void> {
    for (let i = 0; i < rounds; i++) {
      await this.forget();
      await this.people.mine(1);
      await sleep(ROUND_MS);
    }
  }

  /** The first transaction of ours that waits at a node which is to forget one. */
  async forget(): Promise<void> {
    for (const chain of this.#forgetful) {
      if (!(await this.people.blocks[chain].drop())) continue;
      this.#forgetful.delete(chain);
      this.count(`drop-${chain}`);
    }
  }

  moveClock(ms: number): void {
    this.#aheadMs += ms;
    for (const place of this.places) place.setClock(this.#aheadMs);
  }

  async attesterAway(until: number): Promise<void> {
    const response = await fetch(`${this.#stage.parties.attesterUrl}/dev/away`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ until }),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error("the attester cannot be sent away");
  }

  place(via: number): Spot {
    return this.places[via] ?? this.places[0]!;
  }
}
