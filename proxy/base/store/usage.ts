/**
 * How much each developer used on each day (UTC): requests and refusals by operation, as each proxy pours what it has
 * counted in its memory, and payments, which are counted by the step that ends a ticket. Sums for people: no limit, fee
 * or payment is decided by them.
 */
import { z } from "zod";
import { addressFromField } from "../../../shared/protocol/brands.ts";
import { parseField } from "../../../shared/protocol/host/text.ts";
import { operationOf, type FeeOperation } from "../../../shared/protocol/host/fees.ts";
import { readSignals } from "../../../shared/protocol/host/statements.ts";
import type { Engine, Write } from "./engine.ts";
import type { EndedState } from "./ended-tickets.ts";
import { LEASE, writeUnder, type Fence } from "./lease.ts";
import type { UnplacedTicket } from "./tickets.ts";
import { storedOperation } from "./values.ts";

export const DAY_MS = 86_400_000;
/** By number of the day, one member a developer that used something: `2026-11-25 DEVELOPER`. */
const DAYS = "usage:days";
/** Of each proxy's run, the number of what it poured last. */
const POURED = "usage:poured";
const POURED_LIFE_MS = DAY_MS;
/** A sum of amounts is kept in digits of this base, each a count of its own: counts end at 2^53, and amounts at 2^128. */
const BASE = 10n ** 8n;

/** What one operation of one developer came to on one day. */
export interface Counted {
  readonly developerId: string;
  /** Days since 1970, UTC. */
  readonly day: number;
  /** Name of the endpoint in shared/api/endpoints.ts, such as `relay`; `none` where the request named no endpoint. */
  readonly operation: string;
  /** Undefined: requests, whatever their answer. Otherwise those of them that were refused with this code. */
  readonly code: string | undefined;
  readonly count: number;
}

export interface UsageDay {
  /** `2026-11-25` */
  readonly day: string;
  /** Authenticated requests, refused ones among them. */
  readonly requests: readonly { readonly operation: string; readonly count: number }[];
  readonly refusals: readonly { readonly operation: string; readonly code: string; readonly count: number }[];
  /** Tickets that were accepted on this day and have ended, by how. */
  readonly payments: readonly {
    readonly operation: FeeOperation;
    readonly state: EndedState;
    readonly count: number;
  }[];
  /** Of `finalized` ones, in the asset's smallest units. A transfer's is known to nobody here, so it has none. */
  readonly amounts: readonly {
    readonly operation: FeeOperation;
    /** Lower-case hex. */
    readonly asset: string;
    readonly amount: bigint;
  }[];
}

export type UsageStore = ReturnType<typeof openUsageStore>;

export function openUsageStore(engine: Engine) {
  /** In one step, and only if `number` follows the last of this source. */
  async function pour(source: string, number: number, counted: readonly Counted[]): Promise<boolean> {
    const before = number === 1 ? undefined : String(number - 1);
    const sums = new Sums();
    for (const { developerId, day, operation, code, count } of counted)
      sums.add(developerId, day, fieldOf(operation, code), count);
    const committed = await engine.commit({
      checks: [["is", POURED, source, before]],
      writes: [["put-for", POURED, source, String(number), POURED_LIFE_MS], ...sums.writes()],
    });
    // It was made by an attempt that got no answer.
    return committed.done || committed.found === String(number);
  }

  const day = async (developerId: string, at: number): Promise<UsageDay> =>
    readDay(at, await engine.all(tableOf(developerId, at)));

  return {
    /**
     * Adds what a proxy has counted, once, also if it is called again after StoreUnavailable: `source` is one run of a
     * process, and `number` counts its pours from 1. False, and nothing added, where the store no longer knows the
     * source's last pour (it was a day ago, or the store was restored): begin again as another source.
     */
    pour,
    /** Every day of a developer from one to another, both included (days since 1970), without those with no usage. */
    async days(developerId: string, from: number, to: number): Promise<readonly UsageDay[]> {
      const found: UsageDay[] = [];
      for (let at = from; at <= to; at++) {
        const one = await day(developerId, at);
        if (one.requests.length + one.payments.length > 0) found.push(one);
      }
      return found;
    },
    /** Developers that used something on this day, by id. */
    async developersOn(at: number): Promise<readonly string[]> {
      const members = await engine.members(DAYS, { from: at, before: at + 1 });
      return members.map((member) => developerOf(member));
    },
    /**
     * Removes one developer's sums of the oldest day before this one, under the sequencer's lease; false when there is
     * none. Throws LeaseLost.
     */
    async removeOne(fence: Fence, before: number): Promise<boolean> {
      const [member] = await engine.members(DAYS, { before, limit: 1 });
      if (member === undefined) return false;
      const [developerId, at] = [developerOf(member), numberOfDay(member.slice(0, DAY_LENGTH))];
      const table = tableOf(developerId, at);
      const fields = [...(await engine.all(table)).keys()];
      const gone = fields.map((field): Write => ["drop", table, field]);
      await writeUnder({ engine, lease: LEASE, fence }, [...gone, ["unrank", DAYS, at, member]]);
      return true;
    },
  };
}

