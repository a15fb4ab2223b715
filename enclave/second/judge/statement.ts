/** Statements: the kinds, the rules that need no proof, and the two hashes. SPEC, section 5, "Validity", in its order. */
import { concatBytes, keccak, numberIn, word } from "./bytes.ts";
import { isFieldElement, r } from "./field.ts";
import type { AttestRequest } from "./request.ts";

export const KIND_NAMES = ["deposit-shield", "spend", "spend9", "private-swap"] as const;
export type KindName = (typeof KIND_NAMES)[number];

interface Kind {
  readonly name: KindName;
  readonly inputs: number;
  readonly outputs: number;
  readonly extBytes: number;
  /** The kind's own rules; context, fields and ranges are right already. */
  readonly isValid: (facts: Facts, ext: Uint8Array) => boolean;
}

interface Facts {
  readonly asset: bigint;
  readonly amount: bigint;
}

const isSpend = ({ amount }: Facts, ext: Uint8Array): boolean =>
  (numberIn(ext.slice(0, 20)) === 0n) === (amount === 0n);

/** By id, which is counted from 1. */
const KINDS: readonly Kind[] = [
  { name: "deposit-shield", inputs: 0, outputs: 3, extBytes: 227, isValid: isDeposit },
  { name: "spend", inputs: 2, outputs: 4, extBytes: 264, isValid: isSpend },
  { name: "spend9", inputs: 9, outputs: 4, extBytes: 264, isValid: isSpend },
  { name: "private-swap", inputs: 2, outputs: 3, extBytes: 338, isValid: isSwap },
];

/** Context, the root where there are inputs, asset, amount; then nullifiers and commitments. */
const fixedSignals = ({ inputs }: Kind): number => (inputs === 0 ? 3 : 4);
const countSignals = (kind: Kind): number => fixedSignals(kind) + kind.inputs + kind.outputs;
export const signalCount = (name: KindName): number => countSignals(KINDS[KIND_NAMES.indexOf(name)]!);

export type SignalFault = "UNKNOWN_KIND" | "SIGNAL_COUNT" | "SIGNAL_RANGE";
export type StatementFault =
  "EXT_MALFORMED" | "NULLIFIERS_NOT_DISTINCT" | "CONTEXT_MISMATCH" | "STATEMENT_INVALID";

/** The kind's name, or the first fault: rule 1. */
export function checkSignals({ kindId, signals }: AttestRequest): { readonly kind: KindName } | SignalFault {
  const kind = KINDS[kindId - 1];
  if (kind === undefined) return "UNKNOWN_KIND";
  if (signals.length !== countSignals(kind)) return "SIGNAL_COUNT";
  return signals.every(isFieldElement) ? { kind: kind.name } : "SIGNAL_RANGE";
}

/** The first fault of rules 2 to 8, for signals that were checked. */
export function checkRules(request: AttestRequest): StatementFault | undefined {
  const kind = KINDS[request.kindId - 1]!;
  const { signals, ext } = request;
  const fixed = fixedSignals(kind);
  const nullifiers = signals.slice(fixed, fixed + kind.inputs);
  const [asset, amount] = signals.slice(fixed - 2) as [bigint, bigint];

  if (ext.length !== kind.extBytes) return "EXT_MALFORMED";
  if (new Set(nullifiers).size !== nullifiers.length) return "NULLIFIERS_NOT_DISTINCT";
  if (signals[0] !== contextOf(request)) return "CONTEXT_MISMATCH";
  const isRanged = asset < 1n << 160n && amount < 1n << 128n && (asset === 0n) === (amount === 0n);
  return isRanged && kind.isValid({ asset, amount }, ext) ? undefined : "STATEMENT_INVALID";
}

function isDeposit({ amount }: Facts, ext: Uint8Array): boolean {
  const [depositor, validAfter, validBefore] = fieldsIn(ext, [20, 8, 8]) as [bigint, bigint, bigint];
  return amount > 0n && depositor !== 0n && validAfter < validBefore;
}

const TIERS: ReadonlySet<bigint> = new Set([100n, 500n, 3_000n, 10_000n]);

function isSwap({ asset, amount }: Facts, ext: Uint8Array): boolean {
  const [tokenOut, minAmountOut, npkOut, feeFirst, middle, feeSecond] = fieldsIn(
    ext,
    [20, 16, 32, 3, 20, 3],
  ) as [bigint, bigint, bigint, bigint, bigint, bigint];
  const isOneHop = middle === 0n && feeSecond === 0n;
  const isTwoHops = middle !== 0n && middle !== asset && middle !== tokenOut && TIERS.has(feeSecond);
  return (
    amount > 0n &&
    tokenOut !== 0n &&
    tokenOut !== asset &&
    minAmountOut > 0n &&
    isFieldElement(npkOut) &&
    TIERS.has(feeFirst) &&
    (isOneHop || isTwoHops)
  );
}

/** Numbers at the front of ext, by their lengths. */
function fieldsIn(ext: Uint8Array, lengths: readonly number[]): bigint[] {
  let at = 0;
  return lengths.map((length) => numberIn(ext.slice(at, (at += length))));
}

function contextOf({ chainId, pool, kindId, deadline, ext }: AttestRequest): bigint {
  const words = [word(chainId), word(numberIn(pool)), word(kindId), word(deadline), keccak(ext)];
  return numberIn(keccak(...words)) % r;
}

/** abi.encode puts where the list of signals begins (128) in its place, and the list, its count first, behind the rest. */
export function statementHashOf({ kindId, deadline, signals, ext }: AttestRequest): Uint8Array {
  const head = [word(kindId), word(deadline), word(128), keccak(ext)];
  return keccak(concatBytes(...head, word(signals.length), ...signals.map(word)));
}
