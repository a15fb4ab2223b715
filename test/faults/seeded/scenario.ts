/** Plays one plan against real proxies, then heals everything, waits until all is final, and has the checker judge what was seen. */
import { createHash } from "node:crypto";
import { ERRORS, type ErrorCode } from "../../../shared/api/errors.ts";
import type { Ticket } from "../../../shared/api/transactions.ts";
import { ChainMoves } from "./chain-moves.ts";
import { check, type Violation } from "./checker.ts";
import { Follower } from "./follower.ts";
import type { Place } from "./hosts.ts";
import type { Answer, Asked, TicketView } from "./observations.ts";
import { observe } from "./observe.ts";
import { PAST_DEADLINES_SECS, type FaultName, type Plan, type Step } from "./plan.ts";
import type { Stage } from "./stage.ts";
import { calmFees, CONFIRMATIONS, type Prebuilt } from "./world.ts";

export interface Outcome {
  readonly violations: readonly Violation[];
  /** Processes that were killed. */
  readonly kills: number;
  readonly struck: ReadonlyMap<FaultName, number>;
  /** Of each proxy. */
  readonly logs: readonly (readonly string[])[];
}

const GWEI = 1_000_000_000;
const ANSWER_WITHIN_MS = 8_000;
/** Rounds of a block each in which everything has to become final. */
const MAX_ROUNDS = 80;
const CLOCK_EVERY_ROUNDS = 8;
const STUCK_MS = 31_000;
const MAX_SETTLINGS = 6;
const MAX_LOOKS = 100;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const isOver = (state: Ticket["state"]): boolean =>
  state === "finalized" || state === "failed" || state === "expired";

function isAnswered(answer: Answer | undefined): boolean {
  if (answer === undefined || answer.is === "lost") return false;
  return answer.is === "ticket" || !ERRORS[answer.code as ErrorCode].retryable;
}

interface Asking {
  readonly prebuilt: Prebuilt;
  readonly answers: Answer[];
  ticket: TicketView | undefined;
}

export class Scenario {
  /** What is done now, for one that does not come to its end. */
  at = "start";
  readonly #stage: Stage;
  readonly #plan: Plan;
  readonly #moves: ChainMoves;
  readonly #asked = new Map<string, Asking>();
  readonly #struck = new Map<FaultName, number>();
  readonly #posts = new Set<Promise<unknown>>();
  #places: Place[] = [];
  #tick = 0;
  #aheadMs = 0;
  #deadlinesPassed = false;
  #wentBack = false;
  #hidReceipts = false;
  #isStopped = false;

