/** Sessions of people who signed in: found by their cookie, ended by time, by their owner, and by what happens to the account. */
import { randomUUID } from "node:crypto";
import type { Account, AccountStore, Passkey } from "../base/store/accounts.ts";
import type { DashboardSession, DashboardSessionStore } from "../base/store/dashboard-sessions.ts";
import type { SignedIn } from "./call.ts";
import { keyedHash, newSecret } from "./secrets.ts";

export interface SessionTerms {
  readonly idleMs: number;
  readonly sessionMs: number;
  readonly freshMs: number;
}

export interface SessionParts extends SessionTerms {
  readonly accounts: Pick<AccountStore, "account">;
  readonly store: DashboardSessionStore;
  readonly pepper: Uint8Array;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** `last seen` is for people and for the idle end; a write a minute is exact enough. */
const TOUCH_MS = 60_000;
const LONGEST_AGENT = 160;

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions({ accounts, store, pepper, now, ...terms }: SessionParts) {
  const keyOf = (token: string): string => keyedHash(pepper, "session", token).toString("base64url");
  // A store that was written every minute must not end a session a minute early.
  const idleEnd = ({ lastSeenAt, endsAt }: DashboardSession): number =>
    Math.min(lastSeenAt + terms.idleMs + TOUCH_MS, endsAt);
  const lives = (session: DashboardSession, account: Account | undefined): account is Account =>
    account !== undefined &&
    account.closedAt === undefined &&
    account.sessionEpoch === session.epoch &&
    // Whoever removes a passkey that was stolen ends what its thief began with it.
    account.passkeys.some(({ id }) => id === session.passkeyId) &&
    now() < idleEnd(session);

  return {
    idleEnd,
    /** Milliseconds since 1970 until which a dangerous change asks for nothing more; undefined when it does now. */
    freshUntil({ freshAt }: DashboardSession): number | undefined {
      const until = freshAt + terms.freshMs;
      return now() < until ? until : undefined;
    },
    /**
     * Opens one with a new secret: what a browser held before it signed in opens nothing afterwards. It lives no longer
     * than the passkey that began it.
     */
    async open(
      account: Account,
      passkey: Pick<Passkey, "id">,
      userAgent: string,
    ): Promise<{ readonly token: string; readonly session: DashboardSession }> {
      const token = newSecret();
      const at = now();
      const session: DashboardSession = {
        key: keyOf(token),
        id: randomUUID(),
        accountId: account.id,
        passkeyId: passkey.id,
        epoch: account.sessionEpoch,
        createdAt: at,
        lastSeenAt: at,
        endsAt: at + terms.sessionMs,
        freshAt: at,
        userAgent: userAgent.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, LONGEST_AGENT),
      };
      await store.open(session);
      return { token, session };
    },
    /** Undefined for a cookie that opens nothing, or nothing any more. */
    async find(token: string): Promise<SignedIn | undefined> {
      const session = await store.session(keyOf(token));
      if (session === undefined) return undefined;
      const account = await accounts.account(session.accountId);
      if (!lives(session, account)) {
        await store.end([session]);
        return undefined;
      }
      if (now() - session.lastSeenAt < TOUCH_MS) return { account, session };
      const touched = await store.touch(session.key, { lastSeenAt: now() });
      return touched === undefined ? undefined : { account, session: touched };
    },
    /** The passkey was used now. Undefined where the session ended meanwhile. */
    refresh: (session: DashboardSession) => store.touch(session.key, { freshAt: now() }),
    /** Those that live, newest first. */
    async listOf(account: Account): Promise<readonly DashboardSession[]> {
      return (await store.sessionsOf(account.id)).filter((session) => lives(session, account));
    },
    end: (session: DashboardSession) => store.end([session]),
    async endById(account: Account, id: string): Promise<boolean> {
      const found = (await store.sessionsOf(account.id)).find((session) => session.id === id);
      if (found !== undefined) await store.end([found]);
      return found !== undefined;
    },
  };
}
