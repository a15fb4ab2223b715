/** Idempotency records in LMDB: by scope, and by their end so that old ones can be removed a few at a time. */
import { randomUUID } from "node:crypto";
import { KEEP_MS, LEASE_MS, type IdempotencyStore, type StoredAnswer } from "../idempotency.ts";
import { THOUGH_FULL, type Database } from "./database.ts";

interface Record {
  readonly fingerprint: string;
  readonly token: string;
  readonly endsAt: number;
  /** Absent while the request runs. */
  readonly answer?: StoredAnswer;
}

/** Each claim brings one record and removes up to this many, so the table cannot grow without end. */
const SWEEP = 8;

export function openIdempotencyStore(database: Database): IdempotencyStore {
  const records = database.table<Record, string>("idempotency");
  const ends = database.table<true, [number, string]>("idempotency-ends");

  /** Inside a transaction only. */
  const put = (scope: string, record: Record): void => {
    const before = records.get(scope);
    if (before !== undefined) void ends.remove([before.endsAt, scope]);
    void records.put(scope, record);
    void ends.put([record.endsAt, scope], true);
  };
  const remove = (scope: string): void => {
    const before = records.get(scope);
    if (before === undefined) return;
    void ends.remove([before.endsAt, scope]);
    void records.remove(scope);
  };
  const sweep = (now: number): void => {
    const old = [...ends.getKeys({ end: [now, ""], limit: SWEEP })];
    for (const [, scope] of old) remove(scope);
  };

  return {
    claim: (scope, fingerprint, now) =>
      database.transaction(() => {
        sweep(now);
        const known = records.get(scope);
        if (known !== undefined && known.endsAt > now) {
          if (known.fingerprint !== fingerprint) return { kind: "other-body" };
          return known.answer === undefined
            ? { kind: "running" }
            : { kind: "answered", answer: known.answer };
        }
        const token = randomUUID();
        put(scope, { fingerprint, token, endsAt: now + LEASE_MS });
        return { kind: "claimed", token };
      }),
    answer: (scope, token, answer, now) =>
      database.transaction(() => {
        const claim = records.get(scope);
        if (claim?.token === token) put(scope, { ...claim, endsAt: now + KEEP_MS, answer });
      }, THOUGH_FULL),
    release: (scope, token) =>
      database.transaction(() => {
        if (records.get(scope)?.token === token) remove(scope);
      }, THOUGH_FULL),
  };
}
