/**
 * One payment, shown to one reader: that it was made, to whom, how much, in what and when. See SPEC, section 12.
 */
import type { Address, Bytes32 } from "../../protocol/brands.ts";

/** Who shows it: the one who paid, or the one who was paid. Neither can speak for the other. */
export type Discloser = "payer" | "payee";

/** A disclosure is for an occasion; one that never ends would be no other than a receipt for everybody. */
export const MOST_VALID_SECS = 366 * 86_400;

export interface DiscloseOptions {
  /**
   * The leaf of the recipient's note (`ActivityItem.leaf`), or the statement's hash; of one's own payment without a record
   * the transaction's hash (`ActivityItem.txHash`).
   */
  readonly payment: number | string;
  /** Who is to read it, in words: the reader refuses one that is not for that very name. At most 128 bytes of UTF-8. */
  readonly reader: string;
  /** Unix seconds; afterwards no reader takes it. */
  readonly expiresAt: number;
  /**
   * Only of a payment of one's own that this wallet has no record of, after a restore from the phrase: to whom and how much.
   * The wallet finds by itself whether that is true.
   */
  readonly recipient?: { readonly address: string; readonly amount: bigint };
  readonly signal?: AbortSignal | undefined;
}

/** What a reader knows once `verifyDisclosure` has returned. */
export interface DisclosedPayment {
  readonly by: Discloser;
  /** Shielded address of who was paid. */
  readonly recipient: string;
  readonly asset: Address;
  /** Smallest units. */
  readonly amount: bigint;
  /** Of the pool's transaction. */
  readonly block: number;
  /** The block's own time, Unix seconds. */
  readonly time: number;
  readonly txHash: Bytes32;
  readonly statement: Bytes32;
  readonly leaf: number;
  readonly reader: string;
  readonly expiresAt: number;
}

export interface VerifyDisclosureOptions {
  /** The pool that the reader means; a wallet's `pins` have it. */
  readonly pins: { readonly chainId: number; readonly pool: string; readonly addressPrefix: string };
  /** The reader's own name, as it was asked for. */
  readonly reader: string;
  /** One chain node's address or several, which must then agree. They are the reader's own choice: their word is the chain. */
  readonly rpc: string | readonly string[];
  /** Default 12 blocks; see `ChainOptions`. */
  readonly finality?: number | "finalized";
  readonly fetch?: typeof fetch;
  readonly signal?: AbortSignal | undefined;
  /** Unix seconds; for tests. */
  readonly now?: () => number;
}
