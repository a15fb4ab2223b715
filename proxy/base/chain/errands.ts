/**
 * Calls that carry no tickets and go to other contracts than the pool, in the sequencer's own line of nonces. Whoever
 * gives them reads from the chain what became of them, and gives one again that is still needed: nothing of an errand is
 * remembered here beyond its bytes.
 */
import type { Address } from "../../../shared/protocol/brands.ts";

export interface Errand {
  readonly to: Address;
  readonly data: string;
  readonly gasLimit: bigint;
  /** For the log. */
  readonly label: string;
}

/** By its number, which is all that an errand's source asks of it. */
export interface ErrandTip {
  readonly number: number;
}

/** Where errands come from. */
export interface Errands {
  /**
   * The next one, given the newest block, which has all that was sent before. Asked in every turn, so it answers from what
   * it knows. What it answered may have to wait for payments, and is asked for anew then.
   */
  next(tip: ErrandTip): Promise<Errand | undefined>;
  /** It has a nonce now. */
  sent(errand: Errand): void;
  /** It would fail on this block, and is not sent. */
  refused(errand: Errand, tip: ErrandTip): void;
}
