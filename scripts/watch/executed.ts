/** What the pool says of a statement, against the statement itself. */
import { addressFromField } from "../../shared/protocol/brands.ts";
import { concatBytes, equalBytes } from "../../shared/protocol/bytes.ts";
import type { Executed, Moved } from "../../shared/protocol/host/executed-log.ts";
import type { Ext, Statement } from "../../shared/protocol/statements.ts";
import type { Ciphertexts } from "../../shared/protocol/host/statements.ts";
import type { Queued } from "./ledger.ts";

/**
 * Whether the event tells this statement: its notes, what carries them, and what moved.
 * @param comesAgain it moved before
 */
export function tells(executed: Executed, { kind, facts, ext }: Statement, comesAgain: boolean): boolean {
  const asset = addressFromField(facts.asset);
  const moved: Moved | undefined =
    facts.amount === 0n || asset === undefined || comesAgain
      ? undefined
      : { asset, amount: facts.amount, party: partyOf(ext) };
  return (
    executed.kind === kind &&
    String(executed.nullifiers) === String(facts.nullifiers) &&
    String(executed.commitments) === String(facts.commitments) &&
    equalBytes(sealed(executed), sealed(ext)) &&
    executed.moved?.asset === moved?.asset &&
    executed.moved?.amount === moved?.amount &&
    executed.moved?.party === moved?.party
  );
}

/** For people. */
export function amountOf({ kind, moved }: Executed, comesAgain = false): string {
  if (moved === undefined) return `${kind}, ${comesAgain ? "of what moved before" : "a private transfer"}`;
  const { asset, amount, party } = moved;
  return `${kind}, ${amount} of ${asset}${party === undefined ? "" : `, party ${party}`}`;
}

/** For people: what a statement brought in or, negative, took out. */
export function flowText({ flows }: Queued): string {
  return flows.length === 0
    ? "nothing moved"
    : flows.map(({ amount, asset }) => `${amount} of ${asset}`).join(", ");
}

function partyOf(ext: Ext): Moved["party"] {
  switch (ext.kind) {
    case "deposit-shield":
      return ext.depositor;
    case "spend":
    case "spend9":
      return ext.recipient;
    case "private-swap":
      return undefined;
  }
}

function sealed({ ephemeralKey, ciphertexts }: Ciphertexts): Uint8Array {
  return concatBytes(ephemeralKey, ...ciphertexts);
}
