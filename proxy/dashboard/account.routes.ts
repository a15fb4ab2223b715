/** Endpoints of people's own accounts, signed out and in. */
import type { Me } from "./contract/account.ts";
import type { Developer } from "../base/store/keys.ts";
import type { Account } from "../base/store/accounts.ts";
import type { DashboardSession } from "../base/store/dashboard-sessions.ts";
import type { Accounts } from "./accounts.service.ts";
import type { Call, HandlersOf, Served, SignedIn, Visitor } from "./call.ts";
import { DashboardError } from "./errors.ts";
import type { Sessions } from "./sessions.ts";

export interface AccountRouteParts {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly developerOf: (id: string) => Promise<Developer | undefined>;
  readonly instance: Me["instance"];
  /** Counts a try of this address. Throws RATE_LIMITED. */
  readonly count: (address: string) => Promise<void>;
}

const iso = (ms: number): string => new Date(ms).toISOString();
const DONE = { ok: true } as const;

export function accountRoutes(parts: AccountRouteParts): HandlersOf<Served<"none" | "account">> {
  const { accounts, sessions, count } = parts;

  /** With the passkey of this credential. Throws PASSKEY_REFUSED where the account has lost it meanwhile. */
  async function enter(account: Account, used: string, visitor: Visitor): Promise<Me> {
    const passkey = account.passkeys.find(({ credentialId }) => credentialId === used);
    if (passkey === undefined) throw new DashboardError("PASSKEY_REFUSED");
    const { token, session } = await sessions.open(account, passkey, visitor.userAgent);
    // The cookie of the one before is overwritten: nobody could end it from here any more.
    if (visitor.signedIn !== undefined) await sessions.end(visitor.signedIn.session);
    visitor.ceremony.clear();
    visitor.setSession(token, session.endsAt);
    return meOf(parts, { account, session });
  }

  return {
    viewInvitation: async ({ body, visitor }) => {
      await count(visitor.address);
      return accounts.viewInvitation(body.token);
    },
    signUpOptions: async ({ body, visitor }) => {
      await count(visitor.address);
      const holder = visitor.ceremony.set();
      return { options: await accounts.signUpOptions(body.token, body.account_name, holder) };
    },
    signUp: async ({ body, visitor }) => {
      await count(visitor.address);
      const { token, account_name: accountName, passkey_name: passkeyName, response } = body;
      const wanted = { token, accountName, passkeyName, response };
      return enter(await accounts.signUp(wanted, visitor.ceremony.holder), response.id, visitor);
    },
    signInOptions: async ({ visitor }) => {
      await count(visitor.address);
      return { options: await accounts.signInOptions(visitor.ceremony.set()) };
    },
    signIn: async ({ body, visitor }) => {
      await count(visitor.address);
      const { response } = body;
      return enter(await accounts.signIn(response, visitor.ceremony.holder), response.id, visitor);
    },

    me: ({ me }) => meOf(parts, me),
    signOut: async ({ me, visitor }) => {
      await sessions.end(me.session);
      visitor.clearSession();
      return DONE;
    },
    freshOptions: async ({ me }) => ({ options: await accounts.freshOptions(me) }),
    fresh: async ({ me, body }) => {
      await accounts.fresh(body.response, me);
      const session = await sessions.refresh(me.session);
      const until = session === undefined ? undefined : sessions.freshUntil(session);
      if (until === undefined) throw new DashboardError("SESSION_ENDED");
      return { fresh_until: iso(until) };
    },
    accountSessions: async ({ me }) => ({
      sessions: (await sessions.listOf(me.account)).map((one) => shownSession(one, me.session)),
    }),
    endAccountSession: async ({ me, id, visitor }) => {
      if (!(await sessions.endById(me.account, id))) throw new DashboardError("NOT_FOUND");
      if (id === me.session.id) visitor.clearSession();
      return DONE;
    },
    passkeys: async ({ me }) => shownPasskeys(me.account),
    addPasskeyOptions: async ({ me }) => ({ options: await accounts.addPasskeyOptions(me) }),
    addPasskey: async ({ me, body }) =>
      shownPasskeys(await accounts.addPasskey(body.name, body.response, me)),
    renamePasskey: async ({ me, id, body }: Call<"renamePasskey">) =>
      shownPasskeys(await accounts.renamePasskey(id, body.name, me)),
    removePasskey: async ({ me, id }) => shownPasskeys(await accounts.removePasskey(id, me)),
  };
}

async function meOf(
  { sessions, developerOf, instance }: Pick<AccountRouteParts, "sessions" | "developerOf" | "instance">,
  { account, session }: SignedIn,
): Promise<Me> {
  const { id, name, role, createdAt, developerId } = account;
  const developer = developerId === undefined ? undefined : await developerOf(developerId);
  const freshUntil = sessions.freshUntil(session);
  return {
    account: { id, name, role, created_at: createdAt },
    developer:
      developer === undefined
        ? null
        : {
            ...{ id: developer.id, name: developer.name, created_at: developer.createdAt },
            disabled_at: developer.disabledAt ?? null,
          },
    session: {
      id: session.id,
      idle_ends_at: iso(sessions.idleEnd(session)),
      ends_at: iso(session.endsAt),
      fresh_until: freshUntil === undefined ? null : iso(freshUntil),
    },
    instance,
  };
}

function shownSession(one: DashboardSession, current: DashboardSession) {
  return {
    id: one.id,
    is_current: one.id === current.id,
    created_at: iso(one.createdAt),
    last_seen_at: iso(one.lastSeenAt),
    ends_at: iso(one.endsAt),
    user_agent: one.userAgent,
  };
}

function shownPasskeys({ passkeys }: Account) {
  return {
    passkeys: passkeys.map(({ id, name, createdAt, lastUsedAt, isSynced }) => ({
      ...{ id, name, created_at: createdAt, last_used_at: lastUsedAt ?? null, is_synced: isSynced },
    })),
  };
}
