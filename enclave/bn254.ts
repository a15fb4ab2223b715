/**
 * Products of pairings on BN254, put together from the functions of bn254.wasm, which work on addresses in its memory.
 * Nobody wrote that file: `npm run pairings` generates it, and a reviewer's own run gives the same bytes. Trusts its
 * callers for points that are on their curve and not zero; whether a point of the twist is in the subgroup of order r
 * is tested here.
 */
import { readFile } from "node:fs/promises";
import { BASE_FIELD_ORDER } from "../shared/protocol/brands.ts";
import { uintToBytes } from "../shared/protocol/bytes.ts";

/** An address in the WebAssembly memory. */
export type At = number;

/** Sizes in bytes. */
const FQ = 32;
const FQ2 = 2 * FQ;
/** A value of the pairing. */
export const FQ12 = 12 * FQ;
/** A point of the curve by its coordinates. */
export const AFFINE = 2 * FQ;
export const JACOBIAN = 3 * FQ;
/** A point of the twist by its coordinates. */
export const AFFINE_TWIST = 2 * FQ2;

/** Of one product. */
export const MAX_PAIRS = 80;
/** Of 64 KiB: what verify.ts allots, and some. The memory never grows. */
const PAGES = 25;

/** The parameter x of BN254, from which q, r and the Miller loop follow. */
const X = 4_965_661_367_192_848_881n;
/** The Miller loop runs over 6x + 2 below its highest bit, then over two more lines. */
const LOOP = (6n * X + 2n).toString(2).slice(1);
/** Lines lie behind the normalised point; each has three coefficients. */
const LINE_BYTES = 3 * FQ2;
const LAST_LINE = LOOP.length + LOOP.replaceAll("0", "").length + 1;
/** Room for all lines of one point. */
export const LINES = LINE_BYTES * (LAST_LINE + 2);

/** Those of the file's functions that are used. Arguments are addresses unless named otherwise; the last is where the result goes. */
type Take<Argument extends number[], Result = void> = (...addresses: Argument) => Result;
interface Functions {
  readonly f1m_toMontgomery: Take<[plain: At, out: At]>;
  readonly f2m_add: Take<[At, At, out: At]>;
  readonly f2m_mul: Take<[At, At, out: At]>;
  /** The second is in the base field. */
  readonly f2m_mul1: Take<[At, At, out: At]>;
  readonly f2m_conjugate: Take<[At, out: At]>;
  readonly f2m_isZero: Take<[At], number>;
  readonly f2m_exp: Take<[base: At, exponent: At, exponentBytes: number, out: At]>;
  readonly g1m_zero: Take<[out: At]>;
  readonly g1m_isZeroAffine: Take<[At], number>;
  readonly g1m_inCurveAffine: Take<[At], number>;
  readonly g1m_toJacobian: Take<[affine: At, out: At]>;
  readonly g1m_addMixed: Take<[jacobian: At, affine: At, out: At]>;
  readonly g1m_batchToAffine: Take<[jacobians: At, count: number, out: At]>;
  readonly g1m_timesScalarAffine: Take<[affine: At, scalar: At, scalarBytes: number, out: At]>;
  readonly g1m_multiexpAffine: Take<[affines: At, scalars: At, scalarBytes: number, count: number, out: At]>;
  readonly g2m_isZeroAffine: Take<[At], number>;
  readonly g2m_inCurveAffine: Take<[At], number>;
  readonly g2m_negAffine: Take<[At, out: At]>;
  readonly g2m_toJacobian: Take<[affine: At, out: At]>;
  readonly ftm_one: Take<[out: At]>;
  readonly ftm_mul: Take<[At, At, out: At]>;
  readonly ftm_square: Take<[At, out: At]>;
  readonly ftm_eq: Take<[At, At], number>;
  readonly bn128_prepareG2: Take<[jacobian: At, out: At]>;
  readonly bn128_finalExponentiation: Take<[At, out: At]>;
  /** Multiplies `value` by the line with these three coefficients, in place. */
  readonly bn128__mulBy024: Take<[c0: At, vw: At, vv: At, value: At]>;
}

export type Bn254 = Awaited<ReturnType<typeof buildBn254>>;

