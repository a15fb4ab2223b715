/** What is said of a request, and the book that it is asked from; of what the chains say it is made in progress.ts. */
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { SignedOutcome } from "../base/store/relay.ts";
import type { BridgeReason, BridgeState } from "../../shared/api/bridge-status.ts";

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

/** By the chain of the place, or the id of the message, in which the money is; shown as it is, so no upstream text. */
export type Waits = Readonly<Record<string, Wait>>;

/** What is said of a request beside its facts: it stands on no chain. */
export interface Remark {
  /** Why the next step is not done now. */
  readonly waits?: Waits;
  /** A burn that waits for the deposit key's signature. */
  readonly sign?: Progress["sign"];
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
  /** Of the newest facts; of a request that nobody watches, as of an address that nobody has looked at. */
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
