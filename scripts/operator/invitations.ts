// `npm run operator -- invitations …`: who may make an account at the dashboard. A link is shown once; the store keeps a
// keyed hash of it, under the pepper of the API keys.
import { newInvitation } from "../../proxy/dashboard/secrets.ts";
import { loadPepper } from "../../proxy/base/auth/secret-files.ts";
import { noted, type Author } from "../../proxy/base/store/audit.ts";
import type { Invitation } from "../../proxy/base/store/accounts.ts";
import type { InstanceStores } from "../../proxy/base/store/instance.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { need, type Kept, type Result, type Verbs } from "./command-line.ts";

export const INVITATIONS_HELP = `  invitations create --developer ID | --operator | --account ID [--hours N] [--origin URL]
                                                          a link for a new account at the dashboard, for one developer
                                                          or with the operator's role; with --account for new passkeys
                                                          of one that is there, whose old ones end. It is shown this
                                                          once, is good for one use and for N hours (default 72)
  invitations list                                        all of them, never a link
  invitations cancel ID                                   it opens nothing any more
  accounts list                                           the dashboard's accounts`;

const HOUR_MS = 3_600_000;
const DEFAULT_HOURS = "72";
const MOST_HOURS = 336;

export const INVITATIONS: Verbs = {
  create: { words: [], run: create },
  list: {
    words: [],
    async run({ stores: { accounts } }) {
      const all = (await accounts.invitations()).map(({ secretHash: _secret, ...rest }) => rest);
      const lines = all.map(({ id, purpose, role, developerId, expiresAt, usedAt, cancelledAt }) =>
        [
          ...[id, purpose, role, developerId ?? "-", `until ${expiresAt}`],
          usedAt !== undefined ? "used" : cancelledAt !== undefined ? "cancelled" : "",
        ].join("\t"),
      );
      return { data: { invitations: all }, text: lines.join("\n") };
    },
  },
  cancel: {
    words: ["ID"],
    async run({ stores: { accounts }, by }, id: string) {
      if (!(await accounts.cancelInvitation(id, new Date().toISOString(), noted("invitation.cancel", by))))
        throw new UsageError(`there is no open invitation ${id}`);
      return { data: { cancelled: id }, text: `cancelled ${id}` };
    },
  },
};

export const ACCOUNTS: Verbs = {
  list: {
    words: [],
    async run({ stores: { accounts } }) {
      const all = (await accounts.accounts()).map(({ passkeys, ...rest }) => ({
        ...rest,
        passkeys: passkeys.length,
      }));
      const lines = all.map(({ id, name, role, developerId, closedAt }) =>
        [id, name, role, developerId ?? "-", closedAt === undefined ? "" : `closed ${closedAt}`].join("\t"),
      );
      return { data: { accounts: all }, text: lines.join("\n") };
    },
  },
};

async function create({ stores, values, by }: Kept): Promise<Result> {
  const { developer, operator = false, account, origin = [] } = values;
  const pepperFile = values.pepper ?? process.env["CLOISTER_API_KEY_PEPPER_FILE"];
  const pepper = await loadPepper(need(pepperFile, "--pepper FILE"));
  const hours = wholeNumber("--hours", values.hours ?? DEFAULT_HOURS, 1, MOST_HOURS);
  if ([developer, account, operator || undefined].filter((one) => one !== undefined).length !== 1)
    throw new UsageError("one of --developer ID, --operator and --account ID is needed");
  const base = origin[0] ?? process.env["CLOISTER_DASHBOARD_ORIGIN"];
  const terms = await termsOf(stores, developer, account);
  const { token, invitation } = await createInvitation(stores, pepper, { ...terms, hours }, by);
  const { id, expiresAt } = invitation;
  const link = base === undefined ? undefined : `${base}/invitation#${token}`;
  return { data: { id, token, link: link ?? null, expires_at: expiresAt }, text: link ?? token };
}

export type InvitationTerms = Pick<Invitation, "purpose" | "role" | "developerId" | "accountId">;

/** Also for the local stack, which invites whoever started it. */
export async function createInvitation(
  { accounts }: Pick<InstanceStores, "accounts">,
  pepper: Uint8Array,
  { hours, ...terms }: InvitationTerms & { readonly hours: number },
  by?: Author,
): Promise<{ readonly token: string; readonly invitation: Invitation }> {
  const { id, token, secretHash } = newInvitation(pepper);
  const now = Date.now();
  const invitation: Invitation = {
    ...{ id, secretHash, ...terms },
    ...{ createdAt: new Date(now).toISOString(), expiresAt: new Date(now + hours * HOUR_MS).toISOString() },
  };
  await accounts.addInvitation(invitation, noted("invitation.create", by));
  return { token, invitation };
}

async function termsOf(
  { keys, accounts }: InstanceStores,
  developerId: string | undefined,
  accountId: string | undefined,
): Promise<InvitationTerms> {
  if (developerId !== undefined) {
    if ((await keys.developer(developerId)) === undefined)
      throw new UsageError(`there is no developer ${developerId}`);
    return { purpose: "sign-up", role: "developer", developerId };
  }
  if (accountId === undefined) return { purpose: "sign-up", role: "operator" };
  const found = await accounts.account(accountId);
  if (found === undefined || found.closedAt !== undefined)
    throw new UsageError(`there is no account ${accountId}, or it is closed`);
  const whose = found.developerId === undefined ? {} : { developerId: found.developerId };
  return { purpose: "recovery", role: found.role, accountId, ...whose };
}
