/** What callers of a scenario ask of the service, what they are told, and their patience until all of it is over. */
import { createHash } from "node:crypto";
import { ERRORS, type ErrorCode } from "../../../shared/api/errors.ts";
import type { Ticket } from "../../../shared/api/transactions.ts";
import type { ChainMoves } from "./chain-moves.ts";
import type { Violation } from "./checker.ts";
import type { Place } from "./hosts.ts";
import type { Answer, Asked, TicketView } from "./observations.ts";
import type { FaultName } from "./plan.ts";
import type { Stage } from "./stage.ts";
import { CONFIRMATIONS, type Prebuilt } from "./world.ts";

const HANGS_UP_AFTER_MS = 8_000;
/** Rounds of a block each in which everything has to become final. */
const MAX_ROUNDS = 80;
const CLOCK_EVERY_ROUNDS = 8;
const STUCK_MS = 31_000;
const MAX_SETTLINGS = 6;
const MAX_LOOKS = 100;
const MAX_POSTS = 40;

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

export interface DeskParts {
  readonly stage: Stage;
  /** Of the plan: every other scenario asks under keys of its own. */
  readonly number: number;
  readonly moves: ChainMoves;
  readonly places: readonly Place[];
  count(name: FaultName): void;
  /** The proxies' clocks, on by so much. */
  moveClock(ms: number): void;
}

export class Desk {
  readonly #parts: DeskParts;
  readonly #asked = new Map<string, Asking>();
  readonly #posts = new Set<Promise<unknown>>();
  #tick = 0;

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  get asked(): Asked[] {
    return [...this.#asked.values()].map(
      ({ prebuilt: { name, statement, rivals, effects, body }, answers, ticket }): Asked => ({
        ...{ name, statement, rivals, effects, answers, ticket },
        deadline: body.deadline,
      }),
    );
  }

  /** Resolves at once where it does not wait for the answer. */
  async send(
    name: string,
    place: Place,
    { cutMs, waits }: { readonly cutMs?: number | undefined; readonly waits: boolean },
  ): Promise<void> {
    const post = this.#post(this.#asking(name), place, cutMs);
    this.#posts.add(post);
    void post.finally(() => this.#posts.delete(post));
    if (waits) await post;
  }

  /** Until every request has its answer, or none. */
  async answered(): Promise<void> {
    await Promise.all(this.#posts);
  }

  #asking(name: string): Asking {
    const known = this.#asked.get(name);
    if (known !== undefined) return known;
    const prebuilt = [...this.#parts.stage.world.prebuilt, ...this.#parts.stage.world.late].find(
      (each) => each.name === name,
    );
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
      if (cutMs !== undefined) this.#parts.count("hang-up");
      hangUp.abort();
    }, cutMs ?? HANGS_UP_AFTER_MS);
    let answer: Answer = { is: "lost" };
    try {
      const { apiKey } = this.#parts.stage.world;
      const response = await fetch(`${place.baseUrl}${prebuilt.path}`, {
        method: "POST",
        headers: {
          "X-API-Key": apiKey,
          "Content-Type": "application/json",
          // Every other scenario does without: the statement itself is the key then.
          ...(this.#parts.number % 2 === 0 ? { "Idempotency-Key": keyOf(prebuilt.name, answers) } : {}),
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

  /** To each proxy in turn: what lies to it may have no answer for the first question. */
  async #postUntilAnswered(asking: Asking, first = 0): Promise<void> {
    const { places } = this.#parts;
    for (let i = 0; i < MAX_POSTS; i++) {
      if (i > 1) await sleep(25);
      if (isAnswered(await this.#post(asking, places[(first + i) % places.length]!))) return;
    }
  }

  /** Everything that was asked is asked again until it is answered, and again when all is final: one ticket each. */
  async settleAll(): Promise<Violation | undefined> {
    for (const asking of this.#asked.values()) {
      const answer = asking.answers.at(-1);
      if (answer?.is === "lost") await this.#find(asking);
      // Under its first key: what a killed proxy had claimed is free.
      if (!isAnswered(answer)) await this.#postUntilAnswered(asking);
    }
    for (let i = 0; i < MAX_SETTLINGS; i++) {
      if (!(await this.#settle())) {
        const left = [...this.#asked.values()]
          .filter(({ ticket }) => ticket !== undefined && !isOver(ticket.state))
          .map(({ prebuilt, ticket }) => `${prebuilt.name} ${ticket!.state} ${ticket!.error ?? ""}`);
        return { code: "NOT_SETTLED", text: `after ${String(MAX_ROUNDS)} rounds: ${left.join(", ")}` };
      }
      const before = this.#ids().size;
      for (const asking of this.#asked.values()) await this.#postUntilAnswered(asking, i);
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
      const isQuiet = (await this.#parts.moves.waiting(0)) === undefined && (await this.#treeIsWhole());
      if (states.every(isOver) && isQuiet && round > 1) {
        // The last transaction becomes final, too.
        await this.#parts.moves.mine(CONFIRMATIONS);
        await this.#synced();
        return this.#nothingOutgoing();
      }
      const onlyWaits = isQuiet && states.every((state) => isOver(state) || state === "confirmed");
      await this.#parts.moves.mine(onlyWaits ? CONFIRMATIONS : round > MAX_ROUNDS / 2 ? 8 : 1);
      await this.#synced();
      await sleep(onlyWaits ? 20 : 50);
      if (round % CLOCK_EVERY_ROUNDS === 0) this.#parts.moveClock(STUCK_MS);
    }
    return false;
  }

  /** What was sent is forgotten in the turn after it has become final. */
  async #nothingOutgoing(): Promise<boolean> {
    for (let i = 1; i <= MAX_LOOKS; i++) {
      if ((await this.#parts.stage.store.read(this.#parts.stage.dataDir(), [])).outgoing.length === 0)
        return true;
      await sleep(40);
      if (i % 10 === 0) await this.#parts.moves.mine(CONFIRMATIONS);
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
    const height = await this.#parts.moves.height();
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
    const { apiKey } = this.#parts.stage.world;
    const response = await fetch(`${this.#parts.places[0]!.baseUrl}${path}`, {
      headers: { "X-API-Key": apiKey },
    }).catch(() => undefined);
    if (response?.ok !== true) {
      await response?.body?.cancel();
      return undefined;
    }
    return (await response.json()) as T;
  }

  countRivalries(): void {
    for (const { prebuilt } of this.#asked.values())
      if (prebuilt.rivals.some((rival) => this.#asked.has(rival))) this.#parts.count("double-spend");
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
