/**
 * Sessions of people at the dashboard, and the passkey challenges that were given out. Of a session only a hash of what
 * its cookie holds is here, so a stolen store signs nobody in. A challenge is taken by a step that removes it: it is
 * good for one answer, also where two come at once and where the answer is wrong.
 */
import { z } from "zod";
import type { Engine, Write } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";

const SESSIONS = "dashboard-sessions";
/** By the time of their end. */
const ENDS = "dashboard-sessions:ends";
const CHALLENGES = "dashboard-challenges";
/** Each sign-in removes up to so many that are over, so they cannot pile up. */
const SWEEP = 16;

const session = z.strictObject({
  /** Hash of the cookie, base64url. */
  key: z.string(),
  /** Shown in lists; opens nothing. */
  id: z.string(),
  accountId: z.string(),
  /** Of the passkey that began it; absent in sessions of older programs, which are over. */
  passkeyId: z.string().exactOptional(),
  /** The account's at sign-in. */
  epoch: z.int(),
  /** Milliseconds since 1970, as all times here. */
  createdAt: z.int(),
  /** To the minute. */
  lastSeenAt: z.int(),
  endsAt: z.int(),
  /** When a passkey was last used in it. */
  freshAt: z.int(),
  userAgent: z.string(),
});
export type DashboardSession = RecordOf<typeof session>;

const challenge = z.strictObject({
  challenge: z.string(),
  purpose: z.enum(["sign-up", "sign-in", "fresh", "add-passkey"]),
  /** Of a sign-up: its invitation, and the account that will come of it. */
  invitationId: z.string().exactOptional(),
  accountId: z.string().exactOptional(),
});
export type Challenge = RecordOf<typeof challenge>;

export type DashboardSessionStore = ReturnType<typeof openDashboardSessionStore>;

export function openDashboardSessionStore(engine: Engine) {
  const sessions = new Records(engine, SESSIONS, jsonForm<DashboardSession>(session));
  const challenges = new Records(engine, CHALLENGES, jsonForm<Challenge>(challenge));
  const of = (accountId: string): string => `${SESSIONS}:of:${accountId}`;

  const removal = ({ key, accountId, createdAt, endsAt }: DashboardSession): Write[] => [
    ["drop", SESSIONS, key],
    ["unrank", ENDS, endsAt, key],
    ["unrank", of(accountId), createdAt, key],
  ];

  const listed = async (order: string, range = {}): Promise<DashboardSession[]> =>
    (await sessions.list(await engine.members(order, range))).filter((one) => one !== undefined);

  return {
    session: (key: string) => sessions.get(key),
    /** Newest first. */
    sessionsOf: (accountId: string) => listed(of(accountId), { isBackward: true }),
    async open(made: DashboardSession): Promise<void> {
      const { key, accountId, createdAt, endsAt } = made;
      const over = await listed(ENDS, { before: createdAt, limit: SWEEP });
      await engine.commit({
        writes: [
          ["put", SESSIONS, key, sessions.write(key, made)],
          ["rank", ENDS, endsAt, key],
          ["rank", of(accountId), createdAt, key],
          ...over.flatMap(removal),
        ],
      });
    },
    /** Undefined where it has ended meanwhile. */
    touch: (key: string, changes: Partial<Pick<DashboardSession, "lastSeenAt" | "freshAt">>) =>
      sessions.change(key, (now) => now && { ...now, ...changes }, { thoughFull: true }),
    async end(ended: readonly DashboardSession[]): Promise<void> {
      if (ended.length === 0) return;
      await engine.commit({ writes: ended.flatMap(removal), thoughFull: true });
    },

    /** One for each holder and purpose; another takes its place. */
    async giveOut(holder: string, made: Challenge, lifeMs: number): Promise<void> {
      const key = `${holder}/${made.purpose}`;
      await engine.commit({ writes: [["put-for", CHALLENGES, key, challenges.write(key, made), lifeMs]] });
    },
    /** The challenge, which nobody gets a second time. */
    async take(holder: string, purpose: Challenge["purpose"]): Promise<Challenge | undefined> {
      const key = `${holder}/${purpose}`;
      const [text] = await engine.get(CHALLENGES, [key]);
      if (text === undefined) return undefined;
      const { done } = await engine.commit({
        checks: [["is", CHALLENGES, key, text]],
        writes: [["drop", CHALLENGES, key]],
        thoughFull: true,
      });
      return done ? challenges.readOrSkip(key, text) : undefined;
    },
  };
}
