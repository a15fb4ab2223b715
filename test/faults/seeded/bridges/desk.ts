/** What callers of a scenario of bridges ask of the service, and what they are told. */
import { PATIENCE_MS } from "../../../../scripts/base/poll.ts";
import type { BridgeAddress } from "../../../../shared/api/bridges.ts";
import type { BridgeStatus } from "../../../../shared/api/bridge-status.ts";
import { ERRORS, type ErrorCode } from "../../../../shared/api/errors.ts";
import type { Answer, Asked, Given, StatusView } from "./observations.ts";
import type { BridgeFaultName } from "./fault-names.ts";
import type { Prebuilt } from "./requests.ts";
import type { Stage } from "./stage.ts";
import type { Spot } from "./spot.ts";

const HANGS_UP_AFTER_MS = 8_000;
/** Which may be away for as long as the faults last. */
const PATIENCE_WITH_EXCHANGE_MS = 1_500;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Asking {
  readonly prebuilt: Prebuilt;
  readonly answers: Answer[];
  status: StatusView | undefined;
  readonly given: Given[];
}

export class Desk {
  readonly #stage: Stage;
  readonly #places: readonly Spot[];
  readonly #count: (name: BridgeFaultName) => void;
  readonly #asked = new Map<string, Asking>();
  readonly #posts = new Set<Promise<unknown>>();

  constructor(stage: Stage, places: readonly Spot[], count: (name: BridgeFaultName) => void) {
    this.#stage = stage;
    this.#places = places;
    this.#count = count;
  }

