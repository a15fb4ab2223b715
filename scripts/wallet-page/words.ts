/**
 * What an error means for the person at the screen, by its code: whose affair it is first. A service that is hostile or
 * away is named as such; nobody is blamed for what another party did.
 */
import {
  AbortError,
  ApiProblem,
  ClientError,
  TicketFailed,
  type ClientErrorCode,
} from "../../shared/client/index.ts";

/** Who has to look at it. */
export type Side = "you" | "service" | "chain" | "device" | "application" | "connection";

export const SIDES: Readonly<Record<Side, string>> = {
  you: "Please check",
  service: "The service",
  chain: "The chain",
  device: "This device",
  application: "This application",
  connection: "The connection",
};

export interface Words {
  readonly side: Side;
  readonly text: string;
}

type Row = readonly [Side, string];
const NOTHING = "Nothing was sent.";
const LATER = "Try again in a moment.";
const DISTRUST =
  "It contradicts what this application was built to believe, so nothing is sent to it. Do not use it until its operator has explained that.";

const FOUND_HERE: Readonly<Record<ClientErrorCode, Row>> = {
  OPTIONS_INVALID: ["application", "It has a fault: it used its library wrongly."],
  NETWORK: ["connection", `There is no answer from the service. ${LATER}`],
  UNEXPECTED_ANSWER: ["service", `Its answer does not have the form that it documents. ${LATER}`],
  SESSION_PROVIDER_FAILED: ["application", `Its own server gave no session. ${LATER}`],
  PIN_MISMATCH: ["service", `It speaks for another pool, chain or fee account. ${DISTRUST}`],
  BRIDGE_ADDRESS_MISMATCH: [
    "service",
    "It named an address that is not yours by this wallet's own reckoning. The address is not shown; send nothing to one that somebody tells you.",
  ],
  BRIDGE_UNKNOWN: ["you", "This wallet has made no such address."],
  BRIDGE_UNPROVEN: [
    "service",
    "It says that the money has arrived, and this wallet does not find it on the chain. Do not count on it.",
  ],
  BRIDGE_FAILED: ["service", "The transfer ended in another way than hoped for; see its state."],
  BURN_REFUSED: [
    "service",
    "It asked for a signature on something else than your transfer. Nothing was signed.",
  ],
  ENCLAVE_UNVERIFIED: [
    "service",
    `It did not prove that it runs the program whose fingerprint this application knows. ${NOTHING}`,
  ],
  FEE_ABOVE_CEILING: ["service", `It asks a higher fee than this application allows. ${NOTHING}`],
  CLOCK_WRONG: ["device", "Its clock is wrong. Set it, then try again."],
  ARTEFACT_MISMATCH: ["application", "A proving file is not the expected one. Reload the page."],
  PROOF_FAILED: ["device", `No proof could be made. ${NOTHING}`],
  WORKER_FORBIDDEN: ["application", "Its server forbids the worker that proves."],
  WASM_FORBIDDEN: ["application", "Its server forbids the program that proves."],
  WORKER_UNAVAILABLE: ["device", `The prover did not start, or ended. ${NOTHING} Reload the page.`],
  KEY_INVALID: ["you", "These are not 12 to 24 words of the list in an order that fits. Is one mistyped?"],
  ADDRESS_INVALID: ["you", "This is no address that can be used here."],
  REQUEST_INVALID: ["you", "This is no payment request that this wallet understands. Is the link whole?"],
  REQUEST_ELSEWHERE: [
    "you",
    "This request is for another network or token. Switch the network above, or ask for a new one.",
  ],
  REQUEST_AMOUNT: ["you", "The amount of this request is none that can be paid."],
  REQUEST_EXPIRED: ["you", "This request has expired. Ask for a new one."],
  CONTACT_INVALID: ["you", "This name cannot be taken: it is too long, or another address has it."],
  DISCLOSURE_IMPOSSIBLE: ["you", "This wallet cannot show that payment, since it does not know all of it."],
  DISCLOSURE_INVALID: [
    "you",
    "This is no disclosure, or one that was changed, or made by somebody who neither paid nor received it. Believe nothing of it.",
  ],
  DISCLOSURE_ELSEWHERE: ["you", "This disclosure is of another network. Choose that network."],
  DISCLOSURE_NOT_FOR_YOU: [
    "you",
    "This disclosure was made for a reader of another name, and proves nothing to you.",
  ],
  DISCLOSURE_EXPIRED: ["you", "This disclosure has expired. Ask for a new one."],
  DISCLOSURE_UNFOUNDED: ["chain", "The pool has no such payment. Believe nothing of this disclosure."],
  AMOUNT_INVALID: ["you", "This amount cannot be moved: it is too small, or the fees take all of it."],
  INSUFFICIENT_FUNDS: ["you", `Your balance is not enough for the amount and its fee. ${NOTHING}`],
  NEEDS_CONSOLIDATION: ["you", `Your money lies in too many small notes. Merge them first. ${NOTHING}`],
  FEATURE_OFF: ["service", "It does not offer that."],
  PATH_INVALID: ["service", `It offered a route between other tokens. ${NOTHING}`],
  QUOTE_REFUSED: ["service", `Its offer contradicts what was asked for, or itself. ${NOTHING}`],
  PRICE_TOO_LOW: ["service", `Its price is below the least that you take. ${NOTHING}`],
  NOTE_UNKNOWN: ["you", "This wallet has no such note."],
  HISTORY_INCONSISTENT: ["service", `What it tells of the chain contradicts itself. ${DISTRUST}`],
  STREAM_INCONSISTENT: ["service", `What it tells of the chain contradicts itself. ${DISTRUST}`],
  TREE_INCONSISTENT: ["service", `What it tells of the pool contradicts itself. ${DISTRUST}`],
  ROOT_UNVERIFIED: ["service", "Only the service says so; the chain does not confirm it."],
  NODE_UNREACHABLE: ["connection", `There is no answer from the chain's node. ${LATER}`],
  CHAIN_DOUBTED: ["chain", "What its node says does not fit together, and is not believed."],
  NOTES_YOUNG: ["chain", `The money is there, and cannot be proved yet. ${NOTHING}`],
  ADVANCE_EARLY: ["chain", `The pool does not allow that yet. ${NOTHING}`],
  NOT_EXECUTED: ["chain", "The pool did not execute it. Your money has not moved."],
  STORAGE_CORRUPT: ["device", "What this browser kept cannot be read. Restore the wallet from its phrase."],
  HISTORY_DAMAGED: [
    "device",
    "This browser's copy of the pool's history is damaged. Nothing is lost: it can be read again. What you paid, your contacts and your bridge addresses are whole.",
  ],
  STORAGE_FOREIGN: ["device", "What this browser kept belongs to another wallet."],
  STORAGE_FAILED: ["device", "This browser could not read or write its storage. Is the disk full?"],
  NOTES_TAKEN: ["you", `Another tab of yours was paying at the same time. ${NOTHING} ${LATER}`],
  PAYMENT_UNRESOLVED: [
    "service",
    "It refused an earlier payment that could still be executed. Wait until its deadline, 15 minutes at most.",
  ],
  EXECUTED_AFTER_REFUSAL: [
    "service",
    "A payment that it had refused was executed after all. Nothing was sent now: look at your activity before you pay again.",
  ],
  DEPOSIT_NOT_EXECUTED: ["chain", "The pool did not execute the deposit. Your money has not moved."],
  OUTCOME_UNKNOWN: [
    "connection",
    "There was no answer to the payment. It may still happen until its deadline: do not pay again; look at your activity.",
  ],
  TICKET_FAILED: ["chain", "The payment ended without being executed. Your money has not moved."],
  SIGNER_FAILED: ["you", `The signature was not given. ${NOTHING}`],
  WALLET_CLOSED: ["application", "The wallet was closed in the meantime."],
  TIMED_OUT: ["connection", "It took longer than allowed."],
};

