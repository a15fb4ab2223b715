/**
 * How a person comes to an account and into it: an invitation of the operator's and a passkey, and from then on the
 * passkey alone. Lost ones are replaced by another invitation, never by a password or a question.
 */
import { randomUUID } from "node:crypto";
import type { InvitationView } from "./contract/account.ts";
import type { AuthenticationResponse, RegistrationResponse } from "./contract/passkeys.ts";
import {
  isOpen,
  isVoid,
  type Account,
  type AccountStore,
  type Invitation,
  type Passkey,
} from "../base/store/accounts.ts";
import type { Author } from "../base/store/audit.ts";
import type { Challenge, DashboardSessionStore } from "../base/store/dashboard-sessions.ts";
import type { KeyStore } from "../base/store/keys.ts";
import type { SignedIn } from "./call.ts";
import { DashboardError } from "./errors.ts";
import { CEREMONY_MS, type Passkeys } from "./passkeys.ts";
import { isSecretOf, readInvitation } from "./secrets.ts";

export interface AccountParts {
  readonly store: AccountStore;
  readonly challenges: Pick<DashboardSessionStore, "giveOut" | "take">;
  readonly developers: Pick<KeyStore, "developer">;
  readonly passkeys: Passkeys;
  readonly pepper: Uint8Array;
  readonly now: () => number;
}

const MOST_PASSKEYS = 20;

export class Accounts {
  readonly #parts: AccountParts;

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  async viewInvitation(token: string): Promise<InvitationView> {
    const { purpose, role, developerId, accountId, expiresAt } = await this.#openInvitation(token);
    const [developer, account] = await Promise.all([
      developerId === undefined ? undefined : this.#parts.developers.developer(developerId),
      accountId === undefined ? undefined : this.#parts.store.account(accountId),
    ]);
    return {
      ...{ purpose, role, expires_at: expiresAt },
      developer: developer === undefined ? null : { id: developer.id, name: developer.name },
      account_name: account?.name ?? null,
    };
  }

