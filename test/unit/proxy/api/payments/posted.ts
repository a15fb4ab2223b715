// Statements as callers post them: a draft in the words of the HTTP interface, through its schema.
import { type Draft, signalsOf } from "../../../../support/drafts.ts";
import { readAttestBody, type Body } from "../../../../../proxy/api/payments/body.ts";
import { encodeUniswapPath } from "../../../../../shared/api/uniswap-path.ts";
import { addressFromField } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { toSnarkjsProof } from "../../../../../shared/protocol/host/proofs.ts";
import { decodeExt, type Ext } from "../../../../../shared/protocol/statements.ts";
import { NO_PROOF } from "../../../../support/money.ts";
import { writeSealed } from "../../../../support/sealed-notes.ts";

/** `bend` replaces fields of the body, `bendExt` those of its ext. */
export function posted(
  draft: Draft,
  bend: Record<string, unknown> = {},
  bendExt: Record<string, unknown> = {},
): Body {
  const ext = decodeExt(draft.kind, draft.ext);
  if (ext === undefined) throw new TypeError("a draft has an ext");
  return readAttestBody(draft.kind, {
    proof: toSnarkjsProof(NO_PROOF),
    public_signals: signalsOf(draft).map(String),
    deadline: Number(draft.deadline),
    fees: [],
    ...(draft.authorization.length === 0 ? {} : { authorization: toHex(draft.authorization) }),
    ext: { ...terms(ext, draft.asset), ...writeSealed(ext), ...bendExt },
    ...bend,
  });
}

function terms(ext: Ext, asset: bigint): Record<string, unknown> {
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
      const { tokenOut, minAmountOut, npkOut, path } = ext;
      return {
        token_out: tokenOut,
        min_amount_out: String(minAmountOut),
        npk_out: toHex(word(npkOut)),
        path: encodeUniswapPath({ tokenIn: addressFromField(asset)!, path, tokenOut }),
      };
    }
  }
}
