/** Statements in the words of the HTTP interface. */
import type { AttestDepositBody, DepositBody, SpendBody, SwapBody } from "../../api/transactions.ts";
import { proof } from "../../api/statement-parts.ts";
import { encodeUniswapPath } from "../../api/uniswap-path.ts";
import { addressFromField, type Address } from "../../protocol/brands.ts";
import { toHex, word } from "../../protocol/bytes.ts";
import type { Ciphertexts } from "../../protocol/host/statements.ts";
import type { SnarkjsProof } from "../../protocol/host/proofs.ts";
import { ClientError } from "../base/errors.ts";
import type { Prepared } from "./statements.ts";

export type WireProof = SpendBody["proof"];

/** snarkjs types its points as lists of any length; the schema makes sure of the real one. */
export function wireProof(made: SnarkjsProof): WireProof {
  const parsed = proof.safeParse(made);
  if (!parsed.success) throw new ClientError("PROOF_FAILED", "the prover gave no Groth16 proof");
  return parsed.data;
}

export function depositBody(prepared: Prepared, proof: WireProof, authorization: string): DepositBody {
  return { ...plainDepositBody(prepared, proof), authorization };
}

/** Of a deposit whose transaction the depositor sends itself. */
export function plainDepositBody(
  prepared: Prepared,
  proof: WireProof,
): Omit<AttestDepositBody, "authorization"> {
  const { ext } = prepared.statement;
  if (ext.kind !== "deposit-shield") throw new TypeError("not a deposit");
  return {
    ...common(prepared, proof),
    ext: {
      depositor: ext.depositor,
      valid_after: Number(ext.validAfter),
      valid_before: Number(ext.validBefore),
      ...wireCiphertexts(ext),
    },
  };
}

/** Of `spend` and `spend9`. */
export function spendBody(prepared: Prepared, proof: WireProof): SpendBody {
  const { ext } = prepared.statement;
  if (ext.kind !== "spend" && ext.kind !== "spend9") throw new TypeError("not a spend");
  return {
    ...common(prepared, proof),
    ext: { recipient: ext.recipient, ...wireCiphertexts(ext) },
  };
}

export function swapBody(prepared: Prepared, proof: WireProof): SwapBody {
  const { ext, facts } = prepared.statement;
  if (ext.kind !== "private-swap") throw new TypeError("not a swap");
  const { tokenOut, path } = ext;
  // A checked statement's asset is an address.
  const tokenIn = addressFromField(facts.asset) as Address;
  return {
    ...common(prepared, proof),
    ext: {
      token_out: tokenOut,
      min_amount_out: String(ext.minAmountOut),
      path: encodeUniswapPath({ tokenIn, path, tokenOut }),
      npk_out: toHex(word(ext.npkOut)),
      ...wireCiphertexts(ext),
    },
  };
}

function wireCiphertexts({ ephemeralKey, ciphertexts }: Ciphertexts) {
  return { ephemeral_key: toHex(ephemeralKey), ciphertexts: ciphertexts.map(toHex) };
}

function common({ statement, openings }: Prepared, proof: WireProof): Omit<SpendBody, "ext"> {
  return {
    proof,
    public_signals: statement.signals.map(String),
    deadline: Number(statement.deadline),
    fees: [...openings],
  };
}
