/** What is said of each reason why money waits: what it is, and what follows. Nobody else's text is in it. */
import type { BridgeReason } from "../../../shared/api/bridge-status.ts";
import type { Wait } from "../requests.ts";

export type Said = Exclude<
  BridgeReason,
  "AMOUNT_TOO_SMALL" | "MONEY_MISPLACED" | "CREDIT_REFUSED" | "NOT_WATCHED"
>;

const WORDS: Readonly<Record<Said, Omit<Wait, "code">>> = {
  SIGNATURE_AWAITED: {
    detail: "the money lies in the deposit account, and only the client's own key can send it on",
  },
  ATTESTATION_PENDING: { detail: "the attesters of the bridge have not signed its message yet" },
  SLOW_WAY: {
    detail:
      "the attesters' fast way cost more than the fee ceiling allows, or was not offered: it goes the slow way",
    next: "is attested once its block is final on the chain it comes from, which may take half an hour",
  },
  ATTESTATION_EXPIRED: {
    detail: "nobody delivered it before its fast attestation expired",
    next: "another attestation is asked for, and it is delivered with that",
  },
  ATTESTER_UNAVAILABLE: {
    detail: "the attesters of the bridge do not answer",
    next: "is delivered when they answer again; they are asked at least once a minute",
  },
  CHAIN_UNAVAILABLE: {
    detail: "our node of the chain that it needs does not answer, or we send nothing there",
    next: "goes on when that node answers again; nothing is lost meanwhile",
  },
  DELIVERY_BELOW_MINIMUM: {
    detail: "it would leave less than the minimum at the address, which is not worth its delivery",
    next: "is delivered with what makes it enough; anybody may deliver it before at his own cost",
  },
  FEE_ABOVE_CEILING: {
    detail: "every way costs more now than the fee ceiling of the address allows",
  },
  GAS_MISSING: {
    detail: "our wallet for gas on that chain is empty",
    next: "goes on when the operator has filled it; anybody may take the step himself",
  },
  STEP_REFUSED: {
    detail: "the contract did not take the step when it was last tried",
    next: "is tried again, after more and more blocks",
  },
  SCREENING_REFUSED: {
    detail: "screening refuses where it comes from: it is not moved on by us",
  },
  SCREENING_UNAVAILABLE: { detail: "the screening provider does not answer" },
  ACCOUNT_UNKNOWN: {
    detail:
      "the exchange has no such account, or its contract takes nothing for it: it would not be credited",
  },
  VENUE_PAUSED: { detail: "the exchange takes no money at the moment" },
  VENUE_UNAVAILABLE: { detail: "the exchange does not answer, so nothing is sent to it" },
};

export const wordsOf = (code: Said): Wait => ({ code, ...WORDS[code] });