  constructor(stage: Stage, plan: Plan) {
    this.#stage = stage;
    this.#plan = plan;
    this.#moves = new ChainMoves(
      stage.world,
      () => new Map(stage.between.flatMap(({ rpc }) => [...rpc.sent])),
    );
  }

  /** Of each proxy, so far. */
  get logs(): Outcome["logs"] {
    return this.#places.map(({ log }) => log);
  }

  async run(): Promise<Outcome> {
    const { world } = this.#stage;
    this.#places = await this.#stage.places(this.#plan.proxies);
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
      const settled = await this.#settleAll();
      if (settled !== undefined) violations.push(settled);
      this.at = "observing";
      const seen = await observe({
        stage: this.#stage,
        place: first,
        follower,
        moves: this.#moves,
        asked: [...this.#asked.values()].map(
          ({ prebuilt: { name, statement, rivals, effects }, answers, ticket }): Asked => ({
            ...{ name, statement, rivals, effects, answers, ticket },
          }),
        ),
        excuses: {
          deadlinesPassed: this.#deadlinesPassed,
          wentBack: this.#wentBack,
          hidReceipts: this.#hidReceipts,
        },
        logs,
        wallets: this.#plan.wallets,
        stop: () => this.#stop(violations),
      });
      violations.push(...check(seen));
      this.#countRivalries();
    } catch (error) {
      violations.push({ code: "NOT_SETTLED", text: error instanceof Error ? (error.stack ?? "") : "" });
    } finally {
      this.at += ", stopping";
      await follower?.close();
      await this.#stop(violations);
    }
    for (const { rpc, enclave } of this.#stage.between) {
      for (const [name, times] of rpc.takeStruck()) this.#count(name, times);
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
      case "send": {
        const asking = this.#asking(step.what);
        const post = this.#post(asking, this.#place(step.via), step.cutMs);
        this.#posts.add(post);
        void post.finally(() => this.#posts.delete(post));
        if (step.waits) await post;
        return;
      }
      case "mine":
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
        await this.#stage.world.rpc("evm_increaseTime", [step.secs]);
        await moves.mine(1);
        this.#count(step.secs === PAST_DEADLINES_SECS ? "deadlines-pass" : "chain-clock");
        if (step.secs === PAST_DEADLINES_SECS) this.#deadlinesPassed = true;
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
    }
  }

  #moveClock(ms: number): void {
    this.#aheadMs += ms;
    for (const place of this.#places) place.setClock(this.#aheadMs);
  }

  #place(via: number): Place {
    return this.#places[via] ?? this.#places[0]!;
  }

  #asking(name: string): Asking {
    const known = this.#asked.get(name);
    if (known !== undefined) return known;
    const prebuilt = this.#stage.world.prebuilt.find((each) => each.name === name);
    if (prebuilt === undefined) throw new RangeError(`no transaction ${name}`);
    const made: Asking = { prebuilt, answers: [], ticket: undefined };
    this.#asked.set(name, made);
    return made;
  }

  /** Once; whatever goes wrong is an answer that was lost. */
  async #post({ prebuilt, answers }: Asking, place: Place, cutMs?: number): Promise<Answer> {
    const sentAt = ++this.#tick;
    const hangUp = new AbortController();
    const timer = setTimeout(() => {
      if (cutMs !== undefined) this.#count("hang-up");
      hangUp.abort();
    }, cutMs ?? ANSWER_WITHIN_MS);
    let answer: Answer = { is: "lost" };
    try {
      const { apiKey } = this.#stage.world;
      const response = await fetch(`${place.baseUrl}${prebuilt.path}`, {
        method: "POST",
        headers: {
          "X-API-Key": apiKey,
          "Content-Type": "application/json",
          // Every other scenario does without: the statement itself is the key then.
          ...(this.#plan.number % 2 === 0 ? { "Idempotency-Key": keyOf(prebuilt.name, answers) } : {}),
        },
        body: JSON.stringify(prebuilt.body),
        signal: hangUp.signal,
      });
      const told = (await response.json()) as Partial<Ticket> & { readonly code?: string };
      if (response.ok && told.ticket_id !== undefined)
        answer = { is: "ticket", id: told.ticket_id, sentAt, answeredAt: ++this.#tick };
      else answer = { is: "refused", status: response.status, code: told.code ?? "" };
    } catch {
      // Lost.
    } finally {
      clearTimeout(timer);
    }
    answers.push(answer);
    return answer;
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
    await Promise.all(this.#posts);
    await Promise.all(this.#places.map((place) => place.serving()));
  }

  /** Everything that was asked is asked again until it is answered, and again when all is final: one ticket each. */
  async #settleAll(): Promise<Violation | undefined> {
    for (const asking of this.#asked.values()) {
      let answer = asking.answers.at(-1);
      if (answer?.is === "lost") await this.#find(asking);
      // Under its first key: what a killed proxy had claimed is free.
      for (let i = 0; i < 40 && !isAnswered(answer); i++) {
        answer = await this.#post(asking, this.#places[i % this.#places.length]!);
        if (i > 0) await sleep(25);
      }
    }
    for (let i = 0; i < MAX_SETTLINGS; i++) {
      if (!(await this.#settle())) {
        const left = [...this.#asked.values()]
          .filter(({ ticket }) => ticket !== undefined && !isOver(ticket.state))
          .map(({ prebuilt, ticket }) => `${prebuilt.name} ${ticket!.state} ${ticket!.error ?? ""}`);
        return { code: "NOT_SETTLED", text: `after ${String(MAX_ROUNDS)} rounds: ${left.join(", ")}` };
      }
      const before = this.#ids().size;
      for (const asking of this.#asked.values())
        await this.#post(asking, this.#places[i % this.#places.length]!);
      if (this.#ids().size === before) return this.#unfound();
    }
    return { code: "NOT_SETTLED", text: "asked again, there is always another ticket" };
  }

  /** By its statement, as who has lost the answer may. */
  async #find({ prebuilt, answers }: Asking): Promise<boolean> {
    const sentAt = ++this.#tick;
    const found = await this.#get<Ticket>(`/sequence/ticket/${prebuilt.statement}`);
    if (found !== undefined)
      answers.push({ is: "ticket", id: found.ticket_id, sentAt, answeredAt: ++this.#tick });
    return found !== undefined;
  }

  async #unfound(): Promise<Violation | undefined> {
    for (const asking of this.#asked.values())
      if (asking.answers.at(-1)?.is === "ticket" && !(await this.#find(asking)))
        return { code: "TICKET_LOST", text: `${asking.prebuilt.name} is not found by its statement` };
    return undefined;
  }

  #ids(): Set<string> {
    return new Set(
      [...this.#asked.values()].flatMap(({ answers }) =>
        answers.flatMap((answer) => (answer.is === "ticket" ? [answer.id] : [])),
      ),
    );
  }

  async #settle(): Promise<boolean> {
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      await this.#readTickets();
      const states = [...this.#asked.values()].flatMap(({ ticket }) => ticket?.state ?? []);
      const isQuiet = (await this.#moves.waiting(0)) === undefined && (await this.#treeIsWhole());
      if (states.every(isOver) && isQuiet && round > 1) {
        // The last transaction becomes final, too.
        await this.#moves.mine(CONFIRMATIONS);
        await this.#synced();
        return this.#nothingOutgoing();
      }
      const onlyWaits = isQuiet && states.every((state) => isOver(state) || state === "confirmed");
      await this.#moves.mine(onlyWaits ? CONFIRMATIONS : round > MAX_ROUNDS / 2 ? 8 : 1);
      await this.#synced();
      await sleep(onlyWaits ? 20 : 50);
      if (round % CLOCK_EVERY_ROUNDS === 0) this.#moveClock(STUCK_MS);
    }
    return false;
  }

  /** What was sent is forgotten in the turn after it has become final. */
  async #nothingOutgoing(): Promise<boolean> {
    for (let i = 1; i <= MAX_LOOKS; i++) {
      if ((await this.#stage.store.read(this.#stage.dataDir(), [])).outgoing.length === 0) return true;
      await sleep(40);
      if (i % 10 === 0) await this.#moves.mine(CONFIRMATIONS);
    }
    // The checker says so.
    return true;
  }

  async #treeIsWhole(): Promise<boolean> {
    const root = await this.#get<{ pending: number }>("/merkle/root");
    return root?.pending === 0;
  }

  /** Until the first proxy has read the chain to its head. */
  async #synced(): Promise<void> {
    const height = await this.#moves.height();
    for (let i = 0; i < 100; i++) {
      const root = await this.#get<{ block_number: number }>("/merkle/root");
      if (root?.block_number === height) return;
      await sleep(15);
    }
  }

  async #readTickets(): Promise<void> {
    for (const asking of this.#asked.values()) {
      const last = asking.answers.findLast((answer) => answer.is === "ticket");
      if (last === undefined || (asking.ticket?.id === last.id && isOver(asking.ticket.state))) continue;
      const ticket = await this.#get<Ticket>(`/sequence/ticket/${last.id}`);
      asking.ticket = ticket === undefined ? undefined : viewOf(ticket);
    }
  }

  async #get<T>(path: string): Promise<T | undefined> {
    const { apiKey } = this.#stage.world;
    const response = await fetch(`${this.#places[0]!.baseUrl}${path}`, {
      headers: { "X-API-Key": apiKey },
    }).catch(() => undefined);
    if (response?.ok !== true) {
      await response?.body?.cancel();
      return undefined;
    }
    return (await response.json()) as T;
  }

  #countRivalries(): void {
    for (const { prebuilt } of this.#asked.values())
      if (prebuilt.rivals.some((rival) => this.#asked.has(rival))) this.#count("double-spend");
  }
}

/** A refusal that is no invitation to try again is what the same key gets for a day: who tries again takes another. */
function keyOf(name: string, answers: readonly Answer[]): string {
  const refusals = answers.filter((answer) => answer.is === "refused" && isAnswered(answer)).length;
  return createHash("sha256")
    .update(`${name} ${String(refusals)}`)
    .digest("hex")
    .slice(0, 32);
}

function viewOf(ticket: Ticket): TicketView {
  return {
    id: ticket.ticket_id,
    state: ticket.state,
    statement: ticket.statement,
    txHash: ticket.tx_hash,
    block: ticket.block_number,
    leaves: ticket.leaf_index,
    error: ticket.error?.code ?? null,
  };
}
