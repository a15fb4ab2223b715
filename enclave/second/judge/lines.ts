/**
 * The half of a Miller loop that depends on the point of G2 alone: the lines through its multiples, for many points at once, in
 * the form that noble's loop takes. What the loop walks to tells also whether a point of the twist is of the group: no other walk
 * is needed. In affine coordinates, whose divisions are shared: one for all points at each step.
 */
import { psiFrobenius } from "@noble/curves/abstract/tower.js";
import type { bn254 } from "@noble/curves/bn254.js";
import { Fp, Fp2, type G2Point } from "./points.ts";

type Element = ReturnType<typeof Fp2.mul>;
interface Place {
  readonly x: Element;
  readonly y: Element;
}

/** For each step the lines of its doubling and of its addition, where there is one. */
export type Lines = ReturnType<typeof bn254.utils.calcPairingPrecomputes>;

/** The curve's parameter: q and r are polynomials of it. */
export const X = 4965661367192848881n;

/** 6X + 2 in signed bits without the first, of which two never stand side by side. The loop of the optimal ate pairing. */
const STEPS: readonly number[] = (() => {
  const digits: number[] = [];
  for (let rest = 6n * X + 2n; rest > 1n;) {
    const digit = (rest & 1n) === 0n ? 0 : 2 - Number(rest & 3n);
    digits.unshift(digit);
    rest = (rest - BigInt(digit)) / 2n;
  }
  return digits;
})();

const { psi } = psiFrobenius(Fp, Fp2, Fp2.NONRESIDUE);
const frobenius = ({ x, y }: Place): Place => {
  const [px, py] = psi(x, y);
  return { x: px, y: py };
};
const negative = ({ x, y }: Place): Place => ({ x, y: Fp2.neg(y) });

/** One point's way. `isLost` when two places met, or one its negative: no point of order r comes there. */
class Walk {
  readonly lines: Lines = [];
  readonly start: Place;
  isLost = false;
  #at: Place;

  constructor(start: Place) {
    this.start = start;
    this.#at = start;
  }

  /** Numerator and denominator of the slope of the tangent, or of the line to `other`. */
  slope(other?: Place): readonly [Element, Element] {
    const { x, y } = this.#at;
    if (other === undefined) return [Fp2.mul(Fp2.sqr(x), 3n), Fp2.add(y, y)];
    return [Fp2.sub(y, other.y), Fp2.sub(x, other.x)];
  }

  /** To twice the place, or to its sum with `other`. The line y·1 − slope·x + (slope·x₀ − y₀) is recorded. */
  go(slope: Element, other: Place = this.#at): void {
    const { x, y } = this.#at;
    const sum = Fp2.sub(Fp2.sub(Fp2.sqr(slope), x), other.x);
    this.lines.at(-1)!.push([Fp2.sub(Fp2.mul(slope, x), y), Fp2.neg(slope), Fp2.ONE]);
    this.#at = { x: sum, y: Fp2.sub(Fp2.mul(slope, Fp2.sub(x, sum)), y) };
  }

  isAt({ x, y }: Place): boolean {
    return !this.isLost && Fp2.eql(this.#at.x, x) && Fp2.eql(this.#at.y, y);
  }
}

/** One step of all walks. The product of all divisors is inverted, and each one's inverse is taken out of it. */
function stepAll(walks: readonly Walk[], otherOf?: (walk: Walk) => Place): void {
  const slopes = walks.map((walk) => walk.slope(otherOf?.(walk)));
  const inverses = Fp2.invertBatch(slopes.map(([, divisor]) => (Fp2.is0(divisor) ? Fp2.ONE : divisor)));
  walks.forEach((walk, i) => {
    const [dividend, divisor] = slopes[i]!;
    walk.isLost ||= Fp2.is0(divisor);
    walk.go(Fp2.mul(dividend, inverses[i]!), otherOf?.(walk));
  });
}

/**
 * The lines of each point, undefined for one outside the group of order r. Points are on the twist, none at infinity.
 *
 * The loop ends at [6X + 2]P + ψ(P) − ψ²(P), with the twist's Frobenius ψ. That is −ψ³(P) for each point of the group
 * (Vercauteren, ePrint 2008/096), and for no other: with ψ² − tψ + q = 0 the sum of both is (a + bψ)(P), which is 0 only where
 * the norm a² + abt + b²q takes P to 0; and that norm and the twist's order have no divisor in common but r. A test computes this.
 */
export function linesOf(points: readonly G2Point[]): readonly (Lines | undefined)[] {
  const walks = points.map((point) => new Walk(point.toAffine()));
  for (const digit of STEPS) {
    for (const { lines } of walks) lines.push([]);
    stepAll(walks);
    if (digit !== 0) stepAll(walks, ({ start }) => (digit === 1 ? start : negative(start)));
  }
  const once = new Map(walks.map((walk) => [walk, frobenius(walk.start)]));
  const twice = new Map(walks.map((walk) => [walk, negative(frobenius(once.get(walk)!))]));
  stepAll(walks, (walk) => once.get(walk)!);
  stepAll(walks, (walk) => twice.get(walk)!);
  // −ψ³ is ψ of −ψ².
  return walks.map((walk) => (walk.isAt(frobenius(twice.get(walk)!)) ? walk.lines : undefined));
}
