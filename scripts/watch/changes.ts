/**
 * Everything that can change in the ledger, as data: a block's record lists its changes in order, so the records of
 * all blocks are the ledger, and taking back a block means leaving its record out. Numbers are decimal text.
 */
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import type { OwnerEvent } from "../../proxy/base/chain/owner-events.ts";
import type { Evidence } from "./evidence.ts";
import type { Finding } from "./findings.ts";

/** Into the pool when positive. */
export interface Flow {
  readonly asset: Address;
  readonly amount: string;
}

export type Change =
  | {
      readonly type: "executed";
      readonly statement: Bytes32;
      readonly leaves: readonly string[];
      readonly marks: readonly string[];
      readonly time: number;
      /** Of the queue, after it. */
      readonly head: Bytes32;
      readonly rootNumber?: number | undefined;
      readonly confirms?: number | undefined;
    }
  /** A note that belongs to no statement, and the queue's head after it. */
  | { readonly type: "credited"; readonly leaf: string; readonly time: number; readonly head: Bytes32 }
  | ({ readonly type: "owe"; readonly firstLeaf?: number } & Flow)
  | { readonly type: "unseen"; readonly firstLeaf: number }
  | {
      readonly type: "root";
      readonly announced: string;
      readonly truth: string;
      readonly sequence: number;
      readonly leafCount: number;
      readonly since: number;
      readonly head: Bytes32;
      /** Inner nodes of the tree that these leaves completed. */
      readonly nodes: readonly string[];
    }
  | { readonly type: "void"; readonly firstLeaf: number; readonly count: number }
  | { readonly type: "suspend"; readonly firstLeaf: number; readonly count: number }
  | { readonly type: "returned"; readonly statement: Bytes32 }
  | { readonly type: "revoke"; readonly first: number; readonly last: number; readonly leafCount: number }
  | { readonly type: "owner"; readonly event: OwnerEvent; readonly kind?: number }
  | { readonly type: "expire"; readonly unixSecs: number }
  | { readonly type: "close"; readonly until: number }
  | { readonly type: "unsound" }
  | {
      readonly type: "claim";
      readonly asset: Address;
      readonly id: number;
      readonly statement: Bytes32;
      readonly left: string;
      readonly rootNumber: number;
      readonly isRemoved: boolean;
    }
  | { readonly type: "evidence"; readonly evidence: Evidence }
  | { readonly type: "convict"; readonly signer: Address; readonly digest: Bytes32 }
  | { readonly type: "finding"; readonly finding: Finding };

/** A block in which the pool said something. */
export interface BlockRecord {
  readonly number: number;
  readonly hash: Bytes32;
  readonly changes: readonly Change[];
}