const SAID_BY_SERVICE: Readonly<Partial<Record<ApiProblem["code"], Row>>> = {
  SESSION_EXPIRED: ["application", `Your session has ended, and no new one was to be had. ${LATER}`],
  FORBIDDEN: ["application", "Its account with the service does not allow this."],
  INVALID_CREDENTIAL: ["application", "Its session is not taken by the service."],
  MISSING_CREDENTIAL: ["application", "Its session is not taken by the service."],
  SWAPS_DISABLED: ["service", "It does not offer swaps."],
  FEATURE_DISABLED: ["service", "It does not offer that."],
  NULLIFIER_SPENT: ["you", "This money was spent already, perhaps on another device of yours."],
  NULLIFIER_PENDING: ["you", "Another payment with the same money is under way, perhaps on another device."],
  ROOT_UNKNOWN: ["chain", `The chain went back a little in the meantime. ${LATER}`],
  PROOF_INVALID: ["service", "It says that the proof is wrong. If a reload does not help, do not trust it."],
  FEE_TOO_LOW: ["service", `Its fee has changed in the meantime. ${LATER}`],
  AUTHORIZATION_INVALID: ["you", "The account did not sign this deposit. Is another account chosen?"],
  AMOUNT_TOO_SMALL: ["you", "The amount is below the service's minimum."],
  ASSET_UNSUPPORTED: ["service", "It does not carry this token."],
  ROUTE_UNAVAILABLE: ["service", `It found no route for this swap. ${LATER}`],
  ACCOUNT_UNKNOWN: ["you", "The exchange knows no such account."],
  BRIDGES_FULL: ["service", "Too many addresses are open. Wait until one has ended."],
  RATE_LIMITED: ["service", `It takes no more requests of this application for the moment. ${LATER}`],
  ENCLAVE_UNAVAILABLE: ["service", `Its verifying program is away or busy. ${LATER}`],
  CHAIN_UNAVAILABLE: ["service", `It does not reach the chain. ${LATER}`],
  VENUE_UNAVAILABLE: ["service", `The other side of this bridge is away or paused. ${LATER}`],
  QUEUE_FULL: ["service", `Too many payments are waiting there. ${LATER}`],
};

