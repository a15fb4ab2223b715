/** What happened, for people: usage by day, tickets and their lives, the audit log. Everything but the operator's log is one developer's. */
import type {
  AuditPageView,
  TicketLife,
  TicketPage,
  TicketRow,
  UsageDayView,
  UsageView,
  ticketQuery,
} from "./contract/activity.ts";
import type { z } from "zod";
import { checksumAddress } from "../../shared/api/checksum.ts";
import { addressFromField } from "../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../shared/protocol/host/text.ts";
import { operationOf } from "../../shared/protocol/host/fees.ts";
import { readSignals } from "../../shared/protocol/host/statements.ts";
import type { AccountStore } from "../base/store/accounts.ts";
import type { AuditEntry, AuditStore } from "../base/store/audit.ts";
import { isEndedCursor } from "../base/store/ended-tickets.ts";
import type { InstanceStores } from "../base/store/instance.ts";
import type { TicketError, TicketRecord } from "../base/store/tickets.ts";
import { dayOf, nameOfDay, numberOfDay, type UsageStore } from "../base/store/usage.ts";
import { DashboardError, wrongField } from "./errors.ts";

export interface ActivityParts {
  readonly tickets: Pick<InstanceStores["tickets"], "get" | "byStatement" | "openOf" | "ended">;
  readonly usage: Pick<UsageStore, "days">;
  readonly audit: Pick<AuditStore, "page">;
  readonly accounts: Pick<AccountStore, "account">;
  readonly standings: (developerId: string) => Promise<UsageView["limits"]>;
  /** With `{tx}`. */
  readonly explorerTx: string | undefined;
  readonly now: () => number;
}

type TicketSearch = z.output<typeof ticketQuery>;

const LONGEST_RANGE_DAYS = 366;
const DEFAULT_DAYS = 30;
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export class Activity {
  readonly #parts: ActivityParts;

  constructor(parts: ActivityParts) {
    this.#parts = parts;
  }

  async usage(
    developerId: string,
    range: { readonly from?: string | undefined; readonly to?: string | undefined },
  ) {
    const to = range.to === undefined ? dayOf(this.#parts.now()) : numberOfDay(range.to);
    const from = range.from === undefined ? to - DEFAULT_DAYS + 1 : numberOfDay(range.from);
    if (from > to || to - from >= LONGEST_RANGE_DAYS)
      throw wrongField("from", `a range has 1 to ${String(LONGEST_RANGE_DAYS)} days`);
    const found = new Map((await this.#parts.usage.days(developerId, from, to)).map((one) => [one.day, one]));
    const days: UsageDayView[] = [];
    for (let at = from; at <= to; at++) {
      const day = nameOfDay(at);
      const { requests = [], refusals = [], payments = [], amounts = [] } = found.get(day) ?? {};
      days.push({
        ...{ day, requests: [...requests], refusals: [...refusals], payments: [...payments] },
        amounts: amounts.map(({ operation, asset, amount }) => ({
          ...{ operation, asset: shownAsset(asset), amount: String(amount) },
        })),
      });
    }
    return { days, limits: await this.#parts.standings(developerId) };
  }

  tickets(developerId: string, search: TicketSearch): Promise<TicketPage> {
    return search.is_open === "yes"
      ? this.#openPage(developerId, search)
      : this.#endedPage(developerId, search);
  }

  /** By its id or the hash of its statement. Another developer's is not there. */
  async ticket(developerId: string, id: string): Promise<TicketLife> {
    const statement = asBytes32(id);
    const found =
      statement !== undefined
        ? await this.#parts.tickets.byStatement(statement)
        : UUID.test(id)
          ? await this.#parts.tickets.get(id)
          : undefined;
    if (found?.owner.developerId !== developerId) throw new DashboardError("NOT_FOUND");
    return { ...lifeOf(found), explorer_url: this.#explorerUrl(rowOf(found).tx_hash) };
  }

  /** Undefined: of everybody, for an operator. */
  async audit(
    developerId: string | undefined,
    { cursor, limit }: { readonly cursor?: string | undefined; readonly limit: number },
  ): Promise<AuditPageView> {
    if (cursor !== undefined && !/^[1-9][0-9]{0,15}$/.test(cursor))
      throw wrongField("cursor", "no cursor of this list");
    const page = await this.#parts.audit.page({
      limit,
      ...(developerId === undefined ? {} : { developerId }),
      ...(cursor === undefined ? {} : { before: Number(cursor) }),
    });
    const entries = await Promise.all(
      page.entries.map(async (entry) => ({
        ...{ id: entry.id, at: iso(entry.at), verb: entry.verb, target: { ...entry.target } },
        by: {
          kind: entry.by.kind,
          id: "id" in entry.by ? entry.by.id : entry.by.name,
          name: await this.#nameOf(entry),
        },
        developer_id: entry.developerId ?? null,
        before: entry.before as AuditPageView["entries"][number]["before"],
        after: entry.after as AuditPageView["entries"][number]["after"],
      })),
    );
    return { entries, next: page.next === undefined ? null : String(page.next) };
  }

  #explorerUrl(tx: string | null): string | null {
    return tx === null || this.#parts.explorerTx === undefined
      ? null
      : this.#parts.explorerTx.replace("{tx}", tx);
  }

  async #nameOf(entry: AuditEntry): Promise<string | null> {
    if (entry.by.kind === "account") return (await this.#parts.accounts.account(entry.by.id))?.name ?? null;
    return "name" in entry.by ? entry.by.name : null;
  }

  async #openPage(developerId: string, { sub, state, cursor, limit }: TicketSearch): Promise<TicketPage> {
    const before = cursor === undefined ? Infinity : Number(cursor);
    if (Number.isNaN(before)) throw wrongField("cursor", "no cursor of this list");
    const found = (await this.#parts.tickets.openOf(developerId, sub))
      .filter((one) => one.sequence < before && (state === undefined || one.status.state === state))
      .sort((one, other) => other.sequence - one.sequence);
    const page = found.slice(0, limit);
    return { tickets: page.map(rowOf), next: found.length > limit ? String(page.at(-1)?.sequence) : null };
  }

  async #endedPage(developerId: string, search: TicketSearch): Promise<TicketPage> {
    const { sub, state, from, before, cursor, limit } = search;
    if (cursor !== undefined && !isEndedCursor(cursor)) throw wrongField("cursor", "no cursor of this list");
    const isEnd = state === "finalized" || state === "failed" || state === "expired";
    if (state !== undefined && !isEnd) return { tickets: [], next: null };
    const page = await this.#parts.tickets.ended({
      ...{ developerId, limit },
      ...(sub === undefined ? {} : { sub }),
      ...(state === undefined ? {} : { state }),
      ...(from === undefined ? {} : { from: Date.parse(from) }),
      ...(before === undefined ? {} : { before: Date.parse(before) }),
      ...(cursor === undefined ? {} : { cursor }),
    });
    return { tickets: page.tickets.map(rowOf), next: page.next ?? null };
  }
}

