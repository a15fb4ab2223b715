/** Plays one plan against real proxies, then heals everything, waits until all is final, and has the checker judge what was seen. */
import { ChainMoves } from "./chain-moves.ts";
import { check, type Violation } from "./checker.ts";
import { Desk } from "./desk.ts";
import { Disputes } from "./disputes.ts";
import { Follower } from "./follower.ts";
import type { Place } from "./hosts.ts";
import type { Observations } from "./observations.ts";
import { observe } from "./observe.ts";
import { PAST_DEADLINES_SECS, type FaultName, type Plan, type Step } from "./plan.ts";
import type { Outcome, Playing } from "./lane-process.ts";
import type { Stage } from "./stage.ts";
import { calmFees } from "./world.ts";

const GWEI = 1_000_000_000;
/** The pool is closed for so long by its guardian alone. */
const PAST_PAUSE_SECS = 86_400;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
export class Scenario implements Playing {
  /** What is done now, for one that does not come to its end. */
  at = "start";
  readonly #stage: Stage;
  readonly #plan: Plan;
  readonly #moves: ChainMoves;
  readonly #struck = new Map<FaultName, number>();
  readonly #disputes: Disputes;
  #desk: Desk | undefined;
  #places: Place[] = [];
  #aheadMs = 0;
  #wentBack = false;
  #hidReceipts = false;
  #isStopped = false;

