/**
 * Σ scalar · point over many points, in the worker threads (Pippenger's method): scalars are cut into windows of
 * a few bits, the kernel sums a window, and the windows are put together here. Trusts that the points are on the
 * curve, as those of a proving key with the right hash are.
 */
import type { Bn128, CurveGroup, Step } from "ffjavascript";
import { areasOf, GROUPS, kernelOf, type GroupName } from "./kernel.ts";

/** Scalars are below the group order, which has this many bits. */
const SCALAR_BITS = 254;
const SCALAR_BYTES = 32;
const DIGIT_BYTES = 2;

/**
 * Σ scalars[i] · bases[i], a Jacobian point. Bases are affine points, scalars 32 bytes each, little-endian. There
 * is one task a worker, so that the points are copied to each once; `worked` is called with the share of each.
 */
export async function sumOf(
  curve: Bn128,
  name: GroupName,
  bases: Uint8Array,
  scalars: Uint8Array,
  worked: (share: number) => void = () => undefined,
): Promise<Uint8Array> {
  const G: Pick<CurveGroup<unknown>, "F" | "zero" | "add" | "double"> = curve[name];
  const count = scalars.length / SCALAR_BYTES;
  if (count === 0) {
    worked(1);
    return G.zero;
  }
  const bits = windowBitsFor(count);
  const windows = windowsOf(scalars, bits);
  const tasks = Math.min(windows.length, curve.tm.concurrency);
  const sums = new Map<Int16Array, Uint8Array>();
  await Promise.all(
    Array.from({ length: tasks }, async (_, task) => {
      const mine = windows.filter((__, i) => i % tasks === task);
      const found = await curve.tm.queueAction(taskOf(name, bases, mine, bits));
      mine.forEach((window, i) => sums.set(window, found[i] as Uint8Array));
      worked(1 / tasks);
    }),
  );
  return windows.reduceRight((sum, window) => {
    let shifted = sum;
    for (let i = 0; i < bits; i++) shifted = G.double(shifted);
    return G.add(shifted, sums.get(window) as Uint8Array);
  }, G.zero);
}

/** A sum for each window, in their order. */
function taskOf(name: GroupName, bases: Uint8Array, windows: readonly Int16Array[], bits: number): Step[] {
  const count = (windows[0] as Int16Array).length;
  const areas = areasOf(name, count, bits);
  const jacobianBytes = 3 * GROUPS[name].coordinateBytes;
  const [BASES, ROWS, SORTED, TABLES, WORK, SUM, DIGITS] = [0, 1, 2, 3, 4, 5, 6];
  return [
    { cmd: "ALLOCSET", var: BASES, buff: bases },
    { cmd: "ALLOC", var: ROWS, len: areas.rows },
    { cmd: "ALLOC", var: SORTED, len: areas.sorted },
    { cmd: "ALLOC", var: TABLES, len: areas.tables },
    { cmd: "ALLOC", var: WORK, len: areas.work },
    { cmd: "ALLOC", var: SUM, len: jacobianBytes },
    { cmd: "ALLOC", var: DIGITS, len: count * DIGIT_BYTES },
    ...windows.flatMap((digits, i): Step[] => [
      { cmd: "SET", var: DIGITS, buff: new Uint8Array(digits.buffer) },
      {
        cmd: "CALL",
        fnName: kernelOf(name).sumWindow,
        params: [
          ...[{ var: BASES }, { var: DIGITS }, { val: count }, { val: bits }],
          ...[ROWS, SORTED, TABLES, WORK, SUM].map((area) => ({ var: area })),
        ],
      },
      { cmd: "GET", out: i, var: SUM, len: jacobianBytes },
    ]),
  ];
}

/** Additions a window: one for each point that has company in its bucket, two for each bucket. */
function windowBitsFor(count: number): number {
  const additions = (bits: number): number => windowCount(bits) * (count + 2 ** (bits - 1));
  let best = 2;
  for (let bits = 3; bits <= 15; bits++) if (additions(bits) < additions(best)) best = bits;
  return best;
}

/** For one bit more than a scalar has: so the last digit is at most the half, and leaves no carry. */
function windowCount(bits: number): number {
  return Math.ceil((SCALAR_BITS + 1) / bits);
}

/**
 * Digits in (−2^(bits − 1), 2^(bits − 1)] with scalar = Σ digit · 2^(bits · window). Opposite points cost
 * nothing, so signed digits halve the number of buckets.
 */
export function windowsOf(scalars: Uint8Array, bits: number): Int16Array[] {
  const view = new DataView(scalars.buffer, scalars.byteOffset, scalars.length);
  const count = scalars.length / SCALAR_BYTES;
  const windows = Array.from({ length: windowCount(bits) }, () => new Int16Array(count));
  const mask = 2 ** bits - 1;
  const half = 2 ** (bits - 1);
  for (let i = 0; i < count; i++) {
    const scalar = i * SCALAR_BYTES;
    let carry = 0;
    for (let window = 0; window < windows.length; window++) {
      const word = (window * bits) >>> 5;
      const skipped = (window * bits) & 31;
      const low = view.getUint32(scalar + 4 * word, true) >>> skipped;
      const crosses = skipped + bits > 32 && 4 * (word + 1) < SCALAR_BYTES;
      const high = crosses ? view.getUint32(scalar + 4 * (word + 1), true) << (32 - skipped) : 0;
      const digit = ((low | high) & mask) + carry;
      carry = digit > half ? 1 : 0;
      (windows[window] as Int16Array)[i] = digit - carry * 2 ** bits;
    }
  }
  return windows;
}
