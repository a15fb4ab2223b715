// Where messages come from: one chain each, as it stands now. A source says what its chain holds above the last look's
// final position; what it no longer says has been undone there.
import type { CctpMessage } from "../../../../shared/protocol/host/cctp.ts";
import type { Depth } from "./completing.ts";

export interface Sighted {
  /** As that chain writes it. */
  readonly transaction: string;
  /** Among the messages of its transaction. */
  readonly ordinal: number;
  readonly message: CctpMessage;
  /**
   * What its transaction does not fix: as emitted, where the same transaction may do another thing in another block;
   * empty, where it says itself what it burns.
   */
  readonly content: Uint8Array;
  readonly isBurn: boolean;
  readonly depth: Depth;
}

export interface Look {
  /** Every message above the position asked for, in the chain's order. */
  readonly sighted: readonly Sighted[];
  /** From here on next time: everything below is final and was sighted. */
  readonly position: string;
  /** Newest block; slots count as blocks. */
  readonly block: number;
}

export interface Source {
  readonly domain: number;
  /** `position` is an earlier look's, undefined at the very beginning. Throws RpcError while the chain is away. */
  look(position: string | undefined): Promise<Look>;
}
