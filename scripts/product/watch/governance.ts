/**
 * What the owner may change, as the pool tells it: which event means what, and which proposals are pending. A proposal
 * that expires says nothing on the chain, so that is seen by the clock of its blocks.
 */
import { asAddress, type Address } from "../../../shared/protocol/brands.ts";
import type { Code } from "./findings.ts";

export type Role = "signer" | "asset" | "executor";

export interface Proposal {
  readonly role: Role;
  readonly subject: Address;
  /** Unix seconds: anybody may admit it from here on, */
  readonly admissibleAt: number;
  /** and nobody from here on. */
  readonly expiresAt: number;
}

type Act = Extract<Code, "PROPOSED" | "ADMITTED" | "WITHDRAWN" | "REMOVED">;

/** An event names its subject like the role. */
const ACTS: Readonly<Record<string, { readonly role: Role; readonly code: Act }>> = {
  SignerProposed: { role: "signer", code: "PROPOSED" },
  SignerAdded: { role: "signer", code: "ADMITTED" },
  SignerWithdrawn: { role: "signer", code: "WITHDRAWN" },
  SignerRemoved: { role: "signer", code: "REMOVED" },
  AssetProposed: { role: "asset", code: "PROPOSED" },
  AssetAdded: { role: "asset", code: "ADMITTED" },
  AssetWithdrawn: { role: "asset", code: "WITHDRAWN" },
  AssetDelisted: { role: "asset", code: "REMOVED" },
  ExecutorProposed: { role: "executor", code: "PROPOSED" },
  ExecutorSet: { role: "executor", code: "ADMITTED" },
  ExecutorWithdrawn: { role: "executor", code: "WITHDRAWN" },
  ExecutorRemoved: { role: "executor", code: "REMOVED" },
};

export interface Change {
  readonly code: Act;
  readonly role: Role;
  readonly subject: Address;
  /** What it proposes. */
  readonly proposal: Proposal | undefined;
}

/** Undefined for an event that is no act of this kind. */
export function changeOf(name: string, args: Readonly<Record<string, unknown>>): Change | undefined {
  const act = ACTS[name];
  const subject = asAddress(act === undefined ? undefined : args[act.role]);
  if (act === undefined || subject === undefined) return undefined;
  const { code, role } = act;
  if (code !== "PROPOSED") return { code, role, subject, proposal: undefined };
  const times = { admissibleAt: Number(args["admissibleAt"]), expiresAt: Number(args["expiresAt"]) };
  return { code, role, subject, proposal: { role, subject, ...times } };
}

/** For people. */
export function proposalText({ role, subject, admissibleAt, expiresAt }: Proposal): string {
  return `${role} ${subject}, admissible from ${dateOf(admissibleAt)}, expires at ${dateOf(expiresAt)}`;
}

/** For programs. */
export function proposalJson({ role, subject, admissibleAt, expiresAt }: Proposal): Record<string, unknown> {
  return { role, address: subject, admissible_at: admissibleAt, expires_at: expiresAt };
}

function dateOf(unixSecs: number): string {
  return new Date(unixSecs * 1_000).toISOString();
}
