/**
 * Judges drawn cases by enclave and chain and stops at the first difference. Where words and bytes belong together, the
 * enclave signs exactly what the chain finds true. Where they do not, the enclave signs nothing and the chain says
 * nothing: a wrong word for a true proof convicts nobody.
 */
import { Draw } from "./draw.ts";
import { CHUNK, type Answer, type Chain, type Enclave, type Said } from "./judges.ts";
import { caseAt, type Case } from "./mutations.ts";
import type { Origins } from "./origins.ts";

export interface Range {
  /** Number of the first case, and of the one behind the last. */
  readonly from: number;
  readonly to: number;
}

export interface Judged {
  readonly index: number;
  readonly one: Case;
  readonly said: Said;
  readonly answer: Answer;
}

export interface Outcome {
  readonly difference: Judged | undefined;
  /** By mutation, what enclave and chain said, and how often. */
  readonly counts: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export async function campaign(
  { origins, enclave, chain }: { origins: Origins; enclave: Enclave; chain: Chain },
  { from, to }: Range,
  onProgress: (index: number) => void = () => undefined,
): Promise<Outcome> {
  const counts = new Map<string, Map<string, number>>();
  for (let first = from; first < to; first += CHUNK) {
    const cases = Array.from({ length: Math.min(CHUNK, to - first) }, (_, i) => caseAt(origins, first + i));
    // The chain computes in its own process meanwhile.
    const asked = chain.judge(cases);
    asked.catch(() => undefined);
    const said = await enclave.judge(cases, new Draw(`${String(origins.seed)} weights ${String(first)}`));
    const answers = await asked;
    for (const [i, one] of cases.entries()) {
      const judged = { index: first + i, one, said: said[i]!, answer: answers[i]! };
      if (!agree(judged)) return { difference: judged, counts };
      const ofName = counts.get(one.name) ?? new Map<string, number>();
      const both = `${judged.said} ${judged.answer}`;
      counts.set(one.name, ofName.set(both, (ofName.get(both) ?? 0) + 1));
    }
    onProgress(first + cases.length);
  }
  return { difference: undefined, counts };
}

export function agree({ one, said, answer }: Pick<Judged, "one" | "said" | "answer">): boolean {
  const isSigned = said === "PROOF_HOLDS";
  if (one.standing === "WORDS") return answer === (isSigned ? "TRUE" : "FALSE");
  return !isSigned && answer === (one.standing === "NOTHING" ? "FALSE" : "NO_VERDICT");
}