  get asked(): Asked[] {
    return [...this.#asked.values()].map(askedOf);
  }

  prebuilt(name: string): Prebuilt {
    const found = this.#stage.facts.requests.find((one) => one.name === name);
    if (found === undefined) throw new RangeError(`no request ${name}`);
    return found;
  }

  /** Resolves at once where it does not wait for the answer. */
  async ask(
    name: string,
    place: Spot,
    { cutMs, waits }: { readonly cutMs?: number | undefined; readonly waits: boolean },
  ): Promise<void> {
    const post = this.#post(this.#asking(name), place, cutMs);
    this.#posts.add(post);
    void post.finally(() => this.#posts.delete(post));
    if (waits) await post;
  }

  /** Nobody pays to an address that was not told to him: he asks until it is. False where there is none for him (now). */
  async told(name: string): Promise<boolean> {
    const asking = this.#asking(name);
    const { account } = asking.prebuilt;
    const end = performance.now() + (account === undefined ? PATIENCE_MS : PATIENCE_WITH_EXCHANGE_MS);
    for (let i = 0; i === 0 || performance.now() < end; i++) {
      if (asking.answers.some(({ is }) => is === "made")) return true;
      const answer = await this.#post(asking, this.#places[i % this.#places.length]!);
      if (answer.is === "refused" && answer.code === "ACCOUNT_UNKNOWN") return false;
      if (i > 0) await sleep(25);
    }
    if (account !== undefined) return asking.answers.some(({ is }) => is === "made");
    throw new Error(`${name} is not answered`);
  }

  /** What the service has written to be signed, and under which request; undefined where there is nothing now. */
  async toSign(name: string, place: Spot): Promise<{ id: string; transaction: string } | undefined> {
    const last = this.#asking(name).answers.findLast((answer) => answer.is === "made");
    if (last === undefined) return undefined;
    const status = await this.#get<BridgeStatus>(`/bridge/status?id=${last.id}`, place);
    const transaction = status?.sign?.transaction;
    return transaction === undefined ? undefined : { id: last.id, transaction };
  }

  /** The device's signature, given back; whatever goes wrong is an answer that was lost. */
  async give(name: string, signed: { readonly id: string; readonly transaction: string }, place: Spot) {
    const { prebuilt, given } = this.#asking(name);
    let said: Given = { status: undefined, code: "" };
    try {
      const response = await fetch(`${place.baseUrl}${prebuilt.path}`, {
        method: "POST",
        headers: { "X-API-Key": this.#stage.facts.apiKey, "Content-Type": "application/json" },
        body: JSON.stringify({ bridge_id: signed.id, transaction: signed.transaction }),
        signal: AbortSignal.timeout(HANGS_UP_AFTER_MS),
      });
      const { code = "" } = (await response.json()) as { readonly code?: string };
      said = { status: response.status, code };
    } catch {
      // Lost.
    }
    given.push(said);
  }

  async answered(): Promise<void> {
    await Promise.all(this.#posts);
  }

  /** Everything that was asked is asked again, until it is answered: the answer is of a healthy service. */
  async askAgain(): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    for (const asking of this.#asked.values())
      for (let i = 0; performance.now() < end; i++) {
        const answer = await this.#post(asking, this.#places[i % this.#places.length]!);
        if (answer.is === "made" && answer.status === 201) continue;
        if (answer.is === "made" || (answer.is === "refused" && !isPassing(answer.code))) break;
        await sleep(25);
      }
  }

  async readStatuses(): Promise<readonly BridgeStatus[]> {
    const all: BridgeStatus[] = [];
    for (const asking of this.#asked.values()) {
      const last = asking.answers.findLast((answer) => answer.is === "made");
      if (last === undefined) continue;
      const found = await this.#get<BridgeStatus>(`/bridge/status?id=${last.id}`);
      asking.status = found && viewOf(found);
      if (found !== undefined) all.push(found);
    }
    return all;
  }

  /** What the service says of each request, word for word. */
  async inFull(): Promise<readonly string[]> {
    const ids = [...this.#asked.values()].flatMap(({ answers }) =>
      answers.flatMap((one) => (one.is === "made" ? [one.id] : [])),
    );
    const all = [...new Set(ids)].map((id) => this.#get(`/bridge/status?id=${id}`));
    return (await Promise.all(all)).map((status) => JSON.stringify(status));
  }

  /** Leaves that are under no root yet, as the service says; undefined where it has not seen the block `height`. */
  async pendingLeaves(height: number): Promise<number | undefined> {
    const root = await this.#get<{ pending: number; block_number: number }>("/merkle/root");
    return root?.block_number === height ? root.pending : undefined;
  }

  #asking(name: string): Asking {
    const known = this.#asked.get(name);
    if (known !== undefined) return known;
    const made: Asking = { prebuilt: this.prebuilt(name), answers: [], status: undefined, given: [] };
    this.#asked.set(name, made);
    return made;
  }

  /** Once; whatever goes wrong is an answer that was lost. */
  async #post({ prebuilt, answers }: Asking, place: Spot, cutMs?: number): Promise<Answer> {
    const hangUp = new AbortController();
    const timer = setTimeout(() => {
      if (cutMs !== undefined) this.#count("hang-up");
      hangUp.abort();
    }, cutMs ?? HANGS_UP_AFTER_MS);
    let answer: Answer = { is: "lost" };
    try {
      const response = await fetch(`${place.baseUrl}${prebuilt.path}`, {
        method: "POST",
        headers: { "X-API-Key": this.#stage.facts.apiKey, "Content-Type": "application/json" },
        body: JSON.stringify(prebuilt.body),
        signal: hangUp.signal,
      });
      const told = (await response.json()) as Partial<BridgeAddress> & { readonly code?: string };
      answer =
        response.ok && told.bridge_id !== undefined
          ? { is: "made", status: response.status, id: told.bridge_id, addresses: addressesOf(told) }
          : { is: "refused", status: response.status, code: told.code ?? "" };
    } catch {
      // Lost.
    } finally {
      clearTimeout(timer);
    }
    answers.push(answer);
    return answer;
  }

  /** Undefined where there is no good answer: a proxy that is held still gives none at all. */
  async #get<T>(path: string, place = this.#places[0]!): Promise<T | undefined> {
    try {
      const response = await fetch(`${place.baseUrl}${path}`, {
        headers: { "X-API-Key": this.#stage.facts.apiKey },
        signal: AbortSignal.timeout(HANGS_UP_AFTER_MS),
      });
      if (response.ok) return (await response.json()) as T;
      await response.body?.cancel();
    } catch {
      // Lost.
    }
    return undefined;
  }
}

const isPassing = (code: string): boolean => code === "" || ERRORS[code as ErrorCode].retryable;

function addressesOf({ address, source, altchain }: Partial<BridgeAddress>): string[] {
  // Capitals have a meaning there.
  if (altchain) return [altchain.home_address.toLowerCase(), altchain.token_account];
  return [address, source?.address].flatMap((text) => text?.toLowerCase() ?? []);
}

function viewOf({ bridge_id, state, received, credited, refunded, deposits }: BridgeStatus): StatusView {
  return {
    ...{ id: bridge_id, state, deposits: deposits.map((one) => one.state) },
    ...{ received: BigInt(received), credited: BigInt(credited), refunded: BigInt(refunded) },
  };
}

function askedOf({ prebuilt: { name, place, deposit, account }, answers, status, given }: Asking): Asked {
  const { minimum, feeCeiling: ceiling } = place.terms;
  const common = {
    ...{ name, answers, status, npk: place.note.npk },
    home: { address: place.address, minimum, ceiling },
  };
  if (place.direction === "out") {
    const recipient = `0x${place.terms.exit.recipient.slice(26)}`;
    return {
      ...common,
      direction: "out",
      recipient,
      on: account === undefined ? "other" : "exchange",
      account,
    };
  }
  if (deposit !== undefined) {
    const { tokenAccount: address, bounds } = deposit;
    const source = { address, minimum: bounds.minimum, ceiling: bounds.feeCeiling, on: "alt" as const };
    return { ...common, direction: "in", refund: place.terms.refund, source, given };
  }
  const [lane] = place.source?.terms.lanes ?? [];
  if (place.source === undefined || lane === undefined) throw new Error("an address without a source");
  const bounds = { minimum: lane.minimum, ceiling: lane.feeCeiling };
  const source = { address: place.source.address, ...bounds, on: "other" as const };
  return { ...common, direction: "in", refund: place.terms.refund, source, given };
}
