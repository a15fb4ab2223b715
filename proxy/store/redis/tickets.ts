/**
 * Tickets and outgoing transactions in the durable Redis. Any proxy accepts, in one script that gives the place in
 * the order; everything else is written under the lease, so what its holder has read is what it writes over.
 */
import { z } from "zod";
import type { Field } from "../../../shared/protocol/brands.ts";
import { firstStatus, isInVain, isOver, isSameOwner, isUnderWay, userKey } from "../ticket-states.ts";
import {
  LeaseLost,
  type Fence,
  type Outgoing,
  type TicketChange,
  type TicketRecord,
  type TicketStore,
  type TicketWrites,
} from "../tickets.ts";
import { StoreUnavailable } from "../unavailable.ts";
import type { DurableRedis } from "./durable.ts";
import { NEWS_KEPT, openNews } from "./news.ts";
import { openRecords } from "./records.ts";
import { outgoingForm, ticketForm } from "./stored-tickets.ts";
import { LEASE, REPORT } from "./submission-lease.ts";
import { storedBytes32 } from "./values.ts";

/**
 * KEYS: tickets, statements, reserved, line, queued, open, owner's, developer's, news.
 * ARGV: most that may wait, id, statement, id of its earlier ticket that ended in vain, text, whether it is `new` or
 * executed already, nullifiers.
 * Its first write is refused by a full Redis, before which nothing is written.
 */
const ACCEPT = `
local id, statement, is_new = ARGV[2], ARGV[3], ARGV[6] == 'new'
local known = redis.call('HGET', KEYS[2], statement)
if known and known ~= ARGV[4] then return { 'known', known } end
if is_new then
  for i = 7, #ARGV do
    if redis.call('HEXISTS', KEYS[3], ARGV[i]) == 1 then return { 'reserved' } end
  end
  if (tonumber(redis.call('HGET', KEYS[4], 'waiting')) or 0) >= tonumber(ARGV[1]) then return { 'full' } end
end
local sequence = redis.call('HINCRBY', KEYS[4], 'sequence', 1)
if is_new then
  redis.call('HINCRBY', KEYS[4], 'waiting', 1)
  redis.call('ZADD', KEYS[5], sequence, id)
end
redis.call('HSET', KEYS[1], id, sequence .. ' ' .. ARGV[5])
redis.call('HSET', KEYS[2], statement, id)
for i = 7, #ARGV do redis.call('HSETNX', KEYS[3], ARGV[i], statement) end
for i = 6, 8 do redis.call('ZADD', KEYS[i], sequence, id) end
redis.call('XADD', KEYS[9], 'MAXLEN', '~', ${String(NEWS_KEPT)}, '*', 'id', id)
return { 'accepted', tostring(sequence) }
`;

/**
 * Commands in one step, if the lease is still that of the fence. KEYS: lease, then those of the commands. ARGV:
 * fence, then of each command its length without the key, its name, its key's place in KEYS, the rest. Also in a
 * full Redis: what was accepted must come to its end there.
 */
const UNDER_LEASE = `#!lua flags=allow-oom
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
local i = 2
while i <= #ARGV do
  local n = tonumber(ARGV[i])
  local command = { ARGV[i + 1], KEYS[tonumber(ARGV[i + 2])] }
  for j = 3, n + 1 do command[j] = ARGV[i + j] end
  redis.call(unpack(command))
  i = i + n + 2
end
return 1
`;

type Command = readonly [name: string, key: string, ...rest: string[]];

const acceptance = z.union([
  z.tuple([z.enum(["reserved", "full"])]),
  z.tuple([z.enum(["known", "accepted"]), z.string()]),
]);
const texts = z.array(z.string().nullable());
const ids = z.array(z.string());
const PAGE = 500;

