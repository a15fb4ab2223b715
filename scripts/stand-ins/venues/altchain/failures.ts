/** The runtime's errors in the form in which the chain's nodes report them: a name, or `{InstructionError: [n, …]}`. */
import type { FailedTransactionMetadata } from "litesvm";

export type TransactionFailure =
  | string
  | { readonly InstructionError: readonly [number, string | { readonly Custom: number }] }
  | { readonly InsufficientFundsForRent: { readonly account_index: number } };

const INSTRUCTION = /InstructionError\((\d+), (?:Custom\((\d+)\)|([A-Za-z]+))/;
const RENT = /InsufficientFundsForRent \{ account_index: (\d+)/;

/** litesvm gives numbers without names; only its text has the names of the chain's own error types. */
export function failureOf(failed: FailedTransactionMetadata): TransactionFailure {
  const text = /err: ([^]*?), meta: /.exec(failed.toString())?.[1] ?? "";
  const [, at, custom, name] = INSTRUCTION.exec(text) ?? [];
  if (at !== undefined)
    return {
      InstructionError: [
        Number(at),
        custom === undefined ? (name ?? "GenericError") : { Custom: Number(custom) },
      ],
    };
  const account = RENT.exec(text)?.[1];
  if (account !== undefined) return { InsufficientFundsForRent: { account_index: Number(account) } };
  return /^[A-Za-z]+/.exec(text)?.[0] ?? "SanitizeFailure";
}
