/**
 * Openings of fee notes in the durable Redis: the notes in one table, with an order for each receiver, an order by
 * deadline of those in doubt, and which outputs of a statement are kept.
 */
import { z } from "zod";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import type { FeeNote, FeeNoteStore } from "../fee-notes.ts";
import { StoreUnavailable } from "../unavailable.ts";
import type { DurableRedis } from "./durable.ts";
import { openRecords, type RecordForm } from "./records.ts";
import { storedAddress, storedBigint, storedBytes32, storedField } from "./values.ts";

/** No developer's id begins with a letter of this kind (auth/registration.ts). */
const SERVICE = "#service";

const shape = z.strictObject({
  receiver: z.string(),
  statement: storedBytes32,
  output: z.int(),
  asset: storedAddress,
  value: storedBigint,
  blinding: storedField,
  npk: storedField,
  deadline: z.int(),
});
const form: RecordForm<FeeNote> = {
  read: (json) => {
    const { receiver, ...note } = shape.parse(json);
    return { ...note, receiver: receiver === SERVICE ? undefined : receiver };
  },
  write: ({ receiver = SERVICE, statement, output, asset, value, blinding, npk, deadline }) => {
    const [v, b, n] = [String(value), String(blinding), String(npk)];
    return { receiver, statement, output, asset, value: v, blinding: b, npk: n, deadline };
  },
};

/**
 * KEYS: notes, outputs by statement, doubtful, last, then the receiver's order of each note.
 * ARGV, five a note: field, text, statement, output, deadline.
 */
const KEEP = `
for i = 5, #KEYS do
  local at = (i - 5) * 5
  local field, statement = ARGV[at + 1], ARGV[at + 3]
  if redis.call('HSETNX', KEYS[1], field, ARGV[at + 2]) == 1 then
    local others = redis.call('HGET', KEYS[2], statement)
    redis.call('HSET', KEYS[2], statement, others and others .. ',' .. ARGV[at + 4] or ARGV[at + 4])
    redis.call('ZADD', KEYS[3], ARGV[at + 5], statement)
    redis.call('ZADD', KEYS[i], redis.call('INCR', KEYS[4]), field)
  end
end
return 1
`;

/**
 * Forgets a statement's notes if its outputs still are those that were read. Also in a full Redis: it makes room.
 * KEYS: notes, outputs by statement, doubtful, then the receiver's order of each note. ARGV: statement, outputs, fields.
 */
const FORGET = `#!lua flags=allow-oom
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then return 0 end
for i = 4, #KEYS do
  redis.call('HDEL', KEYS[1], ARGV[i - 1])
  redis.call('ZREM', KEYS[i], ARGV[i - 1])
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
`;

const names = z.array(z.string());

export function openRedisFeeNoteStore(redis: DurableRedis): FeeNoteStore {
  const notes = openRecords(redis, "fee-notes", form);
  const [table, outputs, doubtful, last] = [
    "fee-notes",
    "fee-note-outputs",
    "fee-note-doubts",
    "fee-note-last",
  ].map((name) => redis.key(name)) as [string, string, string, string];
  const orderOf = (receiver: string | undefined): string => redis.key(`fee-notes-of:${receiver ?? SERVICE}`);
  const keep = redis.script(KEEP);
  const forget = redis.script(FORGET);

  async function forgetStatement(statement: Bytes32): Promise<void> {
    const end = performance.now() + redis.deadlineMs;
    for (;;) {
      const kept = z
        .string()
        .nullable()
        .parse(await redis.send(["HGET", outputs, statement]));
      if (kept === null) return;
      const fields = kept.split(",").map((output) => `${statement}/${output}`);
      const found = await notes.list(fields);
      const orders = found.map((note) => orderOf(note?.receiver));
      if ((await forget([table, outputs, doubtful, ...orders], [statement, kept, ...fields])) === 1) return;
      if (performance.now() > end) throw new StoreUnavailable(new Error("fee notes change too often"));
    }
  }

  return {
    async keep(made) {
      if (made.length === 0) return;
      const args = made.flatMap((note) => [
        `${note.statement}/${String(note.output)}`,
        JSON.stringify(form.write(note)),
        ...[note.statement, String(note.output), String(note.deadline)],
      ]);
      await keep([table, outputs, doubtful, last, ...made.map(({ receiver }) => orderOf(receiver))], args);
    },

    async notesOf(receiver, skip, limit) {
      const range = ["ZRANGE", orderOf(receiver), String(skip), String(skip + limit - 1)];
      const fields = limit < 1 ? [] : names.parse(await redis.send(range));
      // One that was forgotten between the two questions is left out.
      return (await notes.list(fields)).filter((note) => note !== undefined);
    },

    async doubtful(before, limit) {
      const range = [
        "ZRANGE",
        doubtful,
        "-inf",
        `(${String(before)}`,
        "BYSCORE",
        "LIMIT",
        "0",
        String(limit),
      ];
      return z.array(storedBytes32).parse(await redis.send(range));
    },

    async settle(outcomes) {
      // One by one: what a break leaves out stays doubtful and is settled the next time.
      for (const { statement, executed } of outcomes) {
        if (executed) await redis.send(["ZREM", doubtful, statement]);
        else await forgetStatement(statement);
      }
    },
  };
}
