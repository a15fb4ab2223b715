/**
 * The Groth16 prover over BN254 (Groth 2016, section 3.2), for proving keys and witnesses in snarkjs's file
 * forms. Trusts both: the key's hash was compared before, the witness is the user's own. snarkjs's own prover
 * leaves all but one processor idle while it evaluates the constraints and waits for each sum of points before
 * it begins the next; this one reads a key once, evaluates in the worker threads, queues everything at once, and
 * adds points in affine batches (groth16/kernel.ts).
 */
import { randomBytes } from "@noble/hashes/utils.js";
import type { Bn128, Step } from "ffjavascript";
import { FIELD_ORDER } from "../../../protocol/brands.ts";
import { bytesToUint, concatBytes } from "../../../protocol/bytes.ts";
import { toSnarkjsProof, type SnarkjsProof } from "../../../protocol/host/proofs.ts";
import { sumOf } from "./sums.ts";

/** Bytes of a field element and of a scalar. */
const ELEMENT = 32;
const G1_POINT = 2 * ELEMENT;
const G2_POINT = 4 * ELEMENT;
/** Of a coefficient: matrix[4], constraint[4], wire[4], value[32]. */
const COEFFICIENT = 12 + ELEMENT;
/** Of the work, in additions in G1: an addition in G2, and an element of the quotient. */
const G2_COST = 3;
const QUOTIENT_COST = 1;
/** More tasks than most devices have processors, so that none of them waits long for the last one. */
const ROW_TASKS = 8;

/** Bases without the points at infinity (wires that a matrix does not use), and the wires they belong to. */
interface Query {
  readonly bases: Uint8Array;
  readonly wires: Uint32Array;
}

/** Consecutive constraints with their coefficients in both matrices. */
interface Rows {
  readonly from: number;
  readonly count: number;
  readonly coefficients: Uint8Array;
}

export interface ProvingKey {
  readonly wireCount: number;
  readonly publicCount: number;
  /** A power of two, at least the number of constraints. */
  readonly domainSize: number;
  readonly alpha1: Uint8Array;
  readonly beta1: Uint8Array;
  readonly beta2: Uint8Array;
  readonly delta1: Uint8Array;
  readonly delta2: Uint8Array;
  readonly rows: readonly Rows[];
  readonly a: Query;
  readonly b1: Query;
  readonly b2: Query;
  /** The private wires, then the powers of the quotient: one sum in the proof. */
  readonly c: Query;
  readonly h: Uint8Array;
}

/** `zkey` as snarkjs writes it: sections 2 (header), 4 (coefficients), 5 to 9 (points). Throws for another file. */
export function readProvingKey(zkey: Uint8Array): ProvingKey {
  const sections = readSections(zkey);
  const header = section(sections, 2);
  const view = viewOf(header);
  // Two primes with their lengths come first.
  let at = 2 * (4 + ELEMENT);
  const number = (): number => view.getUint32((at += 4) - 4, true);
  const point = (bytes: number): Uint8Array => header.slice((at += bytes) - bytes, at);
  const wireCount = number();
  const publicCount = number();
  const domainSize = number();
  const alpha1 = point(G1_POINT);
  const beta1 = point(G1_POINT);
  const beta2 = point(G2_POINT);
  point(G2_POINT); // gamma: only a verifier needs it
  const delta1 = point(G1_POINT);
  const delta2 = point(G2_POINT);
  return {
    ...{ wireCount, publicCount, domainSize, alpha1, beta1, beta2, delta1, delta2 },
    rows: readRows(section(sections, 4).subarray(4), domainSize),
    a: readQuery(section(sections, 5), G1_POINT, 0),
    b1: readQuery(section(sections, 6), G1_POINT, 0),
    b2: readQuery(section(sections, 7), G2_POINT, 0),
    c: readQuery(section(sections, 8), G1_POINT, publicCount + 1),
    h: section(sections, 9).slice(),
  };
}

/** The witness in a .wtns file: one scalar of 32 bytes, little-endian, for each wire. */
export function readWitness(wtns: Uint8Array): Uint8Array {
  return section(readSections(wtns), 2);
}

/** In order, without the leading one. */
export function publicSignalsOf(key: ProvingKey, witness: Uint8Array): bigint[] {
  return Array.from({ length: key.publicCount }, (_, i) =>
    bytesToUint(witness.slice((i + 1) * ELEMENT, (i + 2) * ELEMENT).reverse()),
  );
}

