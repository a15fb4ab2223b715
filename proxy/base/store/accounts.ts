/**
 * Accounts of the dashboard, each with its passkeys in one record, so that a counter, the last passkey and the end of an
 * account are judged by one write; and the invitations by which they come to be. An invitation is used in the step that
 * makes its account: two who race with it cannot both have one.
 */
import { z } from "zod";
import { audited, type Note, type Subject } from "./audit.ts";
import { retrying, type Carried, type Engine, type Step, type Write } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";
import { hashed, storedBytes, toStoredBytes } from "./values.ts";

const ACCOUNTS = "accounts";
/** By hash of a credential's id, the account that has it. */
const CREDENTIALS = "accounts:credentials";
const INVITATIONS = "invitations";

const role = z.enum(["developer", "operator"]);
const count = z.int().nonnegative();

const passkey = z.strictObject({
  /** Ours, for paths and lists. */
  id: z.string(),
  name: z.string(),
  /** The authenticator's, base64url. */
  credentialId: z.string(),
  /** COSE key. */
  publicKey: storedBytes,
  /** Signatures that the authenticator says it made; 0 where it does not count. */
  counter: count,
  transports: z.array(z.string()),
  isSynced: z.boolean(),
  /** RFC 3339. */
  createdAt: z.string(),
  lastUsedAt: z.string().exactOptional(),
});
export type Passkey = RecordOf<typeof passkey>;

const account = z.strictObject({
  id: z.string(),
  name: z.string(),
  role,
  /** Whom it acts for; absent for an operator's. */
  developerId: z.string().exactOptional(),
  createdAt: z.string(),
  /** Of its last recovery: invitations to recover it that are no newer are void. */
  recoveredAt: z.string().exactOptional(),
  /** It can never sign in again. */
  closedAt: z.string().exactOptional(),
  /** Sessions carry it; raising it ends all of them. */
  sessionEpoch: count,
  passkeys: z.array(passkey),
});
export type Account = RecordOf<typeof account>;

const invitation = z.strictObject({
  /** 16 hex digits. */
  id: z.string(),
  /** Keyed hash of its secret. */
  secretHash: storedBytes,
  purpose: z.enum(["sign-up", "recovery"]),
  role,
  developerId: z.string().exactOptional(),
  /** Of a recovery. */
  accountId: z.string().exactOptional(),
  createdAt: z.string(),
  expiresAt: z.string(),
  usedAt: z.string().exactOptional(),
  cancelledAt: z.string().exactOptional(),
});
export type Invitation = RecordOf<typeof invitation>;

const accountForm = jsonForm<Account>(account, ({ passkeys, ...rest }) => ({
  ...rest,
  passkeys: passkeys.map((one) => ({ ...one, publicKey: toStoredBytes(one.publicKey) })),
}));
const invitationForm = jsonForm<Invitation>(invitation, (one) => ({
  ...one,
  secretHash: toStoredBytes(one.secretHash),
}));

/** Why an account was not made: the invitation is no longer good, or somebody has this passkey. */
export type Refused = "INVITATION_INVALID" | "PASSKEY_KNOWN";