export function openRedisTicketStore(redis: DurableRedis): TicketStore {
  const [tickets, statements, reserved, line, queued, open] = [
    "tickets",
    "ticket-statements",
    "ticket-notes",
    "ticket-line",
    "tickets-queued",
    "tickets-open",
  ].map((table) => redis.key(table)) as [string, string, string, string, string, string];
  const ownersKey = (developerId: string, sub: string | undefined): string =>
    redis.key(`tickets-of:${developerId}:${userKey(sub)}`);
  const developersKey = (developerId: string): string => redis.key(`tickets-of-all:${developerId}`);
  const sent = openRecords(redis, "outgoing", outgoingForm);
  const sentKey = redis.key("outgoing");
  const lease = redis.key(LEASE);
  const news = openNews(redis);
  const accept = redis.script(ACCEPT);
  const underLease = redis.script(UNDER_LEASE);

  /** Each is told once; the store goes on being read all the time. */
  const broken = new Set<string>();

  function read(id: string, text: string): TicketRecord {
    try {
      const [, sequence, json] = /^([1-9]\d{0,15}) (.*)$/s.exec(text) ?? [];
      return { ...ticketForm.read(JSON.parse(json ?? "")), sequence: Number(sequence) };
    } catch {
      if (!broken.has(id)) redis.setAside("tickets", id);
      broken.add(id);
      throw new StoreUnavailable(new Error(`ticket ${id} cannot be read`));
    }
  }

  async function get(id: string): Promise<TicketRecord | undefined> {
    const [text] = texts.parse(await redis.send(["HMGET", tickets, id]));
    return text === null || text === undefined ? undefined : read(id, text);
  }

  /** In the order asked, without those that are not there or cannot be read. */
  async function list(wanted: readonly string[]): Promise<TicketRecord[]> {
    const found: TicketRecord[] = [];
    for (let at = 0; at < wanted.length; at += PAGE) {
      const some = wanted.slice(at, at + PAGE);
      for (const [i, text] of texts.parse(await redis.send(["HMGET", tickets, ...some])).entries()) {
        if (text === null) continue;
        try {
          found.push(read(some[i]!, text));
        } catch {
          // Set aside: the others go on.
        }
      }
    }
    return found;
  }

  const inOrder = async (key: string): Promise<TicketRecord[]> =>
    list(ids.parse(await redis.send(["ZRANGE", key, "0", "-1"])));

  async function* openPages(): AsyncGenerator<readonly TicketRecord[]> {
    const wanted = ids.parse(await redis.send(["ZRANGE", open, "0", "-1"]));
    for (let at = 0; at < wanted.length; at += PAGE) yield await list(wanted.slice(at, at + PAGE));
  }

  async function write(fence: Fence, commands: readonly Command[]): Promise<void> {
    const keys = [lease];
    const args = [String(fence)];
    for (const [name, key, ...rest] of commands) {
      if (!keys.includes(key)) keys.push(key);
      args.push(String(rest.length + 1), name, String(keys.indexOf(key) + 1), ...rest);
    }
    if ((await underLease(keys, args)) !== 1) throw new LeaseLost();
    news.look();
  }

  /** Whose statement has reserved each. Nobody but the holder of the lease takes a reservation away. */
  async function holdersOf(nullifiers: readonly Field[]): Promise<Map<Field, string | null>> {
    if (nullifiers.length === 0) return new Map();
    const found = texts.parse(await redis.send(["HMGET", reserved, ...nullifiers.map(String)]));
    return new Map(nullifiers.map((nullifier, i) => [nullifier, found[i] ?? null]));
  }

  /** What these changes are in Redis. Reads first: nobody else writes a ticket under this lease. */
  async function commandsFor(changes: readonly TicketChange[], at: number): Promise<Command[]> {
    const commands: Command[] = [];
    const found = await list(changes.map(({ id }) => id));
    const known = new Map(found.map((ticket) => [ticket.id, ticket]));
    const ending = new Set(changes.filter(({ status }) => isOver(status)).map(({ id }) => id));
    const holders = await holdersOf(
      found.filter(({ id }) => ending.has(id)).flatMap(({ nullifiers }) => nullifiers),
    );
    for (const { id, status, attestations } of changes) {
      const before = known.get(id);
      if (before === undefined) throw new RangeError("a ticket that is not there cannot change");
      const ticket: TicketRecord = {
        ...before,
        status,
        updatedAt: Math.max(at, before.updatedAt),
        ...(attestations === undefined ? {} : { transaction: { ...before.transaction, attestations } }),
      };
      const place = String(ticket.sequence);
      commands.push(["HSET", tickets, id, textOf(ticket)]);
      if (status.state === "queued") commands.push(["ZADD", queued, place, id]);
      else if (before.status.state === "queued") commands.push(["ZREM", queued, id]);
      const more = Number(isUnderWay(status)) - Number(isUnderWay(before.status));
      if (more !== 0) commands.push(["HINCRBY", line, "waiting", String(more)]);
      if (isOver(status) && !isOver(before.status)) {
        const { developerId, sub } = ticket.owner;
        for (const key of [open, ownersKey(developerId, sub), developersKey(developerId)])
          commands.push(["ZREM", key, id]);
        // The notes of one that ended without effect are free again; those of a final one are spent on the chain.
        // Only what this ticket itself holds is released.
        const own = ticket.nullifiers.filter((nullifier) => holders.get(nullifier) === ticket.statement);
        if (own.length > 0) commands.push(["HDEL", reserved, ...own.map(String)]);
      }
      if (isOver(before.status) && !isOver(status)) {
        const { developerId, sub } = ticket.owner;
        for (const key of [open, ownersKey(developerId, sub), developersKey(developerId)])
          commands.push(["ZADD", key, place, id]);
        // One that another has reserved meanwhile stays his: the chain lets one of the two through.
        for (const nullifier of ticket.nullifiers)
          commands.push(["HSETNX", reserved, String(nullifier), ticket.statement]);
      }
      commands.push(["XADD", news.key, "MAXLEN", "~", String(NEWS_KEPT), "*", "id", id]);
    }
    return commands;
  }

  const writesUnder = (fence: Fence): TicketWrites => ({
    async change(changes, at) {
      await write(fence, await commandsFor(changes, at));
    },
    async putOutgoing(entry, previousAttempts, changes, at) {
      const existing = await sent.get(String(entry.nonce));
      if ((existing?.attempts.length ?? 0) !== previousAttempts) return false;
      await write(fence, [putSent(entry), ...(await commandsFor(changes, at))]);
      return true;
    },
    async markMined(nonce, block) {
      const existing = await sent.get(String(nonce));
      if (existing === undefined) {
        await write(fence, []);
        return;
      }
      const { minedIn: _old, ...rest } = existing;
      await write(fence, [putSent(block === undefined ? rest : { ...rest, minedIn: block })]);
    },
    report: (text) => write(fence, [["HSET", lease, REPORT, text]]),
    async dropOutgoing(nonce, changes, at) {
      await write(fence, [["HDEL", sentKey, String(nonce)], ...(await commandsFor(changes, at))]);
    },
  });

  const putSent = (entry: Outgoing): Command => [
    "HSET",
    sentKey,
    String(entry.nonce),
    JSON.stringify(outgoingForm.write(entry)),
  ];

  const listeners = new Set<(ticket: TicketRecord) => void>();
  let stopFollowing: (() => void) | undefined;
  function tell(changed: readonly TicketRecord[]): void {
    for (const ticket of changed) for (const listener of listeners) listener(ticket);
  }

  return {
    async accept(draft, maxOpen) {
      const { developerId, sub } = draft.owner;
      const keys = [tickets, statements, reserved, line, queued, open];
      keys.push(ownersKey(developerId, sub), developersKey(developerId), news.key);
      const { outcome: _outcome, ...record } = draft;
      const fresh = { ...record, status: firstStatus(draft), updatedAt: draft.createdAt };
      const which = isUnderWay(fresh.status) ? "new" : "executed";
      const text = JSON.stringify(ticketForm.write(fresh));
      let inVain = "";
      for (;;) {
        const args = [String(maxOpen), draft.id, draft.statement, inVain, text, which];
        const [kind, found] = acceptance.parse(
          await accept(keys, [...args, ...draft.nullifiers.map(String)]),
        );
        if (kind === "reserved" || kind === "full") return { kind };
        if (kind === "accepted") {
          news.look();
          return { kind, ticket: { ...fresh, sequence: Number(found) } };
        }
        const known = await get(found ?? "");
        if (known === undefined) throw new StoreUnavailable(new Error("a statement has no ticket"));
        if (!isInVain(known.status))
          return isSameOwner(known.owner, draft.owner)
            ? { kind: "same", ticket: known }
            : { kind: "reserved" };
        inVain = known.id;
      }
    },

    get,
    async byStatement(statement) {
      const [id] = texts.parse(await redis.send(["HMGET", statements, statement]));
      return id === null || id === undefined ? undefined : get(id);
    },
    async reservedBy(nullifier) {
      const [by] = texts.parse(await redis.send(["HMGET", reserved, String(nullifier)]));
      return by === null || by === undefined ? undefined : storedBytes32.parse(by);
    },
    list,
    open: openPages,
    openOf: (developerId, sub) =>
      inOrder(sub === undefined ? developersKey(developerId) : ownersKey(developerId, sub)),
    async queuedBefore(sequence) {
      return z.int().parse(await redis.send(["ZCOUNT", queued, "-inf", `(${String(sequence)}`]));
    },
    async outgoing() {
      // Every one of them, or none: one that is left out would have its nonce used again.
      const nonces = (await sent.fields()).map(Number).sort((a, b) => a - b);
      const entries = await Promise.all(nonces.map((nonce) => sent.get(String(nonce))));
      return entries.filter((entry) => entry !== undefined);
    },
    underLease: (fence) => writesUnder(fence),
    follow(listener) {
      listeners.add(listener);
      stopFollowing ??= news.follow({
        changed: async (changed) => tell(await list(changed)),
        missed: async () => {
          for await (const page of openPages()) tell(page);
        },
      });
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        stopFollowing?.();
        stopFollowing = undefined;
      };
    },
  };
}

function textOf({ sequence, ...ticket }: TicketRecord): string {
  return `${String(sequence)} ${JSON.stringify(ticketForm.write(ticket))}`;
}
