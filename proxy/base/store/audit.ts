/**
 * The audit log: who changed what, when, and from what to what. An entry is a part of the step that makes its change, so
 * there is neither a change without its entry nor an entry of what never was. Entries are only ever added. They hold no
 * secret, no hash of one and no user's name: each feature says which facts of its records an entry may show.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Carried, Engine } from "./engine.ts";
import { jsonForm, numbered, Records, type RecordOf } from "./records.ts";

const AUDIT = "audit";
const COUNTS = "audit:counts";
const ALL = "audit:all";
const LONGEST = 256;

const text = z.string().max(LONGEST);

/** Whoever made a change, as the part of the program says that knew him. */
const author = z.discriminatedUnion("kind", [
  /** Somebody at the operator's tool, by the name of his account on that machine, or the one he gave with `--by`. */
  z.strictObject({ kind: z.literal("operator"), name: text }),
  /** An account of the dashboard, by its id. */
  z.strictObject({ kind: z.literal("account"), id: text }),
  /** The holder of an API key, by the key's public id. */
  z.strictObject({ kind: z.literal("api-key"), id: text }),
  /** No person: a program, such as the one that sets up a local stack. */
  z.strictObject({ kind: z.literal("program"), name: text }),
]);
export type Author = RecordOf<typeof author>;

/** What a change is called: the thing and the act, such as `developer.limits`, `key.revoke` or `fee.set`. */
const verb = z.string().regex(/^[a-z][a-z-]{0,31}\.[a-z][a-z-]{0,31}$/);

/** Facts of the record that was changed; JSON values. */
const facts = z.record(z.string(), z.unknown()).nullable();
export type Facts = Readonly<Record<string, unknown>>;

const shape = z.strictObject({
  id: z.string(),
  /** Milliseconds since 1970, by the clock of whoever made the change; the order is that of the numbers. */
  at: z.int(),
  by: author,
  verb,
  target: z.strictObject({
    /** `developer`, `user`, `key`, `app`, `fee-rule`, `bridge`, or a feature's own. */
    kind: text,
    id: text,
  }),
  /** Whose log it stands in, beside the one of all; absent for what concerns no developer. */
  developerId: text.exactOptional(),
  /** Of a record that was there before and is after, only what differs. Null: there was, or is, none. */
  before: facts,
  after: facts,
});
type Kept = Readonly<z.output<typeof shape>>;

export interface AuditEntry extends Kept {
  /** Place in the log, from 1; strictly increasing in the order in which the changes were made. */
  readonly number: number;
}

/** What whoever asks for a change says of it for the log. */
export interface Note {
  readonly by: Author;
  readonly verb: string;
}

/** What an entry is about. */
export interface Subject {
  readonly target: { readonly kind: string; readonly id: string };
  readonly developerId?: string;
  /** Facts that may be shown; undefined where there was, or is, no record. */
  readonly before: Facts | undefined;
  readonly after: Facts | undefined;
}

/** Where nobody says who he is, it was a program of ours. */
const PROGRAM: Author = { kind: "program", name: "cloister" };
export const noted = (called: string, by: Author = PROGRAM): Note => ({ by, verb: called });

const form = numbered(jsonForm<Kept>(shape));

/** The writes of one entry, for the step that makes the change (`carry` of `Records.change`). */
export function audited(note: Note, subject: Subject, at: number = Date.now()): Carried {
  const { target, developerId } = subject;
  const id = randomUUID();
  const [before, after] = differing(subject.before, subject.after);
  const entry = {
    ...{ id, at, by: note.by, verb: note.verb, target },
    ...(developerId === undefined ? {} : { developerId }),
    ...{ before, after },
  };
  return {
    writes: [
      ["put-numbered", AUDIT, id, JSON.stringify(shape.parse(entry))],
      ["rank", ALL, "number", id],
      ...(developerId === undefined ? [] : ([["rank", ofDeveloper(developerId), "number", id]] as const)),
    ],
    number: [COUNTS, "last"],
  };
}

export interface AuditQuery {
  /** Only what concerns this developer; undefined: everything. */
  readonly developerId?: string;
  /** Only entries with a lower number: the `next` of the page before. */
  readonly before?: number;
  /** Most entries of a page. */
  readonly limit: number;
}

export interface AuditPage {
  /** Newest first. */
  readonly entries: readonly AuditEntry[];
  /** `before` of the next page; undefined when this was the last. */
  readonly next: number | undefined;
}

export type AuditStore = ReturnType<typeof openAuditStore>;

export function openAuditStore(engine: Engine) {
  const records = new Records(engine, AUDIT, form);
  return {
    /** Newest first. What is written meanwhile moves nothing in the pages that follow. */
    async page({ developerId, before, limit }: AuditQuery): Promise<AuditPage> {
      const order = developerId === undefined ? ALL : ofDeveloper(developerId);
      const range = before === undefined ? {} : { before };
      const ids = await engine.members(order, { ...range, limit: limit + 1, isBackward: true });
      const found = await records.list(ids.slice(0, limit));
      const entries = found.flatMap((one) => (one === undefined ? [] : { number: one.number, ...one.value }));
      return { entries, next: ids.length > limit ? entries.at(-1)?.number : undefined };
    },
    /** An entry by itself, for what changes no record, such as a sign-in. */
    async append(note: Note, subject: Subject): Promise<void> {
      await engine.commit(audited(note, subject));
    },
  };
}

const ofDeveloper = (developerId: string): string => `audit:of:${developerId}`;

function differing(before: Facts | undefined, after: Facts | undefined): [Facts | null, Facts | null] {
  const [old, now] = [asJson(before), asJson(after)];
  if (old === null || now === null) return [old, now];
  const changed = [...new Set([...Object.keys(old), ...Object.keys(now)])].filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  );
  const of = (all: Facts): Facts =>
    Object.fromEntries(changed.filter((name) => Object.hasOwn(all, name)).map((name) => [name, all[name]]));
  return [of(old), of(now)];
}

/** An undefined field is none. */
const asJson = (facts: Facts | undefined): Facts | null =>
  facts === undefined ? null : (JSON.parse(JSON.stringify(facts)) as Facts);