/** Sums that are to be added, each once: what a step adds for many tickets is one write. */
export class Sums {
  readonly #sums = new Map<string, Map<string, number>>();
  readonly #places: Write[] = [];

  add(developerId: string, day: number, field: string, by: number): void {
    const table = tableOf(developerId, day);
    let fields = this.#sums.get(table);
    if (fields === undefined) {
      this.#sums.set(table, (fields = new Map<string, number>()));
      this.#places.push(["rank", DAYS, day, `${nameOfDay(day)} ${developerId}`]);
    }
    fields.set(field, (fields.get(field) ?? 0) + by);
  }

  writes(): Write[] {
    const adds = [...this.#sums].flatMap(([table, fields]) =>
      [...fields].filter(([, by]) => by !== 0).map(([field, by]): Write => ["add", table, field, by]),
    );
    return adds.length === 0 ? [] : [...adds, ...this.#places];
  }
}

/**
 * A ticket that has come to its end (`by` 1), or is open again after a reorganisation of final blocks (-1). It counts on
 * the day of its acceptance, so that an end and its taking back meet in one sum.
 */
export function addPayment(sums: Sums, ticket: UnplacedTicket, by: 1 | -1): void {
  const { owner, createdAt, status, transaction } = ticket;
  const facts = readSignals(transaction.kind, transaction.signals);
  if (typeof facts === "string") return;
  const [day, operation] = [dayOf(createdAt), operationOf(transaction.kind, facts)];
  sums.add(owner.developerId, day, `payments ${operation} ${status.state}`, by);
  if (status.state !== "finalized") return;
  const digit = `amount ${operation} ${addressFromField(facts.asset) ?? ""}`;
  let rest: bigint = facts.amount;
  for (let place = 0; rest > 0n; place++, rest /= BASE)
    sums.add(owner.developerId, day, `${digit} ${String(place)}`, Number(rest % BASE) * by);
}

/** Days since 1970, UTC, of a time in milliseconds. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
const DAY_LENGTH = "2026-11-25".length;
/** `2026-11-25` */
export const nameOfDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, DAY_LENGTH);
/** NaN for what is no day. */
export const numberOfDay = (name: string): number =>
  /^\d{4}-\d\d-\d\d$/.test(name) ? Date.parse(`${name}T00:00:00Z`) / DAY_MS : NaN;

const developerOf = (member: string): string => member.slice(DAY_LENGTH + 1);
const tableOf = (developerId: string, day: number): string => `usage:${nameOfDay(day)}:${developerId}`;
const fieldOf = (operation: string, code: string | undefined): string =>
  code === undefined ? `requests ${operation}` : `refused ${operation} ${code}`;

const endShape = z.enum(["finalized", "failed", "expired"]);

/** What is no sum of ours is left out: it decides nothing. */
function readDay(day: number, fields: ReadonlyMap<string, string>): UsageDay {
  const requests = [];
  const refusals = [];
  const payments = [];
  const amounts = new Map<string, { operation: FeeOperation; asset: string; amount: bigint }>();
  for (const [field, text] of fields) {
    const [what, operation = "", third = "", place = ""] = field.split(" ");
    const count = Number(text);
    if (!Number.isSafeInteger(count) || count < 1) continue;
    if (what === "requests") requests.push({ operation, count });
    if (what === "refused") refusals.push({ operation, code: third, count });
    const paid = storedOperation.safeParse(operation).data;
    if (paid === undefined) continue;
    const state = endShape.safeParse(third).data;
    if (what === "payments" && state !== undefined) payments.push({ operation: paid, state, count });
    const digit = parseField(place);
    if (what !== "amount" || digit === undefined) continue;
    const sum = amounts.get(`${operation} ${third}`)?.amount ?? 0n;
    const amount = sum + BigInt(count) * BASE ** digit;
    amounts.set(`${operation} ${third}`, { operation: paid, asset: third, amount });
  }
  return { day: nameOfDay(day), requests, refusals, payments, amounts: [...amounts.values()] };
}
