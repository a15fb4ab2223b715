/**
 * Idempotency records in LMDB: by scope, and by their end so that old ones can be removed a few at a time. One process
 * serves from a folder, so a claim that this one does not hold was left behind by one that is dead.
 */
import { randomUUID } from "node:crypto";
import { KEEP_MS, type Claim, type IdempotencyStore, type StoredAnswer } from "../idempotency.ts";
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
/** Its holder is alive, and most requests take less. */
const RETRY_AFTER_MS = 1_000;

export function openIdempotencyStore(database: Database): IdempotencyStore {
  const records = database.table<Record, string>("idempotency");
  const ends = database.table<true, [number, string]>("idempotency-ends");
  /** Tokens of this process's claims, from before they are written until after they are given up. */
  const held = new Set<string>();

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

  const take = (scope: string, fingerprint: string, token: string, now: number): Promise<Claim> =>
    database.transaction((): Claim => {
      sweep(now);
      const known = records.get(scope);
      if (known !== undefined && known.endsAt > now) {
        if (known.fingerprint !== fingerprint) return { kind: "other-body" };
        if (known.answer !== undefined) return { kind: "answered", answer: known.answer };
        if (held.has(known.token)) return { kind: "running", retryAfterMs: RETRY_AFTER_MS };
      }
      put(scope, { fingerprint, token, endsAt: now + KEEP_MS });
      return { kind: "claimed", token };
    });
  /** The claim is over when this has ended, in whatever way. */
  const giveUp = (token: string, work: () => void): Promise<void> =>
    database.transaction(work, THOUGH_FULL).finally(() => held.delete(token));

  return {
    async claim(scope, fingerprint, now) {
      const token = randomUUID();
      held.add(token);
      let claim: Claim | undefined;
      try {
        claim = await take(scope, fingerprint, token, now);
        return claim;
      } finally {
        if (claim?.kind !== "claimed") held.delete(token);
      }
    },
    answer: (scope, token, answer, now) =>
      giveUp(token, () => {
        const claim = records.get(scope);
        if (claim?.token === token) put(scope, { ...claim, endsAt: now + KEEP_MS, answer });
      }),
    release: (scope, token) =>
      giveUp(token, () => {
        if (records.get(scope)?.token === token) remove(scope);
      }),
  };
}
