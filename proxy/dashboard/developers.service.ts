/** What an operator sees and changes of developers, accounts and invitations. */
import type {
  Accounts as AccountsView,
  CreatedInvitation,
  Developers,
  InvitationRow,
} from "./contract/operator.ts";
import {
  addDeveloper,
  disableDeveloper,
  enableDeveloper,
  revokeSessions,
} from "../base/auth/registration.ts";
import type { LimitDefaults } from "../base/instance-config.ts";
import { isOpen, isVoid, type Account, type AccountStore, type Invitation } from "../base/store/accounts.ts";
import { noted, type Author } from "../base/store/audit.ts";
import type { DashboardSession } from "../base/store/dashboard-sessions.ts";
import type { Developer, DeveloperLimits, KeyStore } from "../base/store/keys.ts";
import { DashboardError, wrongField } from "./errors.ts";
import { newInvitation } from "./secrets.ts";

export interface DeveloperParts {
  readonly keys: KeyStore;
  readonly accounts: AccountStore;
  readonly sessionsOf: (account: Account) => Promise<readonly DashboardSession[]>;
  readonly defaults: LimitDefaults;
  readonly pepper: Uint8Array;
  readonly origin: string;
  readonly now: () => number;
}

const HOUR_MS = 3_600_000;
const LIMITS = {
  session_per_minute: "sessionPerMinute",
  key_per_minute: "keyPerMinute",
  key_per_day: "keyPerDay",
} as const satisfies Record<string, keyof DeveloperLimits>;
type LimitName = keyof typeof LIMITS;
const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

export type Wish =
  | { readonly for: "developer"; readonly developer_id: string; readonly hours: number }
  | { readonly for: "operator"; readonly hours: number }
  | { readonly for: "recovery"; readonly account_id: string; readonly hours: number };

export class DevelopersService {
  readonly #parts: DeveloperParts;

  constructor(parts: DeveloperParts) {
    this.#parts = parts;
  }

  async list(): Promise<Developers> {
    const [all, live, people] = await Promise.all([
      this.#parts.keys.developers(),
      this.#parts.keys.keys(),
      this.#parts.accounts.accounts(),
    ]);
    const defaultOf = (name: LimitName): number => this.#parts.defaults[LIMITS[name]];
    const numbers = (of: (name: LimitName) => number) => ({
      session_per_minute: of("session_per_minute"),
      key_per_minute: of("key_per_minute"),
      key_per_day: of("key_per_day"),
    });
    return {
      defaults: numbers(defaultOf),
      developers: all.map(({ id, name, createdAt, disabledAt, limits }) => ({
        ...{ id, name, created_at: createdAt, disabled_at: disabledAt ?? null },
        limits: numbers((limit) => limits[LIMITS[limit]] ?? defaultOf(limit)),
        raised: LIMIT_NAMES.filter((limit) => limits[LIMITS[limit]] !== undefined),
        live_keys: live.filter((key) => key.developerId === id && key.revokedAt === undefined).length,
        accounts: people.filter((one) => one.developerId === id && one.closedAt === undefined).length,
      })),
    };
  }

