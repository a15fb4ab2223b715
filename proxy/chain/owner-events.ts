/**
 * What the owner may change in a pool (signers, assets, the executor) as the pool's events tell it: what each event
 * means, and how a proposal's times are told to people and to programs.
 */
import { asAddress, type Address } from "../../shared/protocol/brands.ts";

export type Role = "signer" | "asset" | "executor";
const CHANGES = ["proposed", "admitted", "withdrawn", "removed"] as const;
export type Change = (typeof CHANGES)[number];

/** The pool's event for each of the changes. */
const EVENTS: Readonly<Record<Role, readonly string[]>> = {
  signer: ["SignerProposed", "SignerAdded", "SignerWithdrawn", "SignerRemoved"],
  asset: ["AssetProposed", "AssetAdded", "AssetWithdrawn", "AssetDelisted"],
  executor: ["ExecutorProposed", "ExecutorSet", "ExecutorWithdrawn", "ExecutorRemoved"],
};
const ROLES = Object.keys(EVENTS) as Role[];

export interface Proposal {
  readonly role: Role;
  readonly subject: Address;
  /** Unix seconds: anybody may admit it from here on, */
  readonly admissibleAt: number;
  /** and nobody from here on. */
  readonly expiresAt: number;
}

export interface OwnerEvent {
  readonly change: Change;
  readonly role: Role;
  readonly subject: Address;
  /** Of a "proposed". */
  readonly proposal: Proposal | undefined;
}

export function eventNamesOf(role: Role): readonly string[] {
  return EVENTS[role];
}

/** Undefined for an event about something else. An event names its subject like the role. */
export function ownerEventOf(name: string, args: Readonly<Record<string, unknown>>): OwnerEvent | undefined {
  const role = ROLES.find((one) => EVENTS[one].includes(name));
  const change = role && CHANGES[EVENTS[role].indexOf(name)];
  const subject = role && asAddress(args[role]);
  if (role === undefined || change === undefined || subject === undefined) return undefined;
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
  return { role: proposal.role, address: proposal.subject, ...timeFieldsOf(proposal) };
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
