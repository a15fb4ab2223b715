// The refused statements as callers post them: the proxy refuses each before it asks the chain or an enclave.
import assert from "node:assert/strict";
import { solidityPacked } from "ethers";
import { readAttestBody } from "../../../proxy/api/payments/body.ts";
import { toTransaction } from "../../../proxy/api/payments/transaction.ts";
import { ApiError } from "../../../proxy/base/http/errors.ts";
import { addressFromField, ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import { decodeProof } from "../../../shared/protocol/proof.ts";
import { toSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { decodeExt, type Ext, type Kind, type SwapPath } from "../../../shared/protocol/statements.ts";
import { refused, type Refused } from "./refusals.ts";
import { HOME, REFUSALS, STATEMENTS } from "./story.ts";
import { writeSealed } from "../../support/sealed-notes.ts";

/** A body writes the terms of ext by name and has no place for bytes beyond them, or for fewer. */
const UNSAYABLE = ["a byte too many", "a byte short"];

describe("vectors: the story at the proxy", () => {
  for (const step of STATEMENTS) {
    it(`takes ${step.name}`, () => {
      const signals = step.signals.map(BigInt);
      const { statement } = admitted(step.kind, { of: step, signals, extBytes: step.extBytes });
      assert.equal(statement.hash, step.statementHash);
    });
  }

  const sayable = REFUSALS.filter(({ name }) => !UNSAYABLE.includes(name));
  it("is told every refused statement but those that no body says", () => {
    assert.equal(sayable.length, REFUSALS.length - UNSAYABLE.length);
  });

  for (const refusal of sayable) {
    it(`${refusal.code}: ${refusal.name}`, () => {
      const code = refusal.code === "CONTEXT_MISMATCH" ? "CONTEXT_MISMATCH" : "INVALID_REQUEST";
      const body = refused(refusal);
      assert.throws(
        () => admitted(body.of.kind, body),
        (error) => error instanceof ApiError && error.code === code,
      );
    });
  }
});

function admitted(kind: Kind, { of, signals, extBytes }: Refused): ReturnType<typeof toTransaction> {
  const proof = decodeProof(mustFromHex(of.proof));
  assert.ok(proof !== undefined);
  const ext = decodeExt(kind, mustFromHex(extBytes));
  assert.ok(ext !== undefined);
  const tokenIn = addressFromField(BigInt(of.signals[2] ?? 0));
  const body = readAttestBody(kind, {
    proof: toSnarkjsProof(proof),
    public_signals: signals.map(String),
    deadline: Number(of.deadline),
    fees: [],
    ext: { ...termsOf(ext, tokenIn), ...writeSealed(ext) },
  });
  return toTransaction(body, HOME);
}

function termsOf(ext: Ext, tokenIn: Address | undefined): Record<string, unknown> {
  switch (ext.kind) {
    case "deposit-shield":
      return {
        depositor: ext.depositor,
        valid_after: Number(ext.validAfter),
        valid_before: Number(ext.validBefore),
      };
    case "spend":
    case "spend9":
      return { recipient: ext.recipient };
    case "private-swap": {
      assert.ok(tokenIn !== undefined);
      const { tokenOut, minAmountOut, npkOut, path } = ext;
      return {
        token_out: tokenOut,
        min_amount_out: String(minAmountOut),
        npk_out: toHex(word(npkOut)),
        path: packed(tokenIn, path, tokenOut),
      };
    }
  }
}

/** As Uniswap packs it, also where ours would not: a second hop is there when either half of it is. */
function packed(tokenIn: Address, { feeFirst, middle, feeSecond }: SwapPath, tokenOut: Address): string {
  const isOneHop = middle === ZERO_ADDRESS && feeSecond === 0;
  const second = isOneHop ? [] : [middle, feeSecond];
  const types = isOneHop ? [] : ["address", "uint24"];
  return solidityPacked(["address", "uint24", ...types, "address"], [tokenIn, feeFirst, ...second, tokenOut]);
}
