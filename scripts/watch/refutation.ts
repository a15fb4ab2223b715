/**
 * The calls that show the pool what is false, and that extend the tree afterwards: their calldata, from evidence and
 * ledger alone. Whether the pool agrees is its own affair.
 */
import { advanceEnd, makersOf, MOST_ADVANCED, type Made } from "../../shared/notes/advance.ts";
import { mustFromHex, toBytes32, word } from "../../shared/protocol/bytes.ts";
import { poolInterface } from "./calls.ts";
import type { Evidence, FalseStatement } from "./evidence.ts";
import { wordsOf } from "./groth16.ts";
import type { Ledger } from "./ledger.ts";

/** Where the bytes stand for no points, the pool looks at no word. */
const NO_WORDS = Array.from({ length: 8 }, () => 0n);

export function refutationOf(evidence: Evidence, ledger: Ledger): string {
  if (evidence.type === "statement") {
    const { lastGood, firstBad } = rootsAround(evidence, ledger);
    return poolInterface.encodeFunctionData("refuteStatement", [statementOf(evidence), lastGood, firstBad]);
  }
  const { update, frontier, leaves } = evidence;
  return poolInterface.encodeFunctionData("refuteRootUpdate", [update, frontier, leaves]);
}

function statementOf({ kindId, deadline, signals, extHash, proof, attestations }: FalseStatement): unknown {
  const words = wordsOf(mustFromHex(proof)) ?? NO_WORDS;
  return { kind: kindId, deadline, signals, extHash, proof, words, attestations };
}

/** As the pool names them; it asks for none where no root covers the leaves. */
function rootsAround({ firstLeaf }: FalseStatement, { roots }: Ledger) {
  const around = firstLeaf === undefined ? undefined : roots.around(firstLeaf);
  return { lastGood: around?.lastGood.announced ?? 0n, firstBad: around?.firstBad.announced ?? 0n };
}

export interface Step {
  readonly from: number;
  readonly to: number;
  readonly data: string;
}

/**
 * The next call of `advance`. Undefined when all leaves are in the tree.
 * @param isCheckpoint whether the pool has one at that place
 */
export async function nextStep(
  ledger: Ledger,
  isCheckpoint: (leafCount: number, head: string) => Promise<boolean>,
): Promise<Step | undefined> {
  const [from, end] = [Number(ledger.rootedCount), Number(ledger.leafCount)];
  if (from === end) return undefined;
  const boundaries = ledger.boundariesAfter(from, Math.min(end, from + MOST_ADVANCED));
  const to = await advanceEnd({ from, end, boundaries }, (place) =>
    isCheckpoint(place, ledger.headAt(place)),
  );
  if (to === undefined) throw new RangeError(`no checkpoint after leaf ${from}`);
  const leaves = ledger.leavesBetween(from, to);
  const isVoid = (leaf: number): boolean => ledger.isVoid(leaf);
  const makers = ledger.isRolledBack
    ? makersOf({ from, to }, isVoid, (firstLeaf) => madeAt(ledger, firstLeaf))
    : [];
  const shown = [ledger.tree.frontier(), leaves.length, ledger.rootedHead, leaves, makers];
  return { from, to, data: poolInterface.encodeFunctionData("advance", shown) };
}

function madeAt(ledger: Ledger, firstLeaf: number): Made | undefined {
  const found = ledger.executedAt(firstLeaf);
  return found && { leafCount: found.leaves, maker: toBytes32(word(BigInt(found.marks[0]!))) };
}
