/** Plays one plan of bridges against real proxies, then heals everything, waits until all money is at its end, and has the checker judge what was seen. */
import { Follower } from "../follower.ts";
import type { Place } from "../hosts.ts";
import type { Outcome, Playing } from "../lane-process.ts";
import { calmFees } from "../world.ts";
import { check, unsettled, type Violation } from "./checker.ts";
import { Desk } from "./desk.ts";
import { observe, readAll, readBefore, type Before } from "./observe.ts";
import { People } from "./people.ts";
import { ABOVE_FAST_FEE, MINIMUM, type BridgeFaultName, type Plan } from "./plan.ts";
import type { Step } from "./steps.ts";
import type { Between, Stage } from "./stage.ts";
import { Device } from "./device.ts";
import type { AltFault } from "./plan-foreign.ts";
import { CHAINS, CONFIRMATIONS, PLACES, type ChainName } from "./world.ts";

const GWEI = 1_000_000_000;
/** Between two blocks: a proxy asks each chain once meanwhile. */
const ROUND_MS = 110;
/** Blocks in which what is armed may still strike what the steps have begun. */
const ROUNDS_BEFORE_HEALING = 8;
/** Rounds in which everything has to come to its end. */
const MAX_ROUNDS = 160;
/** What waits longer and longer is asked for again when so much time has passed. */
const PATIENCE_MS = 61_000;
const CLOCK_EVERY_ROUNDS = 12;
const SYNCED_WITHIN_MS = 10_000;
const FAR_AHEAD_SECS = 7_200_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Scenario implements Playing {
  at = "start";
  readonly #stage: Stage;
  readonly #plan: Plan;
  readonly #people: People;
  readonly #struck = new Map<BridgeFaultName, number>();
  /** Whose nodes will forget the next transaction of ours. */
  readonly #forgetful = new Set<ChainName>();
  readonly #paid = new Map<string, number>();
  #places: Place[] = [];
  #desk!: Desk;
  #device!: Device;
  #before!: Before;
  #aheadMs = 0;
  #wentBack = false;
  #isStopped = false;

  constructor(stage: Stage, plan: Plan) {
    this.#stage = stage;
    this.#plan = plan;
    this.#people = new People(stage);
  }

  get logs(): Outcome["logs"] {
    return this.#places.map(({ log }) => log);
  }

  async run(): Promise<Outcome> {
    this.#places = await this.#stage.places(this.#plan.proxies, this.#plan.hasAlt);
    this.#desk = new Desk(this.#stage, this.#places, (name) => this.#count(name));
    this.#device = new Device(this.#stage, this.#desk);
    this.#before = await readBefore(this.#stage);
    const { logs } = this;
    const violations: Violation[] = [];
    let follower: Follower | undefined;
    try {
      await Promise.all(this.#places.map((place) => place.start()));
      const first = this.#places[0]!;
      follower = new Follower(() => (first.isUp ? first.baseUrl : undefined), this.#stage.facts.apiKey);
      if (this.#plan.proxies === 2) this.#count("second-proxy");
      for (const [i, step] of this.#plan.steps.entries()) {
        this.at = `step ${String(i + 1)}`;
        await this.#do(step);
        await sleep(step.thenMs);
      }
      this.at = "going on";
      await this.#go(ROUNDS_BEFORE_HEALING);
      this.at = "healing";
      await this.#heal();
      this.at = "settling";
      const left = await this.#settle();
      if (left !== undefined)
        violations.push({ code: "NOT_SETTLED", text: `${left}${await this.#saidOf()}` });
      this.at = "observing";
      violations.push(...(await this.#judge(first, follower, violations)));
    } catch (error) {
      violations.push({ code: "NOT_SETTLED", text: error instanceof Error ? (error.stack ?? "") : "" });
    } finally {
      this.at += ", stopping";
      await follower?.close();
      await this.#stop(violations);
    }
    this.#takeStruck();
    const kills = this.#kills();
    return { violations, kills, struck: this.#struck, logs };
  }

  async #judge(first: Place, follower: Follower, violations: Violation[]): Promise<Violation[]> {
    await this.#desk.readStatuses();
    const seen = await observe({
      stage: this.#stage,
      baseUrl: first.baseUrl,
      follower,
      asked: this.#desk.asked,
      excuses: { wentBack: this.#wentBack, lookedAgain: this.#kills() > 0 },
      orphaned: new Set([
        ...CHAINS.flatMap((name) => [...this.#people.blocks[name].orphaned]),
        ...this.#people.orphanedAlt,
      ]),
      looksAtFees: this.#plan.looksAtFees,
      before: this.#before,
      pendingLeaves: (await this.#pendingLeaves()) ?? 1,
      stop: () => this.#stop(violations),
    });
    return check(seen);
  }

  /** What the service and the attester say of what is not at its end. */
  async #saidOf(): Promise<string> {
    const lines = [...(await this.#desk.inFull()), ...(await this.#people.attestedInFull())];
    return lines.map((line) => `\n      ${line}`).join("");
  }

  #kills(): number {
    return this.#places.reduce((sum, place) => sum + place.kills, 0);
  }

  #takeStruck(): void {
    for (const { rpc, attester } of this.#stage.between) {
      for (const name of CHAINS)
        for (const [fault, times] of rpc[name].takeStruck()) this.#count(fault, times);
      for (const [fault, times] of rpc.alt.takeStruck()) this.#count(`alt-${fault as AltFault}`, times);
      for (const [fault, times] of attester.takeStruck()) this.#count(fault, times);
    }
    for (const times of this.#paid.values()) if (times > 1) this.#count("several-deposits");
    const isAgain = /"msg":"a fast attestation has expired/;
    if (this.logs.some((lines) => lines.some((line) => isAgain.test(line)))) this.#count("expired");
  }

  async #stop(violations: Violation[]): Promise<void> {
    for (const between of this.#stage.between) healed(between);
    if (this.#isStopped) return;
    this.#isStopped = true;
    const ends = await Promise.all(this.#places.map((place) => place.stop()));
    if (!ends.every(Boolean)) violations.push({ code: "STOP_FAILED", text: "a proxy did not end in order" });
  }

  #count(name: BridgeFaultName, times = 1): void {
    this.#struck.set(name, (this.#struck.get(name) ?? 0) + times);
  }

  async #do(step: Step): Promise<void> {
    const { blocks } = this.#people;
    switch (step.do) {
      case "ask":
        return this.#desk.ask(step.what, this.#place(step.via), step);
      case "pay":
        return this.#pay(step);
      case "go":
        return this.#go(step.rounds);
      case "mine":
        return step.chain === "alt"
          ? this.#stage.parties.alt.pass(step.blocks)
          : blocks[step.chain].mine(step.blocks);
      case "sign":
        return this.#sign(step);
      case "rpc":
        if (step.arming.fault === "stale") this.#wentBack = true;
        this.#stage.between[step.via].rpc[step.chain].arm(step.arming);
        return;
      case "attester":
        this.#stage.between[step.via].attester.arm(step.fault, step.times);
        return;
      case "attester-away":
        await this.#attesterAway(Math.floor(Date.now() / 1_000) + FAR_AHEAD_SECS);
        this.#count("attester-away");
        return;
      case "kill":
        this.#kill(step);
        return;
      case "freeze":
        this.#place(step.via).freeze();
        if (step.lapses) await this.#stage.store.lapse();
        this.#count(step.lapses ? "freeze-past-lease" : "freeze");
        return;
      case "thaw":
        for (const place of this.#places) place.thaw();
        return;
      case "reorg":
        if (
          step.chain === "alt"
            ? await this.#people.reorganiseAlt(step.depth, step.content)
            : await blocks[step.chain].reorganise(step.depth, step.content)
        ) {
          this.#wentBack = true;
          this.#count(`reorg-${step.content}-${step.chain}`);
        }
        return;
      case "rollback":
        if (await blocks[step.chain].rollback(step.depth)) {
          this.#wentBack = true;
          this.#count(`rollback-${step.chain}`);
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
        this.#count(`base-fee-${step.chain}`);
        return;
      case "chain-clock":
        await blocks[step.chain].passTime(step.secs);
        this.#count(`chain-clock-${step.chain}`);
        return;
      case "proxy-clock":
        this.#moveClock(step.ms);
        this.#count("proxy-clock");
        return;
      case "stranger":
        if (await this.#people.act(step.act, this.#desk.prebuilt(step.what)))
          this.#count(`stranger-${step.act}`);
        return;
      case "forge":
        if (await this.#people.forge(this.#desk.prebuilt(step.what))) this.#count("forged-message");
    }
  }

  async #sign({ what, how, via }: Extract<Step, { do: "sign" }>): Promise<void> {
    await this.#desk.told(what);
    if (await this.#device.sign(what, how, this.#place(via), this.#place(1 - via)))
      this.#count(`sign-${how}`);
  }

  async #pay({ what, chain, amount, token }: Extract<Step, { do: "pay" }>): Promise<void> {
    await this.#desk.told(what);
    const { place, deposit } = this.#desk.prebuilt(what);
    const units = BigInt(amount);
    if (chain === "alt") await this.#stage.parties.alt.issue(deposit!.key, units);
    else {
      const to = chain === "home" || place.direction === "out" ? place.address : place.source!.address;
      await this.#people.pay(chain, to, units, token);
    }
    if (token === "wrong") {
      this.#count("wrong-token");
      return;
    }
    this.#paid.set(what, (this.#paid.get(what) ?? 0) + 1);
    if (units < MINIMUM) this.#count("dust");
    if (units >= ABOVE_FAST_FEE) this.#count("above-fast-fee");
  }

  #kill({ via, at, pauseMs }: Extract<Step, { do: "kill" }>): void {
    const place = this.#place(via);
    const { rpc, attester } = this.#stage.between[via];
    place.pauseMs = pauseMs;
    const strike = (name: BridgeFaultName): void => {
      this.#count(name);
      place.kill();
    };
    if (at.on === "now") strike("kill-now");
    else if (at.on === "rpc")
      rpc[at.chain].trap(at.method, at.moment, () => strike(`kill-at-${at.chain}`), at.nth);
    else attester.trap(at.question, at.moment, () => strike("kill-at-attester"));
  }

  async #go(rounds: number): Promise<void> {
    for (let i = 0; i < rounds; i++) {
      await this.#forget();
      await this.#people.mine(1);
      await sleep(ROUND_MS);
    }
  }

  /** The first transaction of ours that waits at a node which is to forget one. */
  async #forget(): Promise<void> {
    for (const chain of this.#forgetful) {
      if (!(await this.#people.blocks[chain].drop())) continue;
      this.#forgetful.delete(chain);
      this.#count(`drop-${chain}`);
    }
  }

  #moveClock(ms: number): void {
    this.#aheadMs += ms;
    for (const place of this.#places) place.setClock(this.#aheadMs);
  }

  async #attesterAway(until: number): Promise<void> {
    const response = await fetch(`${this.#stage.parties.attesterUrl}/dev/away`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ until }),
    });
    await response.body?.cancel();
    if (!response.ok) throw new Error("the attester cannot be sent away");
  }

  #place(via: number): Place {
    return this.#places[via] ?? this.#places[0]!;
  }

  /** Faults off, everybody alive, and a block costs what it did. */
  async #heal(): Promise<void> {
    for (const name of CHAINS) await calmFees(this.#stage.parties.chains[name].rpc);
    await this.#attesterAway(0);
    for (const place of this.#places) place.thaw();
    for (const [i, between] of this.#stage.between.entries())
      // The moment did not come: a scenario that was to kill kills.
      if (healed(between)) {
        this.#count("kill-now");
        this.#place(i).kill();
      }
    await this.#serving();
    await this.#desk.answered();
    await this.#serving();
    await this.#desk.askAgain();
  }

  async #serving(): Promise<void> {
    await Promise.all(this.#places.map((place) => place.serving()));
  }

  /** Until all money is at an end, by the chains alone, and final; then until the service says so. What is left, otherwise. */
  async #settle(): Promise<string | undefined> {
    let left: readonly string[] = [];
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      // Where nothing of ours is to be mined, it waits for confirmations.
      await this.#people.mine((await this.#isMining()) ? 1 : CONFIRMATIONS - 1);
      await sleep(ROUND_MS);
      await this.#synced();
      await this.#device.signAll(this.#place(0));
      left = await this.#left();
      if (left.length === 0) break;
      if (round % CLOCK_EVERY_ROUNDS === 0) this.#moveClock(PATIENCE_MS);
    }
    if (left.length > 0) return `after ${String(MAX_ROUNDS)} rounds: ${left.join(", ")}`;
    await this.#people.mine(CONFIRMATIONS);
    await this.#synced();
    await this.#desk.askAgain();
    await this.#said();
    return undefined;
  }

  async #left(): Promise<string[]> {
    const found = unsettled(this.#desk.asked, await readAll(this.#stage));
    if (await this.#isMining()) found.push("something of ours is to be mined");
    if (((await this.#pendingLeaves()) ?? 1) > 0) found.push("leaves wait for a root");
    return found;
  }

  async #isMining(): Promise<boolean> {
    const { home, other } = this.#people.blocks;
    return (await home.waiting(0)) !== undefined || (await other.waiting(0)) !== undefined;
  }

  async #pendingLeaves(): Promise<number | undefined> {
    return this.#desk.pendingLeaves(await this.#people.blocks.home.height());
  }

  /** Blocks come no faster than a proxy on a busy machine reads them. */
  async #synced(): Promise<void> {
    const end = performance.now() + SYNCED_WITHIN_MS;
    while (performance.now() < end) {
      if ((await this.#pendingLeaves()) !== undefined) return;
      await sleep(40);
    }
  }

  /** Until the service has seen the last blocks; the checker says what it has not. */
  async #said(): Promise<void> {
    for (let i = 0; i < 60; i++) {
      const statuses = await this.#desk.readStatuses();
      const isOpen = statuses.some(({ deposits }) => deposits.some(({ state }) => !RESTING.has(state)));
      if (!isOpen && i > 2) return;
      await sleep(50);
      if (i % 10 === 9) await this.#people.mine(1);
    }
  }
}

const RESTING: ReadonlySet<string> = new Set(["completed", "refunded", "failed", "below_minimum"]);

/** True when a trap was still set. */
function healed({ rpc, attester }: Between): boolean {
  const traps = [...PLACES.map((name) => rpc[name].heal()), attester.heal()];
  return traps.some(Boolean);
}
