/** Statements in the words of the HTTP interface. */
import { proof, type DepositBody, type SpendBody } from "../api/transactions.ts";
import { toHex } from "../protocol/bytes.ts";
import type { SnarkjsProof } from "../protocol/proof.ts";
import { ClientError } from "./errors.ts";
import type { Prepared } from "./statements.ts";

export type WireProof = SpendBody["proof"];

/** snarkjs types its points as lists of any length; the schema makes sure of the real one. */
export function wireProof(made: SnarkjsProof): WireProof {
  const parsed = proof.safeParse(made);
  if (!parsed.success) throw new ClientError("PROOF_FAILED", "the prover gave no Groth16 proof");
  return parsed.data;
}

export function depositBody(
  { statement, openings }: Prepared,
  proof: WireProof,
  authorization: string,
): DepositBody {
  const { ext, signals, deadline } = statement;
  if (ext.kind !== "deposit-shield") throw new TypeError("not a deposit");
  return {
    proof,
    public_signals: signals.map(String),
    deadline: Number(deadline),
    ext: {
      depositor: ext.depositor,
      valid_after: Number(ext.validAfter),
      valid_before: Number(ext.validBefore),
      ciphertexts: ext.ciphertexts.map(toHex),
    },
    authorization,
    fees: [...openings],
  };
}

export function spendBody({ statement, openings }: Prepared, proof: WireProof): SpendBody {
  const { ext, signals, deadline } = statement;
  if (ext.kind !== "spend") throw new TypeError("not a spend");
  return {
    proof,
    public_signals: signals.map(String),
    deadline: Number(deadline),
    ext: { recipient: ext.recipient, ciphertexts: ext.ciphertexts.map(toHex) },
    fees: [...openings],
  };
}
