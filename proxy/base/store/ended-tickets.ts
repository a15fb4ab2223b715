/**
 * Tickets that are over, in orders by the time of their end: all of them, a developer's and a user's, and each of these
 * by the state in which they ended. A ticket is in them from the step that ends it to the one that removes it.
 */
import type { Check, Engine, Range, Write } from "./engine.ts";
import { isOver } from "./ticket-states.ts";
import type { TicketOwner, TicketRecord, TicketStatus } from "./tickets.ts";
import { hashed } from "./values.ts";

/** By the time of their end; what is removed first comes first. */
const ENDED = "tickets:ended";
const TIES = 500;

/** States in which a ticket ends. Only `finalized` was executed. */
export type EndedState = Extract<TicketStatus["state"], "finalized" | "failed" | "expired">;

export interface EndedQuery {
  /** Undefined: of every developer. */
  readonly developerId?: string;
  /** Only those of this user; needs `developerId`. Tickets of an API key have no user. */
  readonly sub?: string;
  readonly state?: EndedState;
  /** Ended at this time or later, in milliseconds since 1970. */
  readonly from?: number;
  /** Ended before this time, in milliseconds since 1970. */
  readonly before?: number;
  /** `next` of the page before, with the same filters. */
  readonly cursor?: string;
  /** Most tickets of a page. */
  readonly limit: number;
}

export interface EndedPage {
  /** Those that ended last first; `updatedAt` is when it ended. */
  readonly tickets: readonly TicketRecord[];
  /** `cursor` of the next page; undefined when this was the last. It names a place, so nothing that ends later moves it. */
  readonly next: string | undefined;
}

const CURSOR = /^(\d{1,16})-([\x21-\x7e]{1,64})$/;

/** Whether `cursor` has the form of one; a page for another throws RangeError. */
export const isEndedCursor = (text: string): boolean => CURSOR.test(text);

interface Place {
  readonly at: number;
  readonly id: string;
}

function readCursor(text: string): Place {
  const [, at, id] = CURSOR.exec(text) ?? [];
  if (id === undefined) throw new RangeError("no cursor of ours");
  return { at: Number(at), id };
}

/** @param list in the order asked, without those that are not there */
export async function endedPage(
  engine: Engine,
  list: (ids: readonly string[]) => Promise<readonly TicketRecord[]>,
  { developerId, sub, state, from, before, cursor, limit }: EndedQuery,
): Promise<EndedPage> {
  if (sub !== undefined && developerId === undefined) throw new RangeError("a user is one of a developer");
  const order = orderOf(developerId, sub === undefined ? undefined : hashed(sub), state);
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const ids = after === undefined ? [] : await tiesAfter(engine, order, after);
  const bounds = {
    ...(from === undefined ? {} : { from }),
    ...(after === undefined ? (before === undefined ? {} : { before }) : { before: after.at }),
  };
  const missing = limit + 1 - ids.length;
  if (missing > 0)
    ids.push(...(await engine.members(order, { ...bounds, limit: missing, isBackward: true })));
  const found = await list(ids.slice(0, limit));
  // A program that does not know these orders may have opened one again.
  const tickets = found.filter((ticket) => isOver(ticket.status));
  const last = found.at(-1);
  const next = ids.length > limit && last !== undefined ? `${String(last.updatedAt)}-${last.id}` : undefined;
  return { tickets, next };
}

/** Those of the cursor's own millisecond that come behind it: what one block ends has one time. */
async function tiesAfter(engine: Engine, order: string, { at, id }: Place): Promise<string[]> {
  const ties: string[] = [];
  for (let skip = 0; ; skip += TIES) {
    const range = { from: at, before: at + 1, skip, limit: TIES, isBackward: true };
    const page = await engine.members(order, range);
    ties.push(...page.filter((one) => one < id));
    if (page.length < TIES) return ties;
  }
}

/** Of one that comes to its end, or `unrank`s it where it is open again or goes. */
export function placesOf(kind: "rank" | "unrank", ticket: TicketRecord): Write[] {
  const { id, owner, status, updatedAt } = ticket;
  return ordersOf(owner, status).map((order): Write => [kind, order, updatedAt, id]);
}

/** A step that removes tickets, with how many it removes and how many of those it looked at stay. */
export interface Removal {
  readonly checks: readonly Check[];
  readonly writes: readonly Write[];
  readonly gone: number;
  /** Those that are carried by a transaction of ours, open, or cannot be read. */
  readonly stay: number;
}

interface Tables {
  readonly TICKETS: string;
  readonly STATEMENTS: string;
  /** Undefined for what has to stay. */
  readonly read: (id: string, text: string | undefined) => TicketRecord | undefined;
}

/**
 * The step checks that nothing of what it removes was changed since it was read, so one that got no answer and arrives
 * late removes nothing else. A statement whose last ticket is another one is that ticket's.
 */
export async function removalOf(
  engine: Engine,
  { TICKETS, STATEMENTS, read }: Tables,
  range: Range,
): Promise<Removal> {
  const ids = await engine.members(ENDED, range);
  const texts = await engine.get(TICKETS, ids);
  const found = ids.flatMap((id, i) => {
    const ticket = read(id, texts[i]);
    return ticket !== undefined && isOver(ticket.status) ? [{ id, ticket, text: texts[i] }] : [];
  });
  const last = await engine.get(
    STATEMENTS,
    found.map(({ ticket }) => ticket.statement),
  );
  const [checks, writes]: [Check[], Write[]] = [[], []];
  for (const [i, { id, ticket, text }] of found.entries()) {
    checks.push(["is", TICKETS, id, text]);
    writes.push(["drop", TICKETS, id], ...placesOf("unrank", ticket));
    if (last[i] !== id) continue;
    checks.push(["is", STATEMENTS, ticket.statement, id]);
    writes.push(["drop", STATEMENTS, ticket.statement]);
  }
  return { checks, writes, gone: found.length, stay: ids.length - found.length };
}

function ordersOf({ developerId, sub }: TicketOwner, { state }: TicketStatus): string[] {
  const user = sub === undefined ? undefined : hashed(sub);
  const whose = [[], [developerId], ...(user === undefined ? [] : [[developerId, user]])];
  return whose.flatMap(([developer, one]) => [
    orderOf(developer, one, undefined),
    orderOf(developer, one, state as EndedState),
  ]);
}

/** An id of a developer has neither colon nor slash. */
function orderOf(
  developerId: string | undefined,
  user: string | undefined,
  state: EndedState | undefined,
): string {
  const whose = [ENDED, developerId, user].filter((part) => part !== undefined).join(":");
  return state === undefined ? whose : `${whose}/${state}`;
}
