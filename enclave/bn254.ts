/**
 * Products of pairings on BN254, put together from the functions of ffjavascript's WebAssembly, which
 * work on addresses in its memory. Trusts its callers for points that are on their curve and not zero;
 * whether a point of the twist is in the subgroup of order r is tested here.
 */
import { buildBn128 } from "ffjavascript";
import { BASE_FIELD_ORDER } from "../shared/protocol/brands.ts";
import { uintToBytes } from "../shared/protocol/bytes.ts";

/** An address in the WebAssembly memory. */
export type At = number;

const FQ = 32;
const FQ2 = 2 * FQ;
/** A value of the pairing. */
export const FQ12 = 12 * FQ;
/** A point of the curve by its coordinates. */
export const AFFINE = 2 * FQ;
export const JACOBIAN = 3 * FQ;

/** Of one product. */
export const MAX_PAIRS = 80;

/** The parameter x of BN254, from which q, r and the Miller loop follow. */
const X = 4_965_661_367_192_848_881n;
/** The Miller loop runs over 6x + 2 below its highest bit, then over two more lines. */
const LOOP = (6n * X + 2n).toString(2).slice(1);
/** Lines lie behind the normalised point; each has three coefficients. */
const LINE_BYTES = 3 * FQ2;
const LAST_LINE = LOOP.length + LOOP.replaceAll("0", "").length + 1;

export type Bn254 = Awaited<ReturnType<typeof buildBn254>>;

export async function buildBn254() {
  // Single-threaded: ffjavascript's threads are web workers, which run what they are sent.
  const curve = await buildBn128(true);
  const { F2, G2, tm } = curve;
  const wasm = tm.instance.exports;

  const affine = tm.alloc(AFFINE * MAX_PAIRS);
  const value = tm.alloc(FQ12);
  const [x, y] = [tm.alloc(FQ2), tm.alloc(FQ2)];
  // The twist divides by ξ = 9 + u, so ψ (q-th powers, seen on the twist) multiplies by its roots.
  const xi = tm.allocBuff(F2.fromObject([9n, 1n]));
  const [xiThird, xiHalf] = [tm.alloc(FQ2), tm.alloc(FQ2)];
  wasm.f2m_exp(xi, tm.allocBuff(littleEndian((BASE_FIELD_ORDER - 1n) / 3n, FQ)), FQ, xiThird);
  wasm.f2m_exp(xi, tm.allocBuff(littleEndian((BASE_FIELD_ORDER - 1n) / 2n, FQ)), FQ, xiHalf);
  const one = tm.alloc(FQ12);
  wasm.ftm_one(one);

  /** All lines of the Miller loop of an affine point of the twist, in the loop's order. */
  function drawLines(point: Uint8Array, at = tm.alloc(curve.preQSize)): At {
    tm.setBuff(value, G2.toJacobian(point));
    wasm.bn128_prepareG2(value, at);
    return at;
  }

  /** To (x, y). */
  function psi(fromX: At, fromY: At): void {
    wasm.f2m_conjugate(fromX, x);
    wasm.f2m_mul(x, xiThird, x);
    wasm.f2m_conjugate(fromY, y);
    wasm.f2m_mul(y, xiHalf, y);
  }

  /**
   * A point B of the twist has order r exactly when [6x + 2]B + ψ(B) − ψ²(B) + ψ³(B) = 0 (the relation
   * of the optimal ate pairing, ePrint 2008/096; why such a relation suffices: ePrint 2022/348). The
   * loop's last line runs through [6x + 2]B + ψ(B) and −ψ²(B), so that the test is whether ψ³(B) lies
   * on it. That no other point of the twist passes, and that no line of the loop vanishes for any, is
   * arithmetic of whole numbers, done in the tests, where the test also meets the definition r·B = 0.
   */
  function isInSubgroup(lines: At): boolean {
    psi(lines, lines + FQ2);
    psi(x, y);
    psi(x, y);
    // c0 + ξ·(vv·x + vw·y) is zero on the line.
    const line = lineAt(lines, LAST_LINE);
    wasm.f2m_mul(line + FQ2, y, y);
    wasm.f2m_mul(line + 2 * FQ2, x, x);
    wasm.f2m_add(x, y, x);
    wasm.f2m_mul(x, xi, x);
    wasm.f2m_add(x, line, x);
    return wasm.f2m_isZero(x) === 1;
  }

  /**
   * Π e(Pᵢ, Qᵢ), to `out`. The Jacobian points Pᵢ stand in a row from `points`, the lines of each Qᵢ where told. One
   * chain of squarings serves all pairs.
   */
  function product(points: At, lines: readonly At[], out: At): void {
    if (lines.length > MAX_PAIRS) throw new RangeError("too many pairs");
    wasm.g1m_batchToAffine(points, lines.length, affine);
    // Zero has no affine form, so no line can be evaluated at it; its pairing is 1.
    const pairs = lines
      .map((linesOfQ, i) => ({ point: affine + AFFINE * i, linesOfQ }))
      .filter(({ point }) => wasm.g1m_isZeroAffine(point) === 0);
    let index = 0;
    const multiplyByLines = (): void => {
      for (const { point, linesOfQ } of pairs) {
        const line = lineAt(linesOfQ, index);
        wasm.f2m_mul1(line + FQ2, point + FQ, y);
        wasm.f2m_mul1(line + 2 * FQ2, point, x);
        wasm.bn128__mulBy024(line, y, x, value);
      }
      index += 1;
    };
    wasm.ftm_one(value);
    for (const bit of LOOP) {
      wasm.ftm_square(value, value);
      multiplyByLines();
      if (bit === "1") multiplyByLines();
    }
    multiplyByLines();
    multiplyByLines();
    wasm.bn128_finalExponentiation(value, out);
  }

  return { curve, wasm, one, drawLines, isInSubgroup, product };
}