const iso = (ms: number): string => new Date(ms).toISOString();

function shownAsset(text: string): string {
  const address = asAddress(text);
  return address === undefined ? text : checksumAddress(address);
}

function rowOf({ id, owner, transaction, status, createdAt, updatedAt }: TicketRecord): TicketRow {
  const read = readSignals(transaction.kind, transaction.signals);
  // None that was accepted has a fault; one that other hands wrote must not hide the others.
  const facts = typeof read === "string" ? undefined : read;
  const amount: bigint = facts?.amount ?? 0n;
  const asset = facts === undefined || amount === 0n ? undefined : addressFromField(facts.asset);
  const outcome = "outcome" in status ? status.outcome : undefined;
  return {
    ticket_id: id,
    ...{
      kind: transaction.kind,
      operation: facts === undefined ? "transfer" : operationOf(transaction.kind, facts),
      state: status.state,
    },
    sub: owner.sub ?? null,
    amount: asset === undefined ? null : String(amount),
    asset: asset === undefined ? null : checksumAddress(asset),
    ...{ created_at: iso(createdAt), updated_at: iso(updatedAt) },
    tx_hash: status.state === "submitted" ? status.txHash : (outcome?.txHash ?? null),
    error_code: codeOf(status),
  };
}

const codeOf = (status: TicketRecord["status"]): string | null => errorOf(status)?.code ?? null;

function errorOf(status: TicketRecord["status"]): TicketError | undefined {
  return "error" in status ? status.error : undefined;
}

const GOOD_LIFE = ["queued", "submitted", "confirmed", "finalized"] as const;

function lifeOf(ticket: TicketRecord): Omit<TicketLife, "explorer_url"> {
  const { statement, transaction, status, nullifiers, requestId, createdAt, updatedAt } = ticket;
  const outcome = "outcome" in status ? status.outcome : undefined;
  const error = errorOf(status);
  const isInVain = status.state === "failed" || status.state === "expired";
  const reached = isInVain ? 0 : GOOD_LIFE.findIndex((state) => state === status.state);
  // One that ended without effect may have been submitted, too; nobody kept it.
  const states = isInVain ? (["queued", status.state] as const) : GOOD_LIFE;
  const deadlineMs = Number(transaction.deadline) * 1000;
  return {
    ...rowOf(ticket),
    statement,
    // A user may choose any second, and RFC 3339 ends with the year 9999.
    deadline: iso(Math.min(deadlineMs, LAST_MS)),
    block_number: outcome?.block ?? null,
    leaf_index: [...(outcome?.leafIndexes ?? [])],
    nullifiers: nullifiers.map((one) => `0x${one.toString(16).padStart(64, "0")}`),
    request_id: requestId ?? null,
    error: error === undefined ? null : { ...error },
    steps: states.map((state, place) => {
      const isReached = state === status.state || place <= reached;
      const at = place === 0 ? createdAt : state === status.state ? updatedAt : undefined;
      return { state, is_reached: isReached, at: at === undefined ? null : iso(at) };
    }),
  };
}
