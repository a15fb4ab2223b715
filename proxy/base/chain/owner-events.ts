/**
 * Who and what comes into a pool and goes out of it (images and their signers, assets, the executor), as the pool's events
 * tell it: what each event means, and how a proposal's times are told to people and to programs.
 */
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";

export type Role = "image" | "signer" | "asset" | "executor";
export type Change = "proposed" | "admitted" | "withdrawn" | "removed";

/** The pool's event for each of the changes. Nobody proposes a signer: it is registered, by a document. */
const EVENTS: Readonly<Record<Role, Partial<Record<Change, string>>>> = {
  image: { proposed: "ImageProposed", admitted: "ImageAdmitted", removed: "ImageRevoked" },
  signer: { admitted: "SignerRegistered", removed: "SignerRemoved" },
  asset: {
    ...{ proposed: "AssetProposed", admitted: "AssetAdded" },
    ...{ withdrawn: "AssetWithdrawn", removed: "AssetDelisted" },
  },
  executor: {
    ...{ proposed: "ExecutorProposed", admitted: "ExecutorSet" },
    ...{ withdrawn: "ExecutorWithdrawn", removed: "ExecutorRemoved" },
  },
};
export const ROLES = Object.keys(EVENTS) as readonly Role[];
const MEANINGS = new Map(
  ROLES.flatMap((role) =>
    Object.entries(EVENTS[role]).map(([change, name]) => [name, { role, change: change as Change }] as const),
  ),
);

/** An image is named by its hash, all else by its address. */
export type Subject = Address | Bytes32;

export interface Proposal {
  readonly role: Role;
  readonly subject: Subject;
  /** Unix seconds: anybody may admit it from here on, */
  readonly admissibleAt: number;
  /** and nobody from here on. */
  readonly expiresAt: number;
}

export interface OwnerEvent {
  readonly change: Change;
  readonly role: Role;
  readonly subject: Subject;
  /** Of a "proposed". */
  readonly proposal: Proposal | undefined;
}

export function eventNamesOf(role: Role): readonly string[] {
  return Object.values(EVENTS[role]);
}

/** Undefined for an event about something else. An event names its subject like the role. */
export function ownerEventOf(name: string, args: Readonly<Record<string, unknown>>): OwnerEvent | undefined {
  const { role, change } = MEANINGS.get(name) ?? {};
  if (role === undefined || change === undefined) return undefined;
  const subject = role === "image" ? asBytes32(args[role]) : asAddress(args[role]);
  if (subject === undefined) return undefined;
  if (change !== "proposed") return { change, role, subject, proposal: undefined };
  const times = { admissibleAt: Number(args["admissibleAt"]), expiresAt: Number(args["expiresAt"]) };
  return { change, role, subject, proposal: { role, subject, ...times } };
}

/** For people. */
export function proposalText(proposal: Proposal): string {
  return [`${proposal.role} ${proposal.subject}`, ...timesOf(proposal)].join(", ");
}

/** For programs. */
export function proposalJson(proposal: Proposal): Record<string, unknown> {
  const { role, subject } = proposal;
  return { role, [role === "image" ? "image" : "address"]: subject, ...timeFieldsOf(proposal) };
}

export function dateOf(unixSecs: number): string {
  return new Date(unixSecs * 1_000).toISOString();
}

type Times = Readonly<Record<"admissibleAt" | "expiresAt", number | undefined>>;

/** For people; nothing for what is not proposed. */
export function timesOf({ admissibleAt, expiresAt }: Times): string[] {
  if (admissibleAt === undefined || expiresAt === undefined) return [];
  return [`admissible from ${dateOf(admissibleAt)}`, `expires at ${dateOf(expiresAt)}`];
}

/** The same for programs. */
export function timeFieldsOf({ admissibleAt, expiresAt }: Times): Readonly<Record<string, number>> {
  if (admissibleAt === undefined || expiresAt === undefined) return {};
  return { admissible_at: admissibleAt, expires_at: expiresAt };
}
