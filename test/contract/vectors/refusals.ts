// The refused statements, from those of the story: the change made, and the context bound again where the change is not
// about the context, so that each is refused for its own reason.
import { concat, solidityPacked } from "ethers";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { contextOf, type Kind } from "../../../shared/protocol/statements.ts";
import { HOME, statementCalled, type Refusal, type StatementStep } from "./story.ts";

export interface Refused {
  readonly of: StatementStep;
  readonly signals: bigint[];
  readonly extBytes: string;
}

export function refused(refusal: Refusal): Refused {
  const of = statementCalled(refusal.of);
  const { terms, extTail = "0x", extCut = 0, isBound = true } = refusal;
  const ext = terms === undefined ? of.extBytes : extOf({ ...of, ext: { ...of.ext, ...terms } });
  const extBytes = concat([ext.slice(0, ext.length - 2 * extCut), extTail]);
  const signals = of.signals.map(BigInt);
  if (isBound) signals[0] = contextOf(HOME, of.kind, BigInt(of.deadline), mustFromHex(extBytes));
  for (const place of refusal.zero ?? []) signals[place] = 0n;
  if (refusal.signal !== undefined) {
    const from = refusal.copy ?? refusal.signal;
    signals[refusal.signal] = (signals[from] ?? 0n) + BigInt(refusal.add ?? 0);
  }
  const count = refusal.count ?? signals.length;
  return { of, signals: Array.from({ length: count }, (_, i) => signals[i] ?? 0n), extBytes };
}

/** The terms before the ciphertexts, packed as SPEC's section 5 has them. */
const TERMS: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  "deposit-shield": { depositor: "address", validAfter: "uint64", validBefore: "uint64" },
  spend: { recipient: "address" },
  spend9: { recipient: "address" },
  "private-swap": {
    ...{ tokenOut: "address", minAmountOut: "uint128", npkOut: "uint256" },
    ...{ feeFirst: "uint24", middle: "address", feeSecond: "uint24" },
  },
};

function extOf({ kind, ext }: Pick<StatementStep, "kind" | "ext">): string {
  const terms = TERMS[kind];
  const values = Object.keys(terms).map((term) => ext[term]);
  return concat([solidityPacked(Object.values(terms), values), ...(ext["ciphertexts"] as readonly string[])]);
}
