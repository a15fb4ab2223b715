/**
 * A statement that was suspended, since the root that it was proved on is revoked, and is proved again on a good one. What the
 * pool is shown of the earlier statement stands in the index: the proof that it was given, and what a swap brought.
 */
import { concatBytes, mustFromHex, uintToBytes, word } from "../../../shared/protocol/bytes.ts";
import type { Field } from "../../../shared/protocol/brands.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { ChainDataStore } from "../../base/store/chain-data.ts";
import { invalid, type Transaction } from "./transaction.ts";

type Index = Pick<ChainDataStore, "root" | "execution" | "madeAt" | "announced" | "spender" | "hasComeAgain">;

/**
 * The transaction with what the pool asks for in the place of an authorization; any other as it is. Throws INVALID_REQUEST where no
 * such statement is suspended, NULLIFIER_SPENT where it has come again.
 */
export function withEarlier(data: Index, transaction: Transaction): Transaction {
  const { statement, earlier } = transaction;
  if (earlier === undefined) return transaction;
  const first = data.execution(earlier.statement)?.leafIndexes[0];
  const made = first === undefined ? undefined : data.madeAt(first);
  if (first === undefined || made === undefined)
    throw invalid("earlier", "names no statement that was executed and not refuted");
  if (data.root(earlier.root) !== undefined)
    throw invalid("earlier", "names a statement that stands: its root is good");
  const isItsOwn = (nullifier: Field): boolean => data.spender(nullifier)?.statement === earlier.statement;
  if (!statement.facts.nullifiers.every(isItsOwn) || data.hasComeAgain(earlier.statement))
    throw new ApiError("NULLIFIER_SPENT", "another statement has the notes, or this one has come again");
  const shown = [uintToBytes(earlier.deadline, 32), word(earlier.root), mustFromHex(made.proofHash)];
  if (statement.kind === "private-swap") {
    const bought = data.announced(first + KINDS[statement.kind].leaves - 1)?.opening;
    if (bought === undefined) throw new RangeError("the index holds a swap without its note");
    shown.push(uintToBytes(bought.value, 32));
  }
  return { ...transaction, authorization: concatBytes(...shown) };
}
