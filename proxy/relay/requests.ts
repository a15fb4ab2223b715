/**
 * What the watching of the chains says of one request, and the book that it is asked from. Facts only: what stands in
 * blocks, what balances are now, which messages are under way. Words and states are made of them in progress.ts.
 */
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { SignedOutcome } from "../base/store/relay.ts";
import type { BridgeReason, BridgeState } from "../../shared/api/bridge-status.ts";

/** Where something stands on its chain; `index` orders what is in one block. */
export interface Position {
  readonly block: number;
  readonly index: number;
}

interface Seen {
  readonly position: Position;
  readonly hash: string;
  /** 1 for what is in the newest block, 0 for what is in none yet. */
  readonly confirmations: number;
  /** Of its block; Unix seconds. */
  readonly time: number;
}

/** The asset came to a place. */
export interface Entry extends Seen {
  readonly amount: bigint;
  /** Id of the message whose delivery this was; undefined for a plain transfer. */
  readonly message: string | undefined;
}

export type Leave =
  /** A source forwarder sent everything on its way, a deposit account what was signed for; `flush`: an out-forwarder did. */
  | "burn"
  | "flush"
  /** Into notes; `return` into the refund note. */
  | "sweep"
  | "return"
  | "refund";

/** A forwarder was emptied: everything that came before it went with it. A deposit account lost this amount. */
export interface Leaving extends Seen {
  readonly what: Leave;
  /** Of the note for `sweep` and `return`, fees not counted; otherwise all that left. */
  readonly amount: bigint;
  readonly leafIndex: number | undefined;
  /** Id of the message that it sent. */
  readonly message: string | undefined;
}

/** One address of the request, on one chain. */
export interface Place {
  /** By its name in the settings; the pool's own is `home`. */
  readonly chain: string;
  /** `deposit`: the account on the other blockchain, which only the user's key opens. */
  readonly role: "home" | "source" | "deposit";
  /** What is less than this is not moved on. */
  readonly minimum: bigint;
  readonly balance: bigint;
  /** The refund clock as the contract has it; undefined when nobody has started it, or there is none. */
  readonly clock: { readonly at: number; readonly hasMinimum: boolean } | undefined;
  /** How many confirmations are asked for. */
  readonly confirmations: number;
  /** Of this chain, about. */
  readonly blockSecs: number;
  readonly entries: readonly Entry[];
  readonly leavings: readonly Leaving[];
}

/** Money between two chains: burned or locked on one, not necessarily there on the other. */
export interface Message {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** Of the transaction that sent it; undefined while only the attester has told of it. */
  readonly sentBy: string | undefined;
  readonly sentAt: number | undefined;
  readonly state: "unattested" | "attested" | "expired" | "delivered";
  /** What was measured where it arrived. Its own amount is believed by nobody. */
  readonly arrival: { readonly hash: string; readonly amount: bigint } | undefined;
  /** Where an account has to be credited after the arrival. Undefined where the arrival is the end. */
  readonly credit: "awaited" | { readonly hash: string; readonly amount: bigint } | undefined;
  /** It arrived, and what had to follow did not: what happens to the money, in words. */
  readonly failure: Trouble | undefined;
}

export interface Trouble {
  readonly code: BridgeReason;
  readonly detail: string;
}

/** Why money waits at a place or in a message, with what follows where that is not what usually does. */
export interface Wait extends Trouble {
  readonly next?: string;
  /** Unix seconds. */
  readonly by?: number;
}

export interface Facts {
  /** In the order in which money goes through them; the last is the one on the pool's chain. */
  readonly places: readonly Place[];
  readonly messages: readonly Message[];
  /**
   * Why the next step is not done now, by the chain of the place or the id of the message where the money is; shown as it
   * is, so no upstream text.
   */
  readonly waits: Readonly<Record<string, Wait>>;
  /** It will not be swept or sent on by us: the refund is what is left. */
  readonly isRefused: boolean;
  /** A burn that waits for the deposit key's signature. */
  readonly sign: Progress["sign"];
  /** Until all of this was looked at once, what is missing is not known to be missing. */
  readonly isComplete: boolean;
}

export interface ProgressTransaction {
  readonly chain: string;
  readonly hash: string;
  readonly what: "deposit" | "burn" | "delivery" | "sweep" | "flush" | "refund" | "return" | "credit";
}

export interface ProgressDeposit {
  readonly state: BridgeState;
  /** Undefined until it was measured on a chain. */
  readonly amount: bigint | undefined;
  readonly chain: string;
  /** Since when it is known of; Unix seconds. */
  readonly since: number | undefined;
  readonly transactions: readonly ProgressTransaction[];
  readonly leafIndex: number | undefined;
}

export interface Progress {
  readonly state: BridgeState;
  readonly deposits: readonly ProgressDeposit[];
  /** Sums of what came from outside, of what became notes or reached the venue, and of what went back. */
  readonly received: bigint;
  readonly credited: bigint;
  readonly refunded: bigint;
  /** `by`: Unix seconds. */
  readonly next: { readonly text: string; readonly by: number | undefined };
  readonly withoutHelp: string;
  /** Unix seconds; undefined while no clock runs. */
  readonly refundableAt: number | undefined;
  readonly sign: { readonly transaction: string; readonly expiresAfterSlot: number } | undefined;
  readonly reason: Trouble | undefined;
  /** The same where it is more than the usual wait. */
  readonly error: Trouble | undefined;
}

/** Made by the watching. Asking it is cheap: it is in memory, and follows the blocks of every chain. */
export interface Book {
  /** `progressFrom(record, facts)` of the newest facts; of a request that nobody watches, those of an empty place. */
  progressOf(record: BridgeRecord): Progress;
  /** Of a request whose progress may have changed. The result ends it. */
  onChange(listener: (bridgeId: string) => void): () => void;
  /** Whether all chains of this request have been looked at, and answer now: only then does nothing mean nothing. */
  isComplete(bridgeId: string): boolean;
  /**
   * By chain's name the newest block or slot that is final: what comes from now on stands in none below it, whatever is
   * reorganised until then. Chains that were never reached are left out.
   */
  heads(): Readonly<Record<string, number>>;
  /** The parts that do not answer now, by the names of the settings: chains, `attester`, `exchange`. */
  unreachable(): readonly string[];
}

/** What the worker takes from a request of ours. */
export interface BurnDesk {
  /**
   * Checks that this is the burn of this request, signed by its deposit key, and sends it with our signature as the
   * one who pays. `refused`: no such signature is awaited (any more). `away`: the chain did not take it.
   */
  submit(record: BridgeRecord, transaction: Uint8Array): Promise<SignedOutcome>;
}