/** `report` is called with the share of the work that is done, from 0 to 1. */
export async function proveGroth16(
  curve: Bn128,
  key: ProvingKey,
  witness: Uint8Array,
  report: (fraction: number) => void = () => undefined,
): Promise<SnarkjsProof> {
  if (witness.length !== key.wireCount * ELEMENT) throw new Error("the witness is for another circuit");
  const { Fr, G1, G2 } = curve;

  const bases = { a: key.a.bases, b1: key.b1.bases, b2: key.b2.bases, c: concatBytes(key.c.bases, key.h) };
  const worked = shareOut(
    {
      a: bases.a.length / G1_POINT,
      b1: bases.b1.length / G1_POINT,
      b2: (bases.b2.length / G2_POINT) * G2_COST,
      c: bases.c.length / G1_POINT,
      quotient: key.domainSize * QUOTIENT_COST,
    },
    report,
  );
  const quotient = quotientOf(curve, key, witness, (share) => worked("quotient", share));
  const sum = (name: "G1" | "G2", part: keyof typeof bases, scalars: Uint8Array): Promise<Uint8Array> =>
    sumOf(curve, name, bases[part], scalars, (share) => worked(part, share));
  const [sumA, sumB1, sumB2, sumC] = await Promise.all([
    sum("G1", "a", gather(witness, key.a.wires)),
    sum("G1", "b1", gather(witness, key.b1.wires)),
    sum("G2", "b2", gather(witness, key.b2.wires)),
    quotient.then((powers) => sum("G1", "c", concatBytes(gather(witness, key.c.wires), powers))),
  ]);

  // Fresh for every proof: they alone hide the witness.
  const r = Fr.e(randomScalar());
  const s = Fr.e(randomScalar());
  const a = G1.add(G1.add(sumA, key.alpha1), G1.timesFr(key.delta1, r));
  const b1 = G1.add(G1.add(sumB1, key.beta1), G1.timesFr(key.delta1, s));
  const b2 = G2.add(G2.add(sumB2, key.beta2), G2.timesFr(key.delta2, s));
  const c = [G1.timesFr(a, s), G1.timesFr(b1, r), G1.timesFr(key.delta1, Fr.neg(Fr.mul(r, s)))].reduce(
    (sum, part) => G1.add(sum, part),
    sumC,
  );
  const [ax = 0n, ay = 0n] = G1.toObject(G1.toAffine(a));
  const [bx = [0n, 0n] as const, by = [0n, 0n] as const] = G2.toObject(G2.toAffine(b2));
  const [cx = 0n, cy = 0n] = G1.toObject(G1.toAffine(c));
  return toSnarkjsProof({ a: [ax, ay], b: [bx, by], c: [cx, cy] });
}

/** Parts of the work report their shares, from 0 to 1 together; a part weighs what it costs. */
function shareOut<Part extends string>(
  costs: Readonly<Record<Part, number>>,
  report: (fraction: number) => void,
): (part: Part, share: number) => void {
  const total = Object.values<number>(costs).reduce((sum, cost) => sum + cost, 0);
  let done = 0;
  return (part, share) => {
    done += (costs[part] * share) / total;
    report(Math.min(1, done));
  };
}

// ---------------------------------------------------------------- the quotient polynomial

/**
 * Scalars for the key's H points: A·B − C off the domain, where its zeros are divided out by the key.
 * C is A·B on the domain, which is what a witness that satisfies the constraints makes of it.
 */