export class AccountStore {
  readonly #engine: Engine;
  readonly #accounts: Records<Account>;
  readonly #invitations: Records<Invitation>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#accounts = new Records(engine, ACCOUNTS, accountForm);
    this.#invitations = new Records(engine, INVITATIONS, invitationForm);
  }

  account(id: string) {
    return this.#accounts.get(id);
  }

  accounts() {
    return this.#accounts.all();
  }

  /** Of a passkey's credential. The id is a stranger's text of any length. */
  async accountOf(credentialId: string): Promise<Account | undefined> {
    const [id] = await this.#engine.get(CREDENTIALS, [hashed(credentialId)]);
    return id === undefined ? undefined : this.#accounts.get(id);
  }

  /**
   * Changes an account; undefined where there is none. Passkeys that it has no more are forgotten, also by
   * credential. With a note the change stands in the audit log.
   */
  change(id: string, work: (now: Account) => Account, note?: Note) {
    return this.#accounts.change(id, (now) => now && work(now), {
      thoughFull: true,
      carry: (before, after) => {
        const kept = new Set((after?.passkeys ?? []).map((a0) => this.#keyOf(a0)));
        const gone = (before?.passkeys ?? []).map((a0) => this.#keyOf(a0)).filter((key) => !kept.has(key));
        const dropped = gone.map((key): Write => ["drop", CREDENTIALS, key]);
        return carried(note, after ?? before, factsOf(before), factsOf(after), dropped);
      },
    });
  }

  /**
   * False where somebody, or this account, has it already; undefined where there is no such account, or its sessions
   * of this epoch have ended: whoever lost an account to its recovery must not leave a key in it.
   */
  async addPasskey(
    { id, sessionEpoch }: Pick<Account, "id" | "sessionEpoch">,
    made: Passkey,
    note: Note,
  ): Promise<Account | false | undefined> {
    const key = this.#keyOf(made);
    return retrying<Account | false | undefined>(this.#engine, async () => {
      const [[text], [taken]] = await Promise.all([
        this.#engine.get(ACCOUNTS, [id]),
        this.#engine.get(CREDENTIALS, [key]),
      ]);
      const now = this.#accounts.read(id, text);
      if (now?.sessionEpoch !== sessionEpoch) return { result: undefined };
      if (taken !== undefined) return { result: false };
      const next: Account = { ...now, passkeys: [...now.passkeys, made] };
      const log = carried(note, next, factsOf(now), factsOf(next));
      const step: Step = {
        ...log,
        checks: [
          ["is", ACCOUNTS, id, text],
          ["is", CREDENTIALS, key, undefined],
        ],
        writes: [
          ["put", ACCOUNTS, id, this.#accounts.write(id, next)],
          ["put", CREDENTIALS, key, id],
          ...log.writes,
        ],
      };
      return { step, result: next };
    });
  }

  invitation(id: string) {
    return this.#invitations.get(id);
  }

  invitations() {
    return this.#invitations.all();
  }

  addInvitation(made: Invitation, note: Note) {
    return this.#invitations.add(made.id, made, {
      carry: () => carriedOf(note, made, undefined, { ...shownOf(made) }),
    });
  }

  /** False where it is not open any more. */
  async cancelInvitation(id: string, at: string, note: Note): Promise<boolean> {
    let isCancelled = false;
    const cancel = (now: Invitation | undefined): Invitation | undefined => {
      isCancelled = now !== undefined && isOpen(now, at);
      return now !== undefined && isCancelled ? { ...now, cancelledAt: at } : now;
    };
    await this.#invitations.change(id, cancel, {
      thoughFull: true,
      carry: (before, after) => carriedOf(note, after!, shownOf(before), shownOf(after)),
    });
    return isCancelled;
  }

  /**
   * Uses an invitation: the account that `make` makes of what is there (the account to recover, or none) comes to be in
   * the step that uses it up. An account that is recovered keeps none of its old passkeys.
   */
  use(
    invitationId: string,
    at: string,
    make: (invitation: Invitation, recovered: Account | undefined) => Account,
    noteOf: (made: Account) => Note,
  ): Promise<Account | Refused> {
    return retrying<Account | Refused>(this.#engine, async () => {
      const [invitationText] = await this.#engine.get(INVITATIONS, [invitationId]);
      const found = this.#invitations.read(invitationId, invitationText);
      if (found === undefined || !isOpen(found, at)) return { result: "INVITATION_INVALID" };
      const { accountId } = found;
      // Read once: what is judged here is what the step below checks, so of two recoveries that race one is void.
      const [beforeText] = accountId === undefined ? [] : await this.#engine.get(ACCOUNTS, [accountId]);
      const before = accountId === undefined ? undefined : this.#accounts.read(accountId, beforeText);
      const isRecovery = found.purpose === "recovery";
      if (isVoid(found, before)) return { result: "INVITATION_INVALID" };
      const made = { ...make(found, before), ...(isRecovery ? { recoveredAt: at } : {}) };
      const keys = made.passkeys.map((a0) => this.#keyOf(a0));
      const [[accountText], taken] = await Promise.all([
        made.id === accountId ? [beforeText] : this.#engine.get(ACCOUNTS, [made.id]),
        this.#engine.get(CREDENTIALS, keys),
      ]);
      // A key of the account's own past is taken, too: what was lost may be in other hands.
      if (taken.some((by) => by !== undefined)) return { result: "PASSKEY_KNOWN" };
      const now = this.#accounts.read(made.id, accountText);
      const log = carried(noteOf(made), made, factsOf(now), factsOf(made));
      const used: Invitation = { ...found, usedAt: at };
      const step: Step = {
        ...log,
        checks: [
          ["is", INVITATIONS, invitationId, invitationText],
          ["is", ACCOUNTS, made.id, accountText],
          ...keys.map((key) => ["is", CREDENTIALS, key, undefined] as const),
        ],
        writes: [
          ["put", INVITATIONS, invitationId, this.#invitations.write(invitationId, used)],
          ["put", ACCOUNTS, made.id, this.#accounts.write(made.id, made)],
          ...keys.map((key): Write => ["put", CREDENTIALS, key, made.id]),
          ...(now?.passkeys ?? []).map((one): Write => ["drop", CREDENTIALS, this.#keyOf(one)]),
          ...log.writes,
        ],
      };
      return { step, result: made };
    });
  }

  #keyOf({ credentialId }: Pick<Passkey, "credentialId">): string {
    return hashed(credentialId);
  }
}

/** Neither used nor cancelled, and before its end. */
export function isOpen({ usedAt, cancelledAt, expiresAt }: Invitation, at: string): boolean {
  return usedAt === undefined && cancelledAt === undefined && Date.parse(at) < Date.parse(expiresAt);
}

/**
 * Whether an invitation to recover an account is void though open: the account was closed, or was recovered after it.
 * Whoever holds an older link, sent to an address that was lost perhaps, must not take the account a second time.
 */
export function isVoid({ purpose, createdAt }: Invitation, account: Account | undefined): boolean {
  if (purpose === "sign-up") return false;
  if (account === undefined || account.closedAt !== undefined) return true;
  return account.recoveredAt !== undefined && account.recoveredAt >= createdAt;
}

/** What the log may show of an account: no key, and no credential's id. */
function factsOf(found: Account | undefined): Subject["before"] {
  if (found === undefined) return undefined;
  const { name, role: is, developerId, closedAt, sessionEpoch, passkeys } = found;
  return {
    ...{ name, role: is, developer: developerId, closed_at: closedAt, session_epoch: sessionEpoch },
    passkeys: passkeys.map((one) => ({ id: one.id, name: one.name })),
  };
}

function shownOf(found: Invitation | undefined): Subject["before"] {
  if (found === undefined) return undefined;
  const { purpose, role: is, developerId, accountId, expiresAt, cancelledAt } = found;
  return {
    ...{ purpose, role: is, developer: developerId, account: accountId },
    ...{ expires_at: expiresAt, cancelled_at: cancelledAt },
  };
}

function carried(
  note: Note | undefined,
  about: Account | undefined,
  before: Subject["before"],
  after: Subject["after"],
  writes: readonly Write[] = [],
): Carried {
  if (note === undefined || about === undefined) return { writes };
  const { id, developerId } = about;
  const target = { kind: "account", id };
  const log = audited(note, { target, before, after, ...(developerId === undefined ? {} : { developerId }) });
  return { ...log, writes: [...writes, ...log.writes] };
}

function carriedOf(
  note: Note,
  { id, developerId }: Invitation,
  before: Subject["before"],
  after: Subject["after"],
): Carried {
  const target = { kind: "invitation", id };
  return audited(note, { target, before, after, ...(developerId === undefined ? {} : { developerId }) });
}
