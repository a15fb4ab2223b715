// The refused statements of the story: the change made, and the context bound again where the change is not
// about the context, so that each is refused for its own reason.
import { concat, solidityPacked } from "ethers";
import { FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { contextOf } from "../../../shared/protocol/statements.ts";
import { HOME, statementCalled, type Refusal, type StatementStep } from "./story.ts";

export interface Refused {
  readonly of: StatementStep;
  readonly signals: bigint[];
  readonly extBytes: string;
}

export function refused(refusal: Refusal): Refused {
  const of = statementCalled(refusal.of);
  const extBytes = concat([
    refusal.terms === undefined ? of.extBytes : swapExt({ ...of.ext, ...refusal.terms }),
    refusal.extTail ?? "0x",
  ]);
  const signals = of.signals.map(BigInt);
  signals[0] = contextOf(HOME, of.kind, BigInt(of.deadline), mustFromHex(extBytes));
  for (const place of refusal.zero ?? []) signals[place] = 0n;
  if (refusal.signal !== undefined) {
    const from = refusal.copy ?? refusal.signal;
    const value = (signals[from] ?? 0n) + BigInt(refusal.add ?? 0);
    // The context plus one may not be the context plus one minus r.
    signals[refusal.signal] = refusal.signal === 0 ? value % FIELD_ORDER : value;
  }
  return { of, signals, extBytes };
}

function swapExt(ext: StatementStep["ext"]): string {
  const terms = ["tokenOut", "minAmountOut", "npkOut", "feeFirst", "middle", "feeSecond"];
  return concat([
    solidityPacked(
      ["address", "uint128", "uint256", "uint24", "address", "uint24"],
      terms.map((term) => ext[term]),
    ),
    ...(ext["ciphertexts"] as readonly string[]),
  ]);
}