const WINDOW_BITS = 5;
const WINDOWS = 51;
const DIGITS = 2 ** WINDOW_BITS;

/**
 * A fixed point with tabled multiples: a scalar takes at most 51 additions and no doubling. The result adds a scalar
 * (below 2^255) times the point to the Jacobian point at `sum`. `scratch` has room for 32 points, affine and
 * Jacobian, and is free again afterwards.
 */
export function fixedPoint({ curve: { tm }, wasm }: Bn254, point: Uint8Array, scratch: At): TimesFixedPoint {
  const operand = tm.allocBuff(point);
  const sums = scratch + AFFINE * DIGITS;
  // For each five bits of a scalar, the multiples 1 to 31. Outside the WebAssembly memory, which is small.
  const tables = Array.from({ length: WINDOWS }, () => {
    wasm.g1m_zero(sums);
    for (let at = sums; at < sums + JACOBIAN * DIGITS; at += JACOBIAN) {
      wasm.g1m_addMixed(at, operand, at + JACOBIAN);
    }
    wasm.g1m_batchToAffine(sums + JACOBIAN, DIGITS, scratch);
    const multiples = tm.getBuff(scratch, AFFINE * DIGITS);
    // The last multiple, 32, is the next window's point.
    tm.setBuff(operand, multiples.subarray(-AFFINE));
    return multiples;
  });
  return (scalar, sum) => {
    for (let window = 0, rest = scalar; rest > 0n; window++, rest >>= BigInt(WINDOW_BITS)) {
      const digit = Number(BigInt.asUintN(WINDOW_BITS, rest));
      if (digit === 0) continue;
      tm.setBuff(operand, tables[window]!.subarray(AFFINE * (digit - 1), AFFINE * digit));
      wasm.g1m_addMixed(sum, operand, sum);
    }
  };
}

export type TimesFixedPoint = (scalar: bigint, sum: At) => void;

function lineAt(lines: At, index: number): At {
  return lines + LINE_BYTES * (index + 1);
}

export function littleEndian(value: bigint, length: number): Uint8Array {
  return uintToBytes(value, length).reverse();
}