  async add(
    wanted: { readonly name: string; readonly id?: string | undefined },
    by: Author,
  ): Promise<Developers> {
    const { name, id } = wanted;
    if (id !== undefined && (await this.#parts.keys.developer(id)) !== undefined)
      throw new DashboardError("TAKEN", undefined, {
        fields: [{ path: "id", message: "this id is taken" }],
      });
    await addDeveloper(this.#parts.keys, { name, ...(id === undefined ? {} : { id }) }, by);
    return this.list();
  }

  /** Null takes the instance's default again. */
  async setLimits(
    id: string,
    wanted: Readonly<Partial<Record<LimitName, number | null | undefined>>>,
    by: Author,
  ): Promise<Developers> {
    await this.#must(id);
    const change = (developer: Developer): Developer => {
      const limits = LIMIT_NAMES.flatMap((name): [string, number][] => {
        const [value, before] = [wanted[name], developer.limits[LIMITS[name]]];
        const next = value === null ? undefined : (value ?? before);
        return next === undefined ? [] : [[LIMITS[name], next]];
      });
      return { ...developer, limits: Object.fromEntries(limits) };
    };
    await this.#parts.keys.updateDeveloper(id, change, noted("developer.limits", by));
    return this.list();
  }

  async disable(id: string, by: Author): Promise<Developers> {
    await this.#must(id);
    await disableDeveloper(this.#parts.keys, id, this.#at(), by);
    return this.list();
  }

  async enable(id: string, by: Author): Promise<Developers> {
    await this.#must(id);
    await enableDeveloper(this.#parts.keys, id, by);
    return this.list();
  }

  async revokeSessions(id: string, by: Author): Promise<Developers> {
    await this.#must(id);
    await revokeSessions(this.#parts.keys, id, by);
    return this.list();
  }

  async invitations(): Promise<InvitationRow[]> {
    const [all, people] = await Promise.all([
      this.#parts.accounts.invitations(),
      this.#parts.accounts.accounts(),
    ]);
    const accountOf = new Map(people.map((one) => [one.id, one]));
    return [...all]
      .sort((one, other) => (one.createdAt < other.createdAt ? 1 : -1))
      .map((one) => shown(one, this.#at(), accountOf.get(one.accountId ?? "")));
  }

  async invite(wish: Wish, by: Author): Promise<CreatedInvitation> {
    const { id, token, secretHash } = newInvitation(this.#parts.pepper);
    const made: Invitation = {
      ...{ id, secretHash, ...(await this.#target(wish)) },
      ...{
        createdAt: this.#at(),
        expiresAt: new Date(this.#parts.now() + wish.hours * HOUR_MS).toISOString(),
      },
    };
    await this.#parts.accounts.addInvitation(made, noted("invitation.create", by));
    const account =
      made.accountId === undefined ? undefined : await this.#parts.accounts.account(made.accountId);
    // Behind the #: no server and no log gets to see it.
    return {
      link: `${this.#parts.origin}/invitation#${token}`,
      invitation: shown(made, this.#at(), account),
    };
  }

  async cancelInvitation(id: string, by: Author): Promise<void> {
    if (!/^[0-9a-f]{16}$/.test(id) || (await this.#parts.accounts.invitation(id)) === undefined)
      throw new DashboardError("NOT_FOUND");
    if (!(await this.#parts.accounts.cancelInvitation(id, this.#at(), noted("invitation.cancel", by))))
      throw new DashboardError("STATE_CHANGED");
  }

  async accounts(): Promise<AccountsView> {
    const all = await this.#parts.accounts.accounts();
    return {
      accounts: await Promise.all(
        all.map(async (one) => ({
          ...{ id: one.id, name: one.name, role: one.role, developer_id: one.developerId ?? null },
          ...{ created_at: one.createdAt, closed_at: one.closedAt ?? null, passkeys: one.passkeys.length },
          sessions: (await this.#parts.sessionsOf(one)).length,
        })),
      ),
    };
  }

  /** Not one's own, and never the last operator's: nobody could undo it here. */
  async closeAccount(id: string, own: Account, by: Author): Promise<AccountsView> {
    const found = /^[0-9a-f-]{36}$/.test(id) ? await this.#parts.accounts.account(id) : undefined;
    if (found === undefined) throw new DashboardError("NOT_FOUND");
    if (id === own.id)
      throw new DashboardError("STATE_CHANGED", "Your own account is closed by another operator");
    const close = (account: Account): Account =>
      account.closedAt === undefined
        ? { ...account, closedAt: this.#at(), sessionEpoch: account.sessionEpoch + 1 }
        : account;
    await this.#parts.accounts.change(id, close, noted("account.close", by));
    return this.accounts();
  }

  #at(): string {
    return new Date(this.#parts.now()).toISOString();
  }

  async #must(id: string): Promise<Developer> {
    const found = /^[a-z0-9_-]{2,63}$/.test(id) ? await this.#parts.keys.developer(id) : undefined;
    if (found === undefined) throw new DashboardError("NOT_FOUND");
    return found;
  }

  async #target(wish: Wish): Promise<Pick<Invitation, "purpose" | "role" | "developerId" | "accountId">> {
    if (wish.for === "operator") return { purpose: "sign-up", role: "operator" };
    if (wish.for === "developer") {
      if ((await this.#parts.keys.developer(wish.developer_id)) === undefined)
        throw wrongField("developer_id", "there is no such developer");
      return { purpose: "sign-up", role: "developer", developerId: wish.developer_id };
    }
    const account = await this.#parts.accounts.account(wish.account_id);
    if (account === undefined || account.closedAt !== undefined)
      throw wrongField("account_id", "there is no such account, or it is closed");
    const { role, developerId, id: accountId } = account;
    return { purpose: "recovery", role, accountId, ...(developerId === undefined ? {} : { developerId }) };
  }
}

function shown(invitation: Invitation, at: string, account: Account | undefined): InvitationRow {
  const { id, purpose, role, developerId, accountId, createdAt, expiresAt, usedAt, cancelledAt } = invitation;
  const ended = usedAt !== undefined ? "used" : cancelledAt !== undefined ? "cancelled" : "expired";
  const good = isVoid(invitation, account) ? "void" : "open";
  return {
    ...{ id, purpose, role, developer_id: developerId ?? null, account_id: accountId ?? null },
    ...{ created_at: createdAt, expires_at: expiresAt, state: isOpen(invitation, at) ? good : ended },
  };
}
