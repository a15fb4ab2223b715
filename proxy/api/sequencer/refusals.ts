/** Why the pool would not execute a ticket, in the ticket's own terms. Nothing of a token's own text is repeated. */
import type { TicketErrorCode } from "../../../shared/api/errors.ts";
import type { PoolReason } from "../../base/chain/pool.ts";
import type { Tokens } from "../../base/chain/token.ts";
import type { TicketError } from "../../base/store/tickets.ts";
import type { OpenTicket } from "./queue.ts";

const again = (code: TicketErrorCode, detail: string): TicketError => ({ code, detail, retryable: true });
const never = (code: TicketErrorCode, detail: string): TicketError => ({ code, detail, retryable: false });

export const TICKET_ERRORS = {
  nullifierSpent: never("NULLIFIER_SPENT", "another statement spent a note of this one"),
  rootUnknown: again("ROOT_UNKNOWN", "the pool does not know the root this was proved against; prove again"),
  authorizationUsed: again("AUTHORIZATION_USED", "the depositor's authorization is used or cancelled"),
  authorizationExpired: again(
    "AUTHORIZATION_EXPIRED",
    "the depositor's authorization is past its valid_before",
  ),
  insufficientFunds: again("INSUFFICIENT_FUNDS", "the depositor does not hold the amount"),
  deadlinePassed: again("DEADLINE_PASSED", "the deadline of the statement has passed"),
  transferRefused: again("TRANSFER_REFUSED", "the token refused the transfer"),
  assetUnsupported: again("ASSET_UNSUPPORTED", "the pool does not take an asset of this statement now"),
  slippageExceeded: again(
    "SLIPPAGE_EXCEEDED",
    "the swap would bring less than its floor; it is tried again until its deadline",
  ),
  routeUnavailable: again(
    "ROUTE_UNAVAILABLE",
    "the venue does not execute the swap; it is tried again until its deadline",
  ),
  depositsStopped: never("ASSET_UNSUPPORTED", "the pool takes no deposits any more; no money has moved"),
  proofInvalid: never("REJECTED", "the proof does not verify; it was attested by a signer that is out"),
  rejected: never("REJECTED", "the pool refused the statement"),
};

/** To the minute, so that the same is not said anew with every block. */
function noRoom(fitsFrom: number): TicketError {
  const minute = new Date(Math.ceil(fitsFrom / 60) * 60_000).toISOString().replace(":00.000Z", "Z");
  const when =
    fitsFrom === 0
      ? "it is more than the pool lets out of this asset at once; less may go"
      : `the pool has room for it from ${minute} on at the earliest`;
  return again("TRANSFER_REFUSED", `${when}; it is tried again until its deadline, and no money has moved`);
}

type Verdict =
  | TicketError
  /** The attestation, not the statement, is what the pool refuses: have it made again. */
  | "attest-again"
  /** The token said no; the token's state tells why. */
  | "ask-token"
  /** Token or venue used up the gas that its kind allows. */
  | "too-dear"
  /** There is no room under the cap: a withdrawal waits for it, and for a swap there is no route. */
  | "no-room"
  /** The pool takes nothing attested now, whatever it is: nothing is wrong with the ticket. */
  | "shut";

/** The reason for which the pool refuses everything attested. */
export const PATH_SHUT = "AttestedPathShut";

/** By the name of the pool's error. */
const VERDICTS = new Map<string, Verdict>([
  ["NullifierSpent", TICKET_ERRORS.nullifierSpent],
  ["RootUnknown", TICKET_ERRORS.rootUnknown],
  ["DeadlinePassed", TICKET_ERRORS.deadlinePassed],
  ["TransferRefused", "ask-token"],
  ["TransferMismatch", "ask-token"],
  ["AssetUnsupported", TICKET_ERRORS.assetUnsupported],
  ["FloorMissed", TICKET_ERRORS.slippageExceeded],
  // The venue's own reason is the pool's to log; it may hold anything.
  ["SwapFailed", TICKET_ERRORS.routeUnavailable],
  ["CapReached", "no-room"],
  ["DepositsStopped", TICKET_ERRORS.depositsStopped],
  [PATH_SHUT, "shut"],
  ["ExecutorAbsent", TICKET_ERRORS.routeUnavailable],
  ["GasExhausted", "too-dear"],
  // A deposit of this statement is in: the index will say so, and until then the token's state does.
  ["StatementRepeated", TICKET_ERRORS.authorizationUsed],
  ["SignerUnknown", "attest-again"],
  ["TooFewAttestations", "attest-again"],
  ["SignersNotAscending", "attest-again"],
  ["OneKindOnly", "attest-again"],
  ["SignatureInvalid", "attest-again"],
  ["AttestationLength", "attest-again"],
]);

/** Undefined when the attestation is to blame, or the attested path is closed. `tipTime`: the newest block's, Unix seconds. */
export async function explainRefusal(
  tokens: Tokens,
  { kind, statement, deposit }: Pick<OpenTicket, "kind" | "statement" | "deposit">,
  { name, fitsFrom = 0 }: PoolReason,
  tipTime: number,
): Promise<TicketError | undefined> {
  const verdict = VERDICTS.get(name) ?? {
    ...TICKET_ERRORS.rejected,
    detail: `the pool refused the statement: ${name}`,
  };
  switch (verdict) {
    case "attest-again":
    case "shut":
      return undefined;
    case "no-room":
      return kind === "private-swap" ? TICKET_ERRORS.routeUnavailable : noRoom(fitsFrom);
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
    default:
      return verdict;
  }
}