  async signUpOptions(token: string, accountName: string, holder: string) {
    const { id, accountId: recovered } = await this.#openInvitation(token);
    const known = recovered === undefined ? undefined : await this.#parts.store.account(recovered);
    const accountId = recovered ?? randomUUID();
    const options = await this.#parts.passkeys.creationOptions(accountId, known?.name ?? accountName, []);
    const { challenge } = options;
    await this.#parts.challenges.giveOut(
      holder,
      { challenge, purpose: "sign-up", invitationId: id, accountId },
      CEREMONY_MS,
    );
    return options;
  }

  /** The account that was made or recovered, in the step that uses the invitation up. */
  async signUp(
    { token, accountName, passkeyName, response }: SignUp,
    holder: string | undefined,
  ): Promise<Account> {
    const invitation = await this.#openInvitation(token);
    const given = await this.#taken(holder, "sign-up");
    if (given.invitationId !== invitation.id || given.accountId === undefined)
      throw new DashboardError("CHALLENGE_INVALID");
    const { accountId } = given;
    const passkey = await this.#parts.passkeys.register(response, given.challenge, passkeyName);
    const made = await this.#parts.store.use(
      invitation.id,
      this.#at(),
      ({ role, developerId }, before) =>
        before === undefined
          ? {
              ...{ id: accountId, name: accountName, role },
              ...(developerId === undefined ? {} : { developerId }),
              ...{ createdAt: this.#at(), sessionEpoch: 1, passkeys: [passkey] },
            }
          : { ...before, sessionEpoch: before.sessionEpoch + 1, passkeys: [passkey] },
      (account) => ({
        by: this.#authorOf(account),
        verb: invitation.purpose === "recovery" ? "account.recover" : "account.sign-up",
      }),
    );
    if (typeof made === "string") throw new DashboardError(made);
    return made;
  }

  async signInOptions(holder: string) {
    const options = await this.#parts.passkeys.requestOptions(undefined);
    await this.#parts.challenges.giveOut(
      holder,
      { challenge: options.challenge, purpose: "sign-in" },
      CEREMONY_MS,
    );
    return options;
  }

  async signIn(response: AuthenticationResponse, holder: string | undefined): Promise<Account> {
    const { challenge } = await this.#taken(holder, "sign-in");
    const account = await this.#parts.store.accountOf(response.id);
    // The authenticator says whose key it used; it was told so when the key was made.
    const named = Buffer.from(response.response.userHandle ?? "", "base64url").toString("utf8");
    if (account === undefined || named !== account.id) throw new DashboardError("PASSKEY_REFUSED");
    return this.#use(account, response, challenge);
  }

  async freshOptions({ account, session }: SignedIn) {
    const options = await this.#parts.passkeys.requestOptions(account.passkeys);
    await this.#parts.challenges.giveOut(
      session.id,
      { challenge: options.challenge, purpose: "fresh" },
      CEREMONY_MS,
    );
    return options;
  }

  async fresh(response: AuthenticationResponse, { account, session }: SignedIn): Promise<void> {
    const { challenge } = await this.#taken(session.id, "fresh");
    await this.#use(await this.#parts.store.account(account.id), response, challenge);
  }

  async addPasskeyOptions({ account, session }: SignedIn) {
    const options = await this.#parts.passkeys.creationOptions(account.id, account.name, account.passkeys);
    const { challenge } = options;
    await this.#parts.challenges.giveOut(session.id, { challenge, purpose: "add-passkey" }, CEREMONY_MS);
    return options;
  }

  async addPasskey(
    name: string,
    response: RegistrationResponse,
    { account, session }: SignedIn,
  ): Promise<Account> {
    if (account.passkeys.length >= MOST_PASSKEYS) throw new DashboardError("TOO_MANY");
    const { challenge } = await this.#taken(session.id, "add-passkey");
    const made = await this.#parts.passkeys.register(response, challenge, name);
    const note = { by: this.#authorOf(account), verb: "account.add-passkey" };
    const next = await this.#parts.store.addPasskey(account, made, note);
    if (next === undefined) throw new DashboardError("SESSION_ENDED");
    if (next === false) throw new DashboardError("PASSKEY_KNOWN");
    return next;
  }

  async renamePasskey(id: string, name: string, { account }: SignedIn): Promise<Account> {
    requirePasskey(account, id);
    const note = { by: this.#authorOf(account), verb: "account.rename-passkey" };
    const rename = (now: Account): Account => ({ ...now, passkeys: this.#withName(now.passkeys, id, name) });
    return mustBe(await this.#parts.store.change(account.id, rename, note));
  }

  /** Never the last one: nobody could sign in to make another. */
  async removePasskey(id: string, { account }: SignedIn): Promise<Account> {
    requirePasskey(account, id);
    const note = { by: this.#authorOf(account), verb: "account.remove-passkey" };
    const outcome = { isLast: false };
    const next = await this.#parts.store.change(
      account.id,
      (current) => {
        const left = current.passkeys.filter((one) => one.id !== id);
        outcome.isLast = left.length === 0;
        return outcome.isLast ? current : { ...current, passkeys: left };
      },
      note,
    );
    if (outcome.isLast) throw new DashboardError("LAST_PASSKEY");
    return mustBe(next);
  }

  #at(): string {
    return new Date(this.#parts.now()).toISOString();
  }

  #authorOf({ id }: Pick<Account, "id">): Author {
    return { kind: "account", id };
  }

  /** Throws INVITATION_INVALID without saying what is wrong with it. */
  async #openInvitation(token: string): Promise<Invitation> {
    const read = readInvitation(token);
    const found = read === undefined ? undefined : await this.#parts.store.invitation(read.id);
    const isGenuine = isSecretOf(this.#parts.pepper, "invitation", read?.secret ?? "", found?.secretHash);
    if (found === undefined || !isGenuine || !isOpen(found, this.#at()))
      throw new DashboardError("INVITATION_INVALID");
    // Said before somebody makes a passkey for nothing; the step that uses it judges again.
    const account =
      found.accountId === undefined ? undefined : await this.#parts.store.account(found.accountId);
    if (isVoid(found, account)) throw new DashboardError("INVITATION_INVALID");
    return found;
  }

  async #taken(holder: string | undefined, purpose: Challenge["purpose"]): Promise<Challenge> {
    const found = holder === undefined ? undefined : await this.#parts.challenges.take(holder, purpose);
    if (found === undefined) throw new DashboardError("CHALLENGE_INVALID");
    return found;
  }

  /** The account with its passkey as it is after this use. Throws PASSKEY_REFUSED. */
  async #use(
    account: Account | undefined,
    response: AuthenticationResponse,
    challenge: string,
  ): Promise<Account> {
    const refused = new DashboardError("PASSKEY_REFUSED");
    const before = account?.passkeys.find(({ credentialId }) => credentialId === response.id);
    if (account === undefined || account.closedAt !== undefined || before === undefined) throw refused;
    const after = await this.#parts.passkeys.verify(response, challenge, before);
    const outcome = { isWritten: false };
    const next = await this.#parts.store.change(account.id, (current) => {
      const kept = current.passkeys.find(({ id }) => id === before.id);
      // Of two answers with one counter the second is a copy's.
      outcome.isWritten = current.closedAt === undefined && kept?.counter === before.counter;
      if (!outcome.isWritten) return current;
      const list = current.passkeys.map((one) => (one.id === before.id ? { ...after, name: one.name } : one));
      return { ...current, passkeys: list };
    });
    if (next === undefined || !outcome.isWritten) throw refused;
    return next;
  }

  #withName(list: readonly Passkey[], id: string, name: string): readonly Passkey[] {
    return list.map((one) => (one.id === id ? { ...one, name } : one));
  }
}

interface SignUp {
  readonly token: string;
  readonly accountName: string;
  readonly passkeyName: string;
  readonly response: RegistrationResponse;
}

function requirePasskey({ passkeys }: Account, id: string): void {
  if (!passkeys.some((one) => one.id === id)) throw new DashboardError("NOT_FOUND");
}

function mustBe(account: Account | undefined): Account {
  if (account === undefined) throw new DashboardError("SESSION_ENDED");
  return account;
}
