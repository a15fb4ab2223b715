/**
 * What somebody signed that is false, whole enough to be shown to the pool later: the words of the signature, and
 * of a root update the tree as it was when the update was taken, which a rollback would take away. Data only, for a
 * journal; numbers are decimal text.
 */
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";

export interface FalseStatement {
  readonly type: "statement";
  /** What was signed (EIP-712), the name of this piece of evidence. */
  readonly digest: Bytes32;
  readonly signers: readonly Address[];
  readonly statement: Bytes32;
  readonly kindId: number;
  readonly deadline: string;
  readonly signals: readonly string[];
  readonly extHash: Bytes32;
  /** The 128 compressed bytes. */
  readonly proof: string;
  readonly attestations: string;
  /** Undefined when the pool did not execute it. */
  readonly firstLeaf: number | undefined;
}

export interface FalseRoot {
  readonly type: "root";
  readonly digest: Bytes32;
  readonly signers: readonly Address[];
  readonly update: {
    readonly oldRoot: string;
    readonly newRoot: string;
    readonly fromIndex: string;
    readonly toIndex: string;
    readonly headBefore: Bytes32;
    readonly headAfter: Bytes32;
    readonly attestations: string;
  };
  /** Of the first `fromIndex` leaves, and those that the update names. */
  readonly frontier: readonly string[];
  readonly leaves: readonly string[];
}

export type Evidence = FalseStatement | FalseRoot;

/** Said of a signer by the pool's event `Refuted`. */
export function convictionOf(signer: Address, digest: Bytes32): string {
  return `${signer} ${digest}`;
}
