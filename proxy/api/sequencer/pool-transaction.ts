/**
 * What a stored ticket says of its statement: read again from the signals and `ext` that were checked when
 * it was accepted. Pure; what cannot be read is damage of our own store and throws UnreadableTicket.
 */
import type { SignedBy } from "../../../shared/protocol/host/signed-by.ts";
import type { Address, Field } from "../../../shared/protocol/brands.ts";
import { compressProof, decodeProof, type Proof } from "../../../shared/protocol/proof.ts";
import { checkStatement, decodeExt, type Home, type Statement } from "../../../shared/protocol/statements.ts";
import { readSignals } from "../../../shared/protocol/host/statements.ts";
import type { PoolTransaction } from "../../base/chain/execute-call.ts";
import type { TicketRecord } from "../../base/store/tickets.ts";

/** The record has its form, and what is in it was never accepted. */
export class UnreadableTicket extends Error {
  constructor() {
    super("a stored ticket cannot be read");
    this.name = "UnreadableTicket";
  }
}

export function statementOf(ticket: TicketRecord, home: Home): Statement {
  const { kind, deadline, signals, ext } = ticket.transaction;
  const statement = checkStatement(home, kind, deadline, signals, ext);
  if (typeof statement === "string") throw new UnreadableTicket();
  return statement;
}

export function proofOf(ticket: TicketRecord): Proof {
  const proof = decodeProof(ticket.transaction.proof);
  if (proof === undefined) throw new UnreadableTicket();
  return proof;
}

/** As the pool takes it, with attestations that stand now. */
export function memberOf(ticket: TicketRecord, attestations: readonly SignedBy[]): PoolTransaction {
  const { kind, deadline, signals, ext, authorization } = ticket.transaction;
  return {
    statement: ticket.statement,
    kind,
    deadline,
    signals,
    ext,
    proof: compressProof(proofOf(ticket)),
    authorization,
    attestations,
  };
}

/** Those of the statement: a swap adds one more leaf that nobody knows before it is executed. */
export function commitmentsOf(member: PoolTransaction): readonly Field[] {
  const facts = readSignals(member.kind, member.signals);
  return typeof facts === "string" ? [] : facts.commitments;
}

export interface DepositTerms {
  readonly token: Address;
  readonly depositor: Address;
  readonly amount: bigint;
  /** Unix seconds. */
  readonly validBefore: bigint;
}

/** Undefined for everything but a deposit. */
export function depositOf(ticket: TicketRecord): DepositTerms | undefined {
  const { kind, signals, ext } = ticket.transaction;
  const terms = decodeExt(kind, ext);
  const facts = readSignals(kind, signals);
  if (terms?.kind !== "deposit-shield" || typeof facts === "string") return undefined;
  const token = `0x${facts.asset.toString(16).padStart(40, "0")}` as Address;
  return { token, depositor: terms.depositor, amount: facts.amount, validBefore: terms.validBefore };
}
