// How a suspended statement is made again on another root.
import { concatBytes, mustFromHex, word } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import type { Draft, Sealed } from "./drafts.ts";

/** With what it shows of the first. @param received of a swap */
export function draftAgain({ draft, transaction }: Sealed, root: bigint, received?: bigint): Draft {
  const proofHash = mustFromHex(keccakHex(mustFromHex(transaction.proof)));
  const measured = received === undefined ? [] : [word(received)];
  const authorization = concatBytes(word(draft.deadline), word(draft.root), proofHash, ...measured);
  return { ...draft, root, authorization };
}