  constructor(stage: Stage, plan: Plan) {
    this.#stage = stage;
    this.#plan = plan;
    this.#moves = new ChainMoves(
      stage.world,
      () => new Map(stage.between.flatMap(({ rpc, secondNode }) => [...rpc.sent, ...secondNode.sent])),
    );
    this.#disputes = new Disputes(stage.world, this.#moves);
    // Any of its answers may be of an older block, or deny a receipt.
    this.#wentBack = this.#hidReceipts = plan.liar.percent > 0;
  }

  /** Of each proxy, so far. */
  get logs(): Outcome["logs"] {
    return this.#places.map(({ log }) => log);
  }

  async run(): Promise<Outcome> {
    const { world } = this.#stage;
    this.#places = await this.#stage.places(this.#plan.proxies, this.#plan);
    const desk = (this.#desk = new Desk({
      ...{ stage: this.#stage, number: this.#plan.number, moves: this.#moves, places: this.#places },
      count: (name) => this.#count(name),
      moveClock: (ms) => this.#moveClock(ms),
    }));
    let follower: Follower | undefined;
    const { logs } = this;
    const violations: Violation[] = [];
    try {
      await Promise.all(this.#places.map((place) => place.start()));
      const first = this.#places[0]!;
      follower = new Follower(() => (first.isUp ? first.baseUrl : undefined), world.apiKey);
      if (this.#plan.proxies === 2) this.#count("second-proxy");
      for (const [i, step] of this.#plan.steps.entries()) {
        this.at = `step ${String(i + 1)}`;
        await this.#do(step);
        await sleep(step.thenMs);
      }
      this.at = "healing";
      await this.#heal();
      this.at = "settling";
      const settled = await desk.settleAll();
      if (settled !== undefined) violations.push(settled);
      this.at = "observing";
      const seen = await observe({
        stage: this.#stage,
        place: first,
        follower,
        moves: this.#moves,
        asked: desk.asked,
        excuses: {
          time: await this.#moves.time(),
          wentBack: this.#wentBack,
          hidReceipts: this.#hidReceipts,
        },
        logs,
        wallets: this.#plan.wallets,
        stop: () => this.#stop(violations),
      });
      violations.push(...check(seen));
      desk.countRivalries();
      for (const name of provedIn(seen)) this.#count(name);
    } catch (error) {
      violations.push({ code: "NOT_SETTLED", text: error instanceof Error ? (error.stack ?? "") : "" });
    } finally {
      this.at += ", stopping";
      await follower?.close();
      await this.#stop(violations);
    }
    for (const { rpc, secondNode, enclave } of this.#stage.between) {
      for (const node of [rpc, secondNode])
        for (const [name, times] of node.takeStruck()) this.#count(name, times);
      for (const [name, times] of enclave.takeStruck()) this.#count(name, times);
    }
    if (this.#moves.races > 0) this.#count("race", this.#moves.races);
    const kills = this.#places.reduce((sum, place) => sum + place.kills, 0);
    return { violations, kills, struck: this.#struck, logs };
  }

  async #stop(violations: Violation[]): Promise<void> {
    for (const { rpc, enclave } of this.#stage.between) {
      rpc.heal();
      enclave.heal();
    }
    if (this.#isStopped) return;
    this.#isStopped = true;
    const ends = await Promise.all(this.#places.map((place) => place.stop()));
    if (!ends.every(Boolean)) violations.push({ code: "STOP_FAILED", text: "a proxy did not end in order" });
  }

  #count(name: FaultName, times = 1): void {
    this.#struck.set(name, (this.#struck.get(name) ?? 0) + times);
  }

  async #do(step: Step): Promise<void> {
    const moves = this.#moves;
    switch (step.do) {
      case "send":
        return this.#desk!.send(step.what, this.#place(step.via), step);
      case "mine":
        if ((await moves.inFlight()) > 1) this.#count("several-in-flight");
        return moves.mine(step.blocks);
      case "rpc":
        if (step.arming.fault === "stale") this.#wentBack = true;
        if (step.arming.fault === "null-receipt") this.#hidReceipts = true;
        this.#stage.between[step.via].rpc.arm(step.arming);
        return;
      case "enclave":
        this.#stage.between[step.via].enclave.arm(step.fault, step.times);
        return;
      case "kill": {
        const place = this.#place(step.via);
        const { rpc, enclave } = this.#stage.between[step.via];
        place.pauseMs = step.pauseMs;
        const { at } = step;
        this.#count(at.on === "now" ? "kill-now" : at.on === "rpc" ? "kill-at-rpc" : "kill-at-enclave");
        if (at.on === "now") place.kill();
        else if (at.on === "rpc") rpc.trap(at.method, at.moment, () => place.kill());
        else enclave.trap(at.moment, () => place.kill());
        return;
      }
      case "freeze":
        this.#place(step.via).freeze();
        if (step.lapses) await this.#stage.store.lapse();
        this.#count(step.lapses ? "freeze-past-lease" : "freeze");
        return;
      case "thaw":
        for (const place of this.#places) place.thaw();
        return;
      case "reorg":
        if (await moves.reorganise(step.depth, step.content)) {
          this.#wentBack = true;
          this.#count(`reorg-${step.content}`);
        }
        return;
      case "rollback":
        if (await moves.rollback(step.depth)) {
          this.#wentBack = true;
          this.#count("rollback");
        }
        return;
      case "drop":
        if (await moves.drop()) this.#count("drop");
        return;
      case "base-fee":
        await this.#stage.world.rpc("anvil_setNextBlockBaseFeePerGas", [
          `0x${(step.gwei * GWEI).toString(16)}`,
        ]);
        await moves.mine(1);
        this.#count("base-fee");
        return;
      case "chain-clock":
        await moves.passTime(step.secs);
        this.#count(step.secs === PAST_DEADLINES_SECS ? "deadlines-pass" : "chain-clock");
        return;
      case "proxy-clock":
        this.#moveClock(step.ms);
        this.#count("proxy-clock");
        return;
      case "copycat":
        if (await moves.copy(step.part)) this.#count(`copycat-${step.part}`);
        return;
      case "race":
        moves.race(step.blocks);
        return;
      case "prove":
        return moves.prove(step.what);
      case "pause":
        if (await this.#disputes.pause()) this.#count("pause");
        return;
      case "forge":
        if (await this.#disputes.forge()) this.#count("forge");
        return;
      case "refute": {
        const found = await this.#disputes.refute(step.isRooted);
        if (found !== undefined) this.#count(`refute-${found}`);
        return;
      }
      case "advance":
        await this.#disputes.advance();
        return;
      case "reopen":
        return this.#reopen();
    }
  }

  #moveClock(ms: number): void {
    this.#aheadMs += ms;
    for (const place of this.#places) place.setClock(this.#aheadMs);
  }

  /** What was signed for before a pause is too late after it; what is signed for later goes on. */
  async #reopen(): Promise<void> {
    const secs = await this.#disputes.closedFor();
    if (secs > 0) await this.#moves.passTime(secs);
    if (secs < PAST_PAUSE_SECS) return;
    for (const { name } of this.#stage.world.late)
      await this.#desk!.send(name, this.#place(0), { waits: false });
  }

  #place(via: number): Place {
    return this.#places[via] ?? this.#places[0]!;
  }

  /** Faults off, everybody alive, and a block costs what it did. */
  async #heal(): Promise<void> {
    await calmFees(this.#stage.world.rpc);
    for (const place of this.#places) place.thaw();
    for (const [i, { rpc, enclave }] of this.#stage.between.entries()) {
      const [atRpc, atEnclave] = [rpc.heal(), enclave.heal()];
      // The moment did not come: a scenario that was to kill kills.
      if (atRpc || atEnclave) this.#place(i).kill();
    }
    await Promise.all(this.#places.map((place) => place.serving()));
    await this.#desk!.answered();
    await Promise.all(this.#places.map((place) => place.serving()));
    await this.#disputes.heal();
    await this.#reopen();
    await this.#desk!.answered();
  }
}

/** What owners had executed by themselves. */
function provedIn({ foreign, executions, asked }: Observations): FaultName[] {
  const done = new Set(executions.map(({ statement }) => statement));
  return foreign.flatMap(({ statement, rivals, proved }): FaultName[] => {
    if (proved === undefined || !done.has(statement)) return [];
    const isRival = asked.some((each) => rivals.includes(each.name));
    return [`proved-${proved}`, ...(isRival ? (["proved-rival"] as const) : [])];
  });
}
