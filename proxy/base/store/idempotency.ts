/**
 * Answers kept for repeated requests, one record a scope, which ends by itself. A claim is made before the work and
 * filled after it, so that two equal requests do not run at a time. It is good as long as its holder lives and works on
 * it, which each engine knows in its own way. Whoever lost one without noticing (a process that was held still) may do
 * the work again: it writes nothing over another's answer, since each claim has a token, and so a text, of its own, and
 * it makes nothing twice, since a statement has one ticket (`TicketStore.accept`).
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Engine, Write } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";
import { hashed } from "./values.ts";

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

export const KEEP_MS = 24 * 3_600_000;
/**
 * `endsAt`, by the asking proxy's clock, decides what is over; the store removes a record this much later, so that
 * clocks which differ do not matter to the removal.
 */
const SLACK_MS = 3_600_000;
const TABLE = "idempotency";

const storedAnswer = z
  .strictObject({
    status: z.int(),
    /** JSON text. */
    body: z.string(),
    type: z.string(),
    location: z.string().optional(),
    /** As the first answer said it; records of before this was kept have none. */
    retryAfter: z.string().optional(),
  })
  .transform(({ location, ...answer }) => ({ ...answer, location }));
export type StoredAnswer = RecordOf<typeof storedAnswer>;

const shape = z.strictObject({
  fingerprint: z.string(),
  token: z.string(),
  /** Milliseconds since 1970. */
  endsAt: z.number(),
  /** Absent while the request runs. */
  answer: storedAnswer.exactOptional(),
});
type Kept = RecordOf<typeof shape>;

export type Claim =
  /** `token` is this claim's own: whoever lost it no longer has a say. */
  | { readonly kind: "claimed"; readonly token: string }
  /** In so many milliseconds it is free if its holder is dead. */
  | { readonly kind: "running"; readonly retryAfterMs: number }
  | { readonly kind: "other-body" }
  | { readonly kind: "answered"; readonly answer: StoredAnswer };

export type IdempotencyStore = ReturnType<typeof openIdempotencyStore>;

export function openIdempotencyStore(engine: Engine, live: LiveClaims) {
  const records = new Records(engine, TABLE, jsonForm<Kept>(shape));
  /** This process's claims as they were written, by token. */
  const claims = new Map<string, Kept>();
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
    /**
     * Takes `scope` for a request whose body has this fingerprint. It stays taken until `answer` or `release` have
     * ended, well or not, or this process is dead; then the same body may have it, and no other for `KEEP_MS`: what was
     * begun may have had its effect. `now` in milliseconds.
     */
    async claim(scope: string, fingerprint: string, now: number): Promise<Claim> {
      const key = hashed(scope);
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
    /** Kept for `KEEP_MS`. Does nothing when the claim is no longer `token`'s; the same holds for `release`. */
    answer: (scope: string, token: string, answer: StoredAnswer, now: number): Promise<void> =>
      end(hashed(scope), token, (claim) => put(hashed(scope), { ...claim, endsAt: now + KEEP_MS, answer })),
    /** Gives the claim back: the request may be tried again, also with another body. */
    release: (scope: string, token: string): Promise<void> =>
      end(hashed(scope), token, () => ["drop", TABLE, hashed(scope)]),
  };
}
