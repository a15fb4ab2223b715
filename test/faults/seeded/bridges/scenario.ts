/** Plays one plan of bridges against real proxies, then heals everything, waits until all money is at its end, and has the checker judge what was seen. */
import { Follower } from "../follower.ts";
import type { Outcome, Playing } from "../lane-process.ts";
import { check, type Violation } from "./checker.ts";
import { Desk } from "./desk.ts";
import { Device } from "./device.ts";
import type { BridgeFaultName } from "./fault-names.ts";
import { lanesPlayed } from "./lanes-played.ts";
import { observe, readBefore, type Before } from "./observe.ts";
import { Player, sleep } from "./player.ts";
import type { Plan } from "./plan.ts";
import type { AltFault } from "./plan-foreign.ts";
import { healed, Settling } from "./settling.ts";
import type { Stage } from "./stage.ts";
import { CHAINS } from "./world.ts";
import type { Spot } from "./spot.ts";

/** Blocks in which what is armed may still strike what the steps have begun. */
const ROUNDS_BEFORE_HEALING = 8;

export class Scenario implements Playing {
  at = "start";
  readonly #stage: Stage;
  readonly #plan: Plan;
  readonly #struck = new Map<BridgeFaultName, number>();
  #places: Spot[] = [];
  #player!: Player;
  #settling!: Settling;
  #before!: Before;
  #isStopped = false;

  constructor(stage: Stage, plan: Plan) {
    this.#stage = stage;
    this.#plan = plan;
  }

  get logs(): Outcome["logs"] {
    return this.#places.map(({ log }) => log);
  }

  async run(): Promise<Outcome> {
    this.#places = await this.#stage.places(this.#plan.proxies, this.#plan);
    const desk = new Desk(this.#stage, this.#places, (name) => this.#count(name));
    const device = new Device(this.#stage, desk);
    const playing = { places: this.#places, desk, device, struck: this.#struck };
    this.#player = new Player(this.#stage, playing);
    this.#before = await readBefore(this.#stage);
    this.#settling = new Settling(this.#stage, this.#player, this.#before);
    const violations: Violation[] = [];
    let follower: Follower | undefined;
    try {
      await Promise.all(this.#places.map((place) => place.start()));
      const first = this.#places[0]!;
      follower = new Follower(() => (first.isUp ? first.baseUrl : undefined), this.#stage.facts.apiKey);
      if (this.#plan.proxies === 2) this.#count("second-proxy");
      for (const [i, step] of this.#plan.steps.entries()) {
        this.at = `step ${String(i + 1)}`;
        await this.#player.play(step);
        await sleep(step.thenMs);
      }
      this.at = "going on";
      await this.#player.go(ROUNDS_BEFORE_HEALING);
      this.at = "healing";
      await this.#settling.heal();
      this.at = "settling";
      const left = await this.#settling.settle();
      if (left !== undefined) violations.push({ code: "NOT_SETTLED", text: left });
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
    return { violations, kills, struck: this.#struck, logs: this.logs };
  }

  async #judge(first: Spot, follower: Follower, violations: Violation[]): Promise<Violation[]> {
    await this.#player.desk.readStatuses();
    const seen = await observe({
      stage: this.#stage,
      baseUrl: first.baseUrl,
      follower,
      asked: this.#player.desk.asked,
      excuses: {
        wentBack: this.#player.wentBack || this.#plan.liar.percent > 0,
        lookedAgain: this.#kills() > 0,
      },
      orphaned: new Set([
        ...CHAINS.flatMap((name) => [...this.#player.people.blocks[name].orphaned]),
        ...this.#player.people.orphanedAlt,
      ]),
      looksAtFees: this.#plan.looksAtFees,
      before: this.#before,
      pendingLeaves: (await this.#settling.pendingLeaves()) ?? 1,
      stop: () => this.#stop(violations),
    });
    for (const lane of lanesPlayed(seen)) this.#count(lane);
    return check(seen);
  }

  #kills(): number {
    return this.#places.reduce((sum, place) => sum + place.kills, 0);
  }

  #takeStruck(): void {
    for (const { rpc, secondNode, attester, exchange } of this.#stage.between) {
      for (const node of [...CHAINS.map((name) => rpc[name]), secondNode])
        for (const [fault, times] of node.takeStruck()) this.#count(fault, times);
      for (const [fault, times] of rpc.alt.takeStruck()) this.#count(`alt-${fault as AltFault}`, times);
      for (const [fault, times] of attester.takeStruck()) this.#count(`attester-${fault}`, times);
      for (const [fault, times] of exchange.takeStruck()) this.#count(`exchange-${fault}`, times);
    }
    for (const times of this.#player.paid.values()) if (times > 1) this.#count("several-deposits");
    const isAgain = /"msg":"a fast attestation has expired/;
    if (this.logs.some((lines) => lines.some((line) => isAgain.test(line)))) this.#count("expired");
  }

  async #stop(violations: Violation[]): Promise<void> {
    for (const between of this.#stage.between) healed(between);
    if (this.#isStopped) return;
    this.#isStopped = true;
    const ends = await Promise.all(this.#places.map((place) => place.stop()));
    if (!ends.every(Boolean))
      violations.push({ code: "STOP_FAILED", text: "a proxy or its relay did not end in order" });
  }

  #count(name: BridgeFaultName, times = 1): void {
    this.#struck.set(name, (this.#struck.get(name) ?? 0) + times);
  }
}