const TICKETS: Readonly<Record<string, string>> = {
  AUTHORIZATION_USED: "This deposit was executed before.",
  AUTHORIZATION_EXPIRED: "The deposit was not executed before its signature expired.",
  INSUFFICIENT_FUNDS: "The account does not hold the amount any more.",
  DEADLINE_PASSED: "It was not executed before its deadline.",
  SLIPPAGE_EXCEEDED: "The price fell below your floor, so nothing was swapped.",
  TRANSFER_REFUSED: "The token refused the transfer.",
};

export function wordsOf(error: unknown): Words {
  if (error instanceof AbortError)
    return error.sent
      ? words(["you", "You stopped waiting. It was sent already and may still happen: see your activity."])
      : words(["you", `Cancelled. ${NOTHING}`]);
  if (error instanceof TicketFailed) {
    const text = TICKETS[error.ticket.error?.code ?? ""];
    return words(
      text === undefined ? FOUND_HERE.TICKET_FAILED : ["chain", `${text} Your money has not moved.`],
    );
  }
  if (error instanceof ClientError) return words(FOUND_HERE[error.code]);
  if (error instanceof ApiProblem)
    return words(SAID_BY_SERVICE[error.code] ?? ["service", `It refused: ${error.message}`]);
  if (error instanceof Refused) return words([error.side, error.message]);
  if (!navigator.onLine || error instanceof TypeError || isTimeout(error))
    return words(["connection", "This device is offline, or the other side does not answer."]);
  return words(["application", "Something went wrong that it has no words for."]);
}

/** What this application finds out by itself, with its words. */
export class Refused extends Error {
  readonly side: Side;
  constructor(side: Side, text: string) {
    super(text);
    this.side = side;
  }
}

const isTimeout = (error: unknown): boolean =>
  error instanceof DOMException && ["TimeoutError", "AbortError"].includes(error.name);

const words = ([side, text]: Row): Words => ({ side, text });
