/**
 * The life of a ticket as pure functions: what the chain, as indexed, says about it decides its state;
 * time, storage and network stay outside. An outcome is read from the pool's events by statement, so it
 * is the same whoever carried the statement and however often the process was restarted.
 */
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import type { Outcome, TicketError, TicketStatus } from "../../base/store/tickets.ts";

/** What is known about one ticket's statement at one moment. */
export interface Findings {
  /** Executed on the canonical chain. */
  readonly execution: Outcome | undefined;
  /** The newest block that counts as final. */
  readonly finalBlock: number;
  /** The newest time at which a final block was made; no block that could still execute the statement is older. Unix seconds. */
  readonly finalTime: number;
  /** The last second at which the statement can execute. */
  readonly lastSecond: bigint;
  /** What is said when that second has passed. */
  readonly expiry: TicketError;
  /** Set when another statement took a nullifier or the authorization, with the block in which it did. */
  readonly takenBy: { readonly block: number; readonly error: TicketError } | undefined;
}

/** The state that the findings demand; the same object when nothing changes. */
export function settle(status: TicketStatus, findings: Findings): TicketStatus {
  switch (status.state) {
    case "finalized":
    case "failed":
    case "expired":
      return status;
    case "queued":
    case "submitted":
    case "confirmed":
      break;
  }
  if (findings.execution !== undefined) return executed(status, findings.execution, findings.finalBlock);
  if (status.state === "confirmed") {
    // The block that held it is gone. It has no carrier: the sequencer looks whether ours is still good.
    return { state: "submitted", txHash: status.outcome.txHash };
  }
  const { takenBy, finalBlock, finalTime, lastSecond, expiry } = findings;
  if (takenBy !== undefined) {
    if (takenBy.block <= finalBlock) return { state: "failed", error: takenBy.error };
    return withError(status, takenBy.error);
  }
  // By the time of a final block and not by a clock: whoever holds the attestation (after /attest, or of a
  // relayed statement) could still have it executed, and the payment would be made twice.
  if (lastSecond >= BigInt(finalTime)) return status;
  return status.state === "queued"
    ? { state: "expired", error: status.error ?? expiry }
    : { state: "failed", error: expiry };
}

function executed(status: TicketStatus, outcome: Outcome, finalBlock: number): TicketStatus {
  if (outcome.block <= finalBlock) return { state: "finalized", outcome };
  if (status.state === "confirmed" && sameOutcome(status.outcome, outcome)) return status;
  return { state: "confirmed", outcome };
}

function sameOutcome(a: Outcome, b: Outcome): boolean {
  return a.txHash === b.txHash && a.block === b.block && a.leafIndexes[0] === b.leafIndexes[0];
}

/**
 * A block that was final is gone, and with it the execution, or it stands elsewhere now. The ticket is open again, and
 * as one whose unsettled block is gone: the sequencer looks for its execution, and sends it where there is none.
 */
export function reorganisedOut(
  status: TicketStatus,
  execution: Outcome | undefined,
): TicketStatus | undefined {
  if (status.state !== "finalized") return undefined;
  if (execution !== undefined && sameOutcome(status.outcome, execution)) return undefined;
  return { state: "submitted", txHash: status.outcome.txHash };
}

/** Sent in a transaction of ours under this nonce. */
export function sent(status: TicketStatus, carrier: number, txHash: Bytes32): TicketStatus | undefined {
  return status.state === "queued" || status.state === "submitted"
    ? { state: "submitted", carrier, txHash }
    : undefined;
}

/** Its carrier was mined and the pool refused this member: it waits, with a reason if it is to blame, to be sent again. */
export function refused(status: TicketStatus, error: TicketError | undefined): TicketStatus | undefined {
  if (status.state !== "submitted") return undefined;
  return { state: "submitted", txHash: status.txHash, ...(error === undefined ? {} : { error }) };
}

/** Its carrier can never be mined: another transaction took the nonce. */
export function dropped(status: TicketStatus): TicketStatus | undefined {
  return status.state === "submitted"
    ? { state: "queued", ...(status.error === undefined ? {} : { error: status.error }) }
    : undefined;
}

/** A reason why it is not sent now, or none; the same object when nothing changes. */
export function withError(status: TicketStatus, error: TicketError | undefined): TicketStatus {
  if (status.state !== "queued" && status.state !== "submitted") return status;
  if (status.error?.code === error?.code && status.error?.detail === error?.detail) return status;
  const { error: _old, ...rest } = status;
  return error === undefined ? rest : { ...rest, error };
}

/** Waiting to be put into a transaction: never sent, or sent and to be sent again. */
export function isWaiting(status: TicketStatus): boolean {
  return status.state === "queued" || (status.state === "submitted" && status.carrier === undefined);
}
