/**
 * What happened in a wallet, newest first: what it did itself, from its own record, and what the chain's notes tell. Pure,
 * and without a network: it is as of the last `sync`.
 */
import type { Address, Bytes32 } from "../protocol/brands.ts";
import type { RecordKind } from "./payment-record.ts";

export type ActivityKind = RecordKind | "received" | "bridge-in" | "sent";

/**
 * - `pending`: it may still happen (or, of income, no root covers it yet).
 * - `done`: on chain.
 * - `failed`: it did not happen and cannot any more, or the service refused it; see `until` for how sure that is.
 * - `void`: it was on chain, and was refuted.
 */
export type ActivityState = "pending" | "done" | "failed" | "void";

export interface ActivityItem {
  /** The same for the same item for as long as the wallet's record exists: a key for lists. */
  readonly id: string;
  /** `sent` is a payment that this wallet made and has no record of, after a restore: a transfer or a withdrawal, nobody knows to whom. */
  readonly kind: ActivityKind;
  readonly state: ActivityState;
  readonly asset: Address;
  /** Smallest units: what came, or what the other side gets. Of `sent` fees are in it. Of a deposit what was paid in, fees included. */
  readonly amount: bigint;
  /** What it did to the balance of `asset`: negative for what left. */
  readonly change: bigint;
  /** Undefined where nobody knows: of what has no record. */
  readonly fees: bigint | undefined;
  /** Of a swap: what was bought, as the pool measured it; undefined until then. */
  readonly bought?: { readonly asset: Address; readonly amount: bigint | undefined };
  /** Shielded or public address of the other side, where this wallet knows it. */
  readonly counterparty: string | undefined;
  /** Its name in the address book. */
  readonly label: string | undefined;
  readonly memo: string | undefined;
  /** Unix seconds: of what this wallet made, when it did, by its own clock. Of the rest see `withBlockTimes`. */
  readonly time: number | undefined;
  readonly block: number | undefined;
  /** Empty until it is known. */
  readonly txHash: string;
  /** Of the note that it brought: to the recipient of a payment, else to this wallet. */
  readonly leaf: number | undefined;
  readonly statement: Bytes32 | undefined;
  /** Unix seconds until which a `pending` or refused one may still happen. */
  readonly until: number | undefined;
}