async function quotientOf(
  curve: Bn128,
  key: ProvingKey,
  witness: Uint8Array,
  worked: (share: number) => void,
): Promise<Uint8Array> {
  const { Fr, tm } = curve;
  const evaluated = await Promise.all(
    key.rows.map(({ from, count, coefficients }) => {
      const bytes = count * ELEMENT;
      return tm.queueAction([
        { cmd: "ALLOCSET", var: 0, buff: coefficients },
        { cmd: "ALLOCSET", var: 1, buff: witness },
        ...[2, 3, 4].map((variable): Step => ({ cmd: "ALLOC", var: variable, len: bytes })),
        {
          cmd: "CALL",
          fnName: "qap_buildABC",
          params: [
            { var: 0 },
            { val: coefficients.length / COEFFICIENT },
            ...[1, 2, 3, 4].map((variable) => ({ var: variable })),
            ...[from, count, 0, key.wireCount].map((value) => ({ val: value })),
          ],
        },
        ...[2, 3, 4].map((variable): Step => ({ cmd: "GET", out: variable - 2, var: variable, len: bytes })),
      ]);
    }),
  );
  worked(1 / 8);
  const power = Math.log2(key.domainSize);
  const step = power === Fr.s ? Fr.shift : (Fr.w[power + 1] as Uint8Array);
  const shifted = await Promise.all(
    [0, 1, 2].map(async (matrix) => {
      const values = concatBytes(...evaluated.map((parts) => parts[matrix] as Uint8Array));
      const off = await Fr.fft(await Fr.batchApplyKey(await Fr.ifft(values), Fr.e(1), step));
      worked(1 / 4);
      return off;
    }),
  );
  const perTask = Math.ceil(key.domainSize / tm.concurrency);
  const parts = await Promise.all(
    Array.from({ length: Math.ceil(key.domainSize / perTask) }, (_, i) => {
      const cut = shifted.map((values) => values.slice(i * perTask * ELEMENT, (i + 1) * perTask * ELEMENT));
      const bytes = (cut[0] as Uint8Array).length;
      const count = { val: bytes / ELEMENT };
      return tm.queueAction([
        ...cut.map((buff, variable): Step => ({ cmd: "ALLOCSET", var: variable, buff })),
        { cmd: "ALLOC", var: 3, len: bytes },
        {
          cmd: "CALL",
          fnName: "qap_joinABC",
          params: [{ var: 0 }, { var: 1 }, { var: 2 }, count, { var: 3 }],
        },
        { cmd: "CALL", fnName: "frm_batchFromMontgomery", params: [{ var: 3 }, count, { var: 3 }] },
        { cmd: "GET", out: 0, var: 3, len: bytes },
      ]);
    }),
  );
  worked(1 / 8);
  return concatBytes(...parts.map(([part]) => part as Uint8Array));
}

// ---------------------------------------------------------------- files

function readRows(coefficients: Uint8Array, domainSize: number): Rows[] {
  const view = viewOf(coefficients);
  const count = coefficients.length / COEFFICIENT;
  const constraintOf = (i: number): number => view.getUint32(i * COEFFICIENT + 4, true);
  // Cut where a constraint begins, into parts with about as many coefficients: the last rows have few.
  const cuts = [0];
  for (let i = 1; i < count; i++) {
    if (constraintOf(i) < constraintOf(i - 1)) throw new Error("coefficients are not in order");
    if (i >= (cuts.length * count) / ROW_TASKS && constraintOf(i) !== constraintOf(i - 1)) cuts.push(i);
  }
  return cuts.map((cut, task) => {
    const from = task === 0 ? 0 : constraintOf(cut);
    const next = cuts[task + 1];
    const end = next === undefined ? domainSize : constraintOf(next);
    return {
      from,
      count: end - from,
      coefficients: coefficients.slice(cut * COEFFICIENT, (next ?? count) * COEFFICIENT),
    };
  });
}

function readQuery(points: Uint8Array, size: number, firstWire: number): Query {
  const used: number[] = [];
  for (let i = 0; i < points.length / size; i++) {
    if (points.subarray(i * size, (i + 1) * size).some((byte) => byte !== 0)) used.push(i);
  }
  const bases = new Uint8Array(used.length * size);
  used.forEach((i, at) => bases.set(points.subarray(i * size, (i + 1) * size), at * size));
  return { bases, wires: Uint32Array.from(used, (i) => i + firstWire) };
}

/** iden3's binary files: magic[4], version[4], count[4], then sections of id[4], length[8], bytes. */
function readSections(file: Uint8Array): Map<number, Uint8Array> {
  const view = viewOf(file);
  const found = new Map<number, Uint8Array>();
  let at = 12;
  for (let i = view.getUint32(8, true); i > 0; i--) {
    const length = Number(view.getBigUint64(at + 4, true));
    found.set(view.getUint32(at, true), file.subarray(at + 12, at + 12 + length));
    at += 12 + length;
  }
  return found;
}

function section(sections: ReadonlyMap<number, Uint8Array>, id: number): Uint8Array {
  const found = sections.get(id);
  if (found === undefined) throw new Error(`section ${String(id)} is missing`);
  return found;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function gather(witness: Uint8Array, wires: Uint32Array): Uint8Array {
  const scalars = new Uint8Array(wires.length * ELEMENT);
  wires.forEach((wire, at) =>
    scalars.set(witness.subarray(wire * ELEMENT, (wire + 1) * ELEMENT), at * ELEMENT),
  );
  return scalars;
}

/** 384 random bits leave no bias worth the name. */
function randomScalar(): bigint {
  return bytesToUint(randomBytes(48)) % FIELD_ORDER;
}
