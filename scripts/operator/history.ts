// `npm run operator -- audit`, `usage` and `tickets ended`: what was changed by whom, how much each developer used, and
// which tickets are over. They change nothing. Pages end with the words that go on behind them.
import type { AuditEntry, Author } from "../../proxy/base/store/audit.ts";
import { isEndedCursor, type EndedState } from "../../proxy/base/store/ended-tickets.ts";
import type { TicketRecord } from "../../proxy/base/store/tickets.ts";
import { dayOf, nameOfDay, numberOfDay, type UsageDay } from "../../proxy/base/store/usage.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { given, noMore, type Kept, type Result, type StoreValues } from "./command-line.ts";

export const HISTORY_HELP = `  audit [--developer ID] [--limit N] [--cursor C]         every change of what an instance keeps, the last first: who,
                                                          what, from what to what; never a secret
  usage [--developer ID] [--from DAY] [--to DAY]          requests, refusals and payments of each developer on each day
                                                          (UTC, 2026-11-25; default: the last 7)`;

const LIMIT = "50";
const MOST = 1_000;
const DAYS = 7;
const MOST_DAYS = 366;
const STATES: readonly EndedState[] = ["finalized", "failed", "expired"];

export async function auditCommand({ stores, values }: Kept, words: readonly string[]): Promise<Result> {
  noMore(words);
  const { developer: developerId, cursor } = values;
  const before =
    cursor === undefined ? undefined : wholeNumber("--cursor", cursor, 1, Number.MAX_SAFE_INTEGER);
  const query = { ...given({ developerId, before }), limit: limitIn(values) };
  const { entries, next } = await stores.audit.page(query);
  const shown = entries.map(({ at, developerId: developer, ...entry }) => ({
    ...{ ...entry, at: time(at), developer: developer ?? null },
  }));
  const lines = entries.map(lineOf);
  return { data: { entries: shown, next: next ?? null }, text: textOf(lines, next) };
}

export async function usageCommand(
  { stores: { usage }, values }: Kept,
  words: readonly string[],
): Promise<Result> {
  noMore(words);
  const to = values.to === undefined ? dayOf(Date.now()) : dayIn("--to", values.to);
  const from = values.from === undefined ? to - DAYS + 1 : dayIn("--from", values.from);
  if (from > to || to - from >= MOST_DAYS)
    throw new UsageError(`--from is at most ${String(MOST_DAYS)} days before --to`);
  const rows: { readonly developer: string; readonly used: UsageDay }[] = [];
  for (let day = from; day <= to; day++) {
    const developers = values.developer === undefined ? await usage.developersOn(day) : [values.developer];
    for (const developer of developers)
      for (const used of await usage.days(developer, day, day)) rows.push({ developer, used });
  }
  const data = rows.map(({ developer, used: { amounts, ...used } }) => ({
    developer,
    ...used,
    amounts: amounts.map(({ amount, ...of }) => ({ ...of, amount: String(amount) })),
  }));
  return { data: { usage: data }, text: rows.length === 0 ? "none" : rows.flatMap(usageLines).join("\n") };
}

export async function ended({ stores: { tickets }, values }: Kept): Promise<Result> {
  const { developer: developerId, sub, cursor } = values;
  if (sub !== undefined && developerId === undefined) throw new UsageError("--sub needs --developer");
  if (cursor !== undefined && !isEndedCursor(cursor)) throw new UsageError("--cursor is that of no page");
  const state = values.state === undefined ? undefined : STATES.find((one) => one === values.state);
  if (values.state !== undefined && state === undefined)
    throw new UsageError(`--state is one of ${STATES.join(", ")}`);
  const from = values.from === undefined ? undefined : timeIn("--from", values.from);
  const before = values.to === undefined ? undefined : timeIn("--to", values.to);
  const query = { ...given({ developerId, sub, state, from, before, cursor }), limit: limitIn(values) };
  const page = await tickets.ended(query);
  const data = page.tickets.map(shownTicket);
  const lines = data.map(({ id, kind, state: how, developer, ended_at, code }) =>
    [ended_at, id, kind, how, developer, ...(code === null ? [] : [code])].join("\t"),
  );
  return { data: { tickets: data, next: page.next ?? null }, text: textOf(lines, page.next) };
}

function shownTicket({ id, owner, transaction, statement, status, createdAt, updatedAt }: TicketRecord) {
  return {
    ...{ id, kind: transaction.kind, state: status.state, statement },
    ...{ developer: owner.developerId, user: owner.sub ?? null },
    ...{ accepted_at: time(createdAt), ended_at: time(updatedAt) },
    tx_hash: "outcome" in status ? status.outcome.txHash : null,
    code: "error" in status ? status.error.code : null,
  };
}

function lineOf({ at, by, verb, target, before, after }: AuditEntry): string {
  const change = `${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
  return [time(at), nameOf(by), verb, `${target.kind} ${target.id}`, change].join("\t");
}

const nameOf = (by: Author): string => `${by.kind} ${"name" in by ? by.name : by.id}`;

function usageLines({ developer, used }: { readonly developer: string; readonly used: UsageDay }): string[] {
  const line = (...words: readonly string[]): string => [used.day, developer, ...words].join("\t");
  return [
    ...used.requests.map(({ operation, count }) => line("requests", operation, String(count))),
    ...used.refusals.map(({ operation, code, count }) => line("refused", operation, code, String(count))),
    ...used.payments.map(({ operation, state, count }) => line("payments", operation, state, String(count))),
    ...used.amounts.map(({ operation, asset, amount }) => line("amount", operation, asset, String(amount))),
  ];
}

function textOf(lines: readonly string[], next: string | number | undefined): string {
  const more = next === undefined ? [] : [`more: --cursor ${String(next)}`];
  return lines.length === 0 ? "none" : [...lines, ...more].join("\n");
}

const limitIn = ({ limit = LIMIT }: Pick<StoreValues, "limit">): number =>
  wholeNumber("--limit", limit, 1, MOST);

function dayIn(option: string, text: string): number {
  const day = numberOfDay(text);
  if (Number.isNaN(day) || nameOfDay(day) !== text) throw new UsageError(`${option} takes a day: 2026-11-25`);
  return day;
}

/** A day is its beginning. */
function timeIn(option: string, text: string): number {
  const ms = /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms)) throw new UsageError(`${option} takes a day or a time in UTC: 2026-11-25T13:00:00Z`);
  return ms;
}

const time = (ms: number): string => new Date(ms).toISOString();
