/** Verification keys, read from snarkjs's JSON in the measured configuration, and their hashes. SPEC, sections 7 and 9.1. */
import { keccak, word } from "./bytes.ts";
import { linesOf, type Lines } from "./lines.ts";
import {
  isCanonical,
  isInfinity,
  pointOnCurve,
  pointOnTwist,
  type G1Point,
  type Pair,
  type Quad,
} from "./points.ts";
import { KIND_NAMES, signalCount, type KindName } from "./statement.ts";

export interface VerificationKey {
  readonly hash: Uint8Array;
  readonly alpha: G1Point;
  /** Of points of G2 only their lines are needed. */
  readonly beta: Lines;
  readonly gamma: Lines;
  readonly delta: Lines;
  /** One more than signals. */
  readonly ic: readonly G1Point[];
}

export type VerificationKeys = Readonly<Record<KindName, VerificationKey>>;

/** Throws for anything but exactly the four kinds' keys: a configuration that cannot be read serves nobody. */
export function readKeys(json: unknown): VerificationKeys {
  const keys = membersOf(json);
  const names = Object.keys(keys).sort();
  require(names.join() === [...KIND_NAMES].sort().join(), "other kinds");
  const read = KIND_NAMES.map((name) => [name, readKey(keys[name], signalCount(name))] as const);
  return Object.fromEntries(read) as Record<KindName, VerificationKey>;
}

function readKey(json: unknown, signals: number): VerificationKey {
  const key = membersOf(json);
  require(key["protocol"] === "groth16" && key["curve"] === "bn128", "another proof system");
  require(key["nPublic"] === signals, "another number of signals");
  const alpha = readPair(key["vk_alpha_1"]);
  const quads = ["vk_beta_2", "vk_gamma_2", "vk_delta_2"].map((name) => readQuad(key[name]));
  const ic = listOf(key["IC"], signals + 1).map(readPair);
  const [beta, gamma, delta] = quads.map(linesInGroup) as [Lines, Lines, Lines];
  const hash = keccak(...[alpha, ...quads, ...ic].flat().map(word));
  return { hash, alpha: mustBeOnCurve(alpha), beta, gamma, delta, ic: ic.map(mustBeOnCurve) };
}

function mustBeOnCurve(pair: Pair): G1Point {
  const point = isInfinity(pair) ? undefined : pointOnCurve(pair);
  require(point !== undefined, "no point of the curve");
  return point;
}

function linesInGroup(quad: Quad): Lines {
  const point = isInfinity(quad) ? undefined : pointOnTwist(quad);
  const [lines] = linesOf(point === undefined ? [] : [point]);
  require(lines !== undefined, "no point of the group");
  return lines;
}

/** ["x", "y", "1"] */
function readPair(json: unknown): Pair {
  const [x, y, z] = listOf(json, 3).map(coordinate) as [bigint, bigint, bigint];
  require(z === 1n, "a point that is not affine");
  return [x, y];
}

/** [["x.c0", "x.c1"], ["y.c0", "y.c1"], ["1", "0"]] */
function readQuad(json: unknown): Quad {
  const halves = listOf(json, 3).flatMap((pair) => listOf(pair, 2).map(coordinate));
  const [x0, x1, y0, y1, z0, z1] = halves as [...Quad, bigint, bigint];
  require(z0 === 1n && z1 === 0n, "a point that is not affine");
  return [x1, x0, y1, y0];
}

function coordinate(json: unknown): bigint {
  require(typeof json === "string" && /^(0|[1-9][0-9]{0,76})$/.test(json), "no number");
  const number = BigInt(json);
  require(isCanonical([number]), "a number at or above q");
  return number;
}

function listOf(json: unknown, length: number): readonly unknown[] {
  require(Array.isArray(json) && json.length === length, "no list of its length");
  return json;
}

function membersOf(json: unknown): Readonly<Record<string, unknown>> {
  require(typeof json === "object" && json !== null, "no object");
  return json as Record<string, unknown>;
}

function require(holds: boolean, fault: string): asserts holds {
  if (!holds) throw new Error(`verification keys: ${fault}`);
}
