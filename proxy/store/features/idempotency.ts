/**
 * Answers kept for repeated requests, one record a scope, which ends by itself. Every claim has a token of its own, and
 * so a text of its own: who lost a claim finds another text there, and writes nothing. Whether a claim is still
 * worked on is each engine's to know, because it must not outlive the process that works on it.
 */
import { createHash, randomUUID } from "node:crypto";
import { z } from "zod";
import type { Engine, Write } from "../engine.ts";
import { KEEP_MS, type Claim, type IdempotencyStore } from "../idempotency.ts";
import { jsonForm, Records } from "./records.ts";

/** Which claims are worked on now: those of a process that lives, until it lets go of them. */
export interface LiveClaims {
  /** From now on. The writes belong to the step that makes the claim. */
  hold(token: string): readonly Write[];
  /** The writes belong to the step that ends it, before it is let go. */
  ending(token: string): readonly Write[];
  letGo(token: string): void;
  /** In so many milliseconds it is over if its holder is dead; 0: it is over. */
  leftMs(token: string): Promise<number>;
}

/**
 * `endsAt`, by the asking proxy's clock, decides what is over; the store removes a record this much later, so that
 * clocks which differ do not matter to the removal.
 */
const SLACK_MS = 3_600_000;
const TABLE = "idempotency";

interface Kept {
  readonly fingerprint: string;
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly endsAt: number;
  /** Absent while the request runs. */
  readonly answer?: Extract<Claim, { kind: "answered" }>["answer"];
}

const form = jsonForm<Kept>(
  z.strictObject({
    fingerprint: z.string(),
    token: z.string(),
    endsAt: z.number(),
    answer: z
      .strictObject({
        status: z.int(),
        body: z.string(),
        type: z.string(),
        location: z.string().optional(),
        retryAfter: z.string().exactOptional(),
      })
      .transform(({ location, ...answer }) => ({ ...answer, location }))
      .exactOptional(),
  }),
);

export function openIdempotencyStore(engine: Engine, live: LiveClaims): IdempotencyStore {
  const records = new Records(engine, TABLE, form);
  /** This process's claims as they were written, by token. */
  const claims = new Map<string, Kept>();
  // Of fixed length whatever a caller sent, and no user's name in a key.
  const keyOf = (scope: string): string => createHash("sha256").update(scope, "utf8").digest("base64url");
  const put = (key: string, kept: Kept): Write => [
    "put-for",
    TABLE,
    key,
    records.write(key, kept),
    KEEP_MS + SLACK_MS,
  ];

  /** Ends a claim of this process, if it still is one. */
  async function end(key: string, token: string, work: (claim: Kept) => Write): Promise<void> {
    const claim = claims.get(token);
    if (claim === undefined) return;
    const writes = [work(claim), ...live.ending(token)];
    try {
      // The work is done, and forgetting it would have it done again: also in a full store.
      await engine.commit({
        checks: [["is", TABLE, key, records.write(key, claim)]],
        writes,
        thoughFull: true,
      });
    } finally {
      claims.delete(token);
      live.letGo(token);
    }
  }

  async function take(key: string, claim: Kept, before: string | undefined): Promise<boolean> {
    let isTaken = false;
    try {
      const writes = [put(key, claim), ...live.hold(claim.token)];
      ({ done: isTaken } = await engine.commit({ checks: [["is", TABLE, key, before]], writes }));
    } finally {
      if (isTaken) claims.set(claim.token, claim);
      else live.letGo(claim.token);
    }
    return isTaken;
  }

  return {
    async claim(scope, fingerprint, now) {
      const key = keyOf(scope);
      for (;;) {
        const [text] = await engine.get(TABLE, [key]);
        // Of one that cannot be read the work is not done again. The scope is free when its time is over.
        const known = records.read(key, text);
        if (known !== undefined && known.endsAt > now) {
          if (known.fingerprint !== fingerprint) return { kind: "other-body" };
          if (known.answer !== undefined) return { kind: "answered", answer: known.answer };
          const left = await live.leftMs(known.token);
          if (left > 0) return { kind: "running", retryAfterMs: left };
        }
        const token = randomUUID();
        if (await take(key, { fingerprint, token, endsAt: now + KEEP_MS }, text))
          return { kind: "claimed", token };
      }
    },
    answer: (scope, token, answer, now) =>
      end(keyOf(scope), token, (claim) => put(keyOf(scope), { ...claim, endsAt: now + KEEP_MS, answer })),
    release: (scope, token) => end(keyOf(scope), token, () => ["drop", TABLE, keyOf(scope)]),
  };
}
