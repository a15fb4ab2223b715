/** Why the pool would not execute a ticket, in the ticket's own terms. Nothing of a token's own text is repeated. */
import type { PoolReason } from "../chain/pool.ts";
import type { Tokens } from "../chain/token.ts";
import type { TicketError } from "../store/tickets.ts";
import type { OpenTicket } from "./queue.ts";

type Verdict =
  /** The attestation, not the statement, is what the pool refuses: have it made again. */
  | { readonly kind: "attest-again" }
  /** The token said no; the token's state tells why. */
  | { readonly kind: "ask-token" }
  /** Token or venue used up the gas that its kind allows. */
  | { readonly kind: "too-dear" }
  | { readonly kind: "hold"; readonly error: TicketError };

export const TICKET_ERRORS = {
  nullifierSpent: {
    code: "NULLIFIER_SPENT",
    detail: "another statement spent a note of this one",
    retryable: false,
  },
  rootUnknown: {
    code: "ROOT_UNKNOWN",
    detail: "the pool does not know the root this was proved against; prove again",
    retryable: true,
  },
  authorizationUsed: {
    code: "AUTHORIZATION_USED",
    detail: "the depositor's authorization is used or cancelled",
    retryable: true,
  },
  authorizationExpired: {
    code: "AUTHORIZATION_EXPIRED",
    detail: "the depositor's authorization is past its valid_before",
    retryable: true,
  },
  insufficientFunds: {
    code: "INSUFFICIENT_FUNDS",
    detail: "the depositor does not hold the amount",
    retryable: true,
  },
  deadlinePassed: {
    code: "DEADLINE_PASSED",
    detail: "the deadline of the statement has passed",
    retryable: true,
  },
  transferRefused: { code: "TRANSFER_REFUSED", detail: "the token refused the transfer", retryable: true },
  assetUnsupported: {
    code: "ASSET_UNSUPPORTED",
    detail: "the pool does not take an asset of this statement now",
    retryable: true,
  },
  slippageExceeded: {
    code: "SLIPPAGE_EXCEEDED",
    detail: "the swap would bring less than its floor; it is tried again until its deadline",
    retryable: true,
  },
  routeUnavailable: {
    code: "ROUTE_UNAVAILABLE",
    detail: "the venue does not execute the swap; it is tried again until its deadline",
    retryable: true,
  },
  rejected: { code: "REJECTED", detail: "the pool refused the statement", retryable: false },
} as const satisfies Record<string, TicketError>;

/** Undefined when the attestation is to blame. `tipTime`: the newest block's, Unix seconds. */
export async function explainRefusal(
  tokens: Tokens,
  { kind, statement, deposit }: Pick<OpenTicket, "kind" | "statement" | "deposit">,
  reason: PoolReason,
  tipTime: number,
): Promise<TicketError | undefined> {
  const verdict = judge(reason);
  switch (verdict.kind) {
    case "hold":
      return verdict.error;
    case "attest-again":
      return undefined;
    case "too-dear":
      return kind === "private-swap" ? TICKET_ERRORS.routeUnavailable : TICKET_ERRORS.transferRefused;
    case "ask-token": {
      if (deposit === undefined) return TICKET_ERRORS.transferRefused;
      const { token, depositor, amount, validBefore } = deposit;
      if ((await tokens.isAuthorizationUsed(token, depositor, statement)) === true)
        return TICKET_ERRORS.authorizationUsed;
      if (validBefore <= BigInt(tipTime)) return TICKET_ERRORS.authorizationExpired;
      if ((await tokens.balanceOf(token, depositor)) < amount) return TICKET_ERRORS.insufficientFunds;
      return TICKET_ERRORS.transferRefused;
    }
  }
}

function judge(reason: PoolReason): Verdict {
  switch (reason.name) {
    case "NullifierSpent":
      return hold(TICKET_ERRORS.nullifierSpent);
    case "RootUnknown":
      return hold(TICKET_ERRORS.rootUnknown);
    case "DeadlinePassed":
      return hold(TICKET_ERRORS.deadlinePassed);
    case "TransferRefused":
    case "TransferMismatch":
      return { kind: "ask-token" };
    case "AssetUnsupported":
      return hold(TICKET_ERRORS.assetUnsupported);
    case "FloorMissed":
      return hold(TICKET_ERRORS.slippageExceeded);
    // The venue's own reason is the pool's to log; it may hold anything.
    case "SwapFailed":
    case "ExecutorAbsent":
      return hold(TICKET_ERRORS.routeUnavailable);
    case "GasExhausted":
      return { kind: "too-dear" };
    // A deposit of this statement is in: the index will say so, and until then the token's state does.
    case "StatementRepeated":
      return hold(TICKET_ERRORS.authorizationUsed);
    case "SignerUnknown":
    case "TooFewAttestations":
    case "SignersNotAscending":
    case "SignatureInvalid":
    case "AttestationLength":
      return { kind: "attest-again" };
    default:
      return hold({ ...TICKET_ERRORS.rejected, detail: `the pool refused the statement: ${reason.name}` });
  }
}

function hold(error: TicketError): Verdict {
  return { kind: "hold", error };
}
