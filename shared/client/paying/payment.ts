/** What a caller may ask of a payment of any kind, and what comes back. */
import type { Ticket } from "../../api/transactions.ts";
import type { Bytes32 } from "../../protocol/brands.ts";
import type { WaitOptions } from "../service/feed.ts";

export type Step =
  | "sync"
  | "prepare"
  | "sign"
  | "prove"
  | "download"
  | "load"
  | "submit"
  | "approve"
  | "send"
  | "confirm"
  | "deliver";

/**
 * What a call is at. Each step begins and, unless the call fails in it, ends. `download` and `load`, of proving files
 * that are not there yet, lie inside of `prove`.
 */
export interface StepEvent {
  readonly step: Step;
  readonly state: "begin" | "working" | "end";
  /** With `working`: the part of the step that is done, from 0 to 1. Of `download`, `load` and `prove`, and of `sync` where a long history is read. */
  readonly fraction?: number;
  /** With `end`: how long it took. */
  readonly ms?: number;
}

export type Progress = (event: StepEvent) => void;

/** Of everything that makes a statement. */
export interface StatementOptions extends WaitOptions {
  /** After this many seconds it can no longer happen. Default 900, for a swap 300; at most 86,400. */
  readonly deadlineSecs?: number;
  readonly progress?: Progress;
}

/** Of what the service carries to the chain. */
export interface CarriedOptions extends StatementOptions {
  /** `queued` returns as soon as the service has taken it. Default `confirmed`: on chain and seen by this wallet. */
  readonly until?: "queued" | "confirmed" | "finalized";
}

/** Of what spends notes. */
export interface SpendOptions extends CarriedOptions {
  /**
   * Where the amount lies in more notes than one payment can spend: merge them first, as often as it takes. Each
   * merge is a transfer to oneself with its own fee and its own wait. Default false: NEEDS_CONSOLIDATION.
   */
  readonly consolidate?: boolean;
}

export interface PaymentOptions extends SpendOptions {
  /** The token, one of the pinned. Default: the first of them. */
  readonly asset?: string;
  /**
   * What it is for, in the payer's own words: one line of at most 140 bytes of UTF-8. Kept in this wallet's activity, and
   * sent to nobody.
   */
  readonly memo?: string;
}

export interface Payment {
  readonly ticket: Ticket;
  readonly statement: Bytes32;
  /** All fees of this payment together, those of merges before it included. */
  readonly fees: bigint;
}
