// The refused statements, from those of the story: the change made, and the context bound again where the change is not
// about the context, so that each is refused for its own reason.
import { concat } from "ethers";
import { contextOf, extOf } from "../../support/oracle.ts";
import { HOME, statementCalled, type Refusal, type StatementStep } from "./story.ts";

export interface Refused {
  readonly of: StatementStep;
  readonly signals: bigint[];
  readonly extBytes: string;
}

export function refused(refusal: Refusal): Refused {
  const of = statementCalled(refusal.of);
  const { terms, extTail = "0x", extCut = 0, isBound = true } = refusal;
  const ciphertexts = of.ext["ciphertexts"] as readonly string[];
  const ext = extOf(of.kind, { ...of.ext, ...terms }, String(of.ext["ephemeralKey"]), ciphertexts);
  const extBytes = concat([ext.slice(0, ext.length - 2 * extCut), extTail]);
  const signals = of.signals.map(BigInt);
  if (isBound) signals[0] = contextOf(HOME, of.kind, BigInt(of.deadline), extBytes);
  for (const place of refusal.zero ?? []) signals[place] = 0n;
  if (refusal.signal !== undefined) {
    const from = refusal.copy ?? refusal.signal;
    signals[refusal.signal] = (signals[from] ?? 0n) + BigInt(refusal.add ?? 0);
  }
  const count = refusal.count ?? signals.length;
  return { of, signals: Array.from({ length: count }, (_, i) => signals[i] ?? 0n), extBytes };
}