export async function buildBn254() {
  // Beside this file, in the sources and in the image.
  const code = await readFile(new URL("bn254.wasm", import.meta.url));
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
  const { instance } = await WebAssembly.instantiate(code, { env: { memory } });
  const wasm = instance.exports as unknown as Functions;
  const bytes = new Uint8Array(memory.buffer);
  const words = new Uint32Array(memory.buffer);

  /** Never given back. The first word says where the free memory begins; the functions borrow from there too. */
  function alloc(length: number): At {
    const at = words[0]!;
    words[0] = at + 8 * Math.ceil(length / 8);
    if (words[0] > bytes.length) throw new RangeError("the memory of the pairings is full");
    return at;
  }

  function set(at: At, data: Uint8Array): At {
    bytes.set(data, at);
    return at;
  }

  /** Numbers below q, one behind the other: a point by its coordinates. */
  function setNumbers(at: At, numbers: readonly bigint[]): At {
    numbers.forEach((number, i) => {
      const to = set(at + FQ * i, littleEndian(number, FQ));
      wasm.f1m_toMontgomery(to, to);
    });
    return at;
  }

  const affine = alloc(AFFINE * MAX_PAIRS);
  const value = alloc(FQ12);
  const [x, y] = [alloc(FQ2), alloc(FQ2)];
  // The twist divides by ξ = 9 + u, so ψ (q-th powers, seen on the twist) multiplies by its roots.
  const xi = setNumbers(alloc(FQ2), [9n, 1n]);
  const [xiThird, xiHalf] = [alloc(FQ2), alloc(FQ2)];
  const exponent = alloc(FQ);
  wasm.f2m_exp(xi, set(exponent, littleEndian((BASE_FIELD_ORDER - 1n) / 3n, FQ)), FQ, xiThird);
  wasm.f2m_exp(xi, set(exponent, littleEndian((BASE_FIELD_ORDER - 1n) / 2n, FQ)), FQ, xiHalf);
  const one = alloc(FQ12);
  wasm.ftm_one(one);

  /** All lines of the Miller loop of an affine point of the twist, in the loop's order. */
  function drawLines(point: At, at = alloc(LINES)): At {
    wasm.g2m_toJacobian(point, value);
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

  return { wasm, bytes, alloc, set, setNumbers, one, drawLines, isInSubgroup, product };
}

const WINDOW_BITS = 5;
const WINDOWS = 51;
const DIGITS = 2 ** WINDOW_BITS;

/**
 * A fixed point with tabled multiples: a scalar takes at most 51 additions and no doubling. The result adds a scalar
 * (below 2^255) times the point to the Jacobian point at `sum`. `scratch` has room for 32 points, affine and
 * Jacobian, and is free again afterwards.
 */
export function fixedPoint({ wasm, bytes, alloc, set }: Bn254, point: At, scratch: At): TimesFixedPoint {
  const operand = set(alloc(AFFINE), bytes.subarray(point, point + AFFINE));
  const sums = scratch + AFFINE * DIGITS;
  // For each five bits of a scalar, the multiples 1 to 31. Outside the WebAssembly memory, which is small.
  const tables = Array.from({ length: WINDOWS }, () => {
    wasm.g1m_zero(sums);
    for (let at = sums; at < sums + JACOBIAN * DIGITS; at += JACOBIAN) {
      wasm.g1m_addMixed(at, operand, at + JACOBIAN);
    }
    wasm.g1m_batchToAffine(sums + JACOBIAN, DIGITS, scratch);
    const multiples = bytes.slice(scratch, scratch + AFFINE * DIGITS);
    // The last multiple, 32, is the next window's point.
    set(operand, multiples.subarray(-AFFINE));
    return multiples;
  });
  return (scalar, sum) => {
    for (let window = 0, rest = scalar; rest > 0n; window++, rest >>= BigInt(WINDOW_BITS)) {
      const digit = Number(BigInt.asUintN(WINDOW_BITS, rest));
      if (digit === 0) continue;
      set(operand, tables[window]!.subarray(AFFINE * (digit - 1), AFFINE * digit));
      wasm.g1m_addMixed(sum, operand, sum);
    }
  };
}

type TimesFixedPoint = (scalar: bigint, sum: At) => void;

function lineAt(lines: At, index: number): At {
  return lines + LINE_BYTES * (index + 1);
}

export function littleEndian(value: bigint, length: number): Uint8Array {
  return uintToBytes(value, length).reverse();
}
