/**
 * Proofs under the keys of keys.ts, for any public signals, true or not, without circuit and witness. They
 * verify like real ones and are spread like real ones: A and B are random, C follows. For benchmarks only.
 */
import { randomBytes } from "node:crypto";
import { invert } from "@noble/curves/abstract/modular.js";
import { buildBn128, type CurveGroup } from "ffjavascript";
import { FIELD_ORDER, type Field } from "../../../../shared/protocol/brands.ts";
import { bytesToUint } from "../../../../shared/protocol/bytes.ts";
import type { Proof } from "../../../../shared/protocol/proof.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../../shared/protocol/statements.ts";
import { BENCHMARK_PHRASE, trapdoorOf, type Trapdoor } from "./keys.ts";

export interface Simulator {
  /** Another proof each time. Throws for another number of signals than the kind has. */
  prove(kind: Kind, signals: readonly Field[]): Proof;
}

/** `drawScalar`, from 1 to r − 1, makes the proofs repeatable. */
export async function openSimulator(
  phrase = BENCHMARK_PHRASE,
  drawScalar = randomScalar,
): Promise<Simulator> {
  const { G1, G2 } = await buildBn128(true);
  const g1 = (scalar: bigint): Proof["a"] => timesGenerator(G1, scalar);
  const g2 = (scalar: bigint): Proof["b"] => timesGenerator(G2, scalar);
  const secrets = new Map(
    KIND_NAMES.map((kind) => {
      const trapdoor = trapdoorOf(kind, phrase);
      return [kind, { trapdoor, perDelta: invert(trapdoor.delta, FIELD_ORDER) }] as const;
    }),
  );
  return {
    prove(kind, signals) {
      if (signals.length !== signalCount(kind)) throw new RangeError("another number of signals");
      const { trapdoor, perDelta } = secrets.get(kind)!;
      for (;;) {
        const [a, b] = [drawScalar(), drawScalar()];
        const c = (remainder(trapdoor, a, b, signals) * perDelta) % FIELD_ORDER;
        // A zero C has no affine form; it comes once in 2^254 proofs.
        if (c !== 0n) return { a: g1(a), b: g2(b), c: g1(c) };
      }
    },
  };
}

function timesGenerator<Coordinate>(group: CurveGroup<Coordinate>, scalar: bigint): [Coordinate, Coordinate] {
  const [x, y] = group.toObject(group.toAffine(group.timesScalar(group.g, scalar)));
  return [x!, y!];
}

/** a·b − α·β − γ·x with x = IC[0] + Σ signals[i]·IC[i + 1]: what C·δ has to make up for in e(A, B) = e(α, β)·e(X, γ)·e(C, δ). */
function remainder(
  { alpha, beta, gamma, ic }: Trapdoor,
  a: bigint,
  b: bigint,
  signals: readonly Field[],
): bigint {
  const x = ic.reduce((sum, scalar, i) => sum + scalar * (i === 0 ? 1n : signals[i - 1]!), 0n);
  const rest = (a * b - alpha * beta - gamma * (x % FIELD_ORDER)) % FIELD_ORDER;
  return rest < 0n ? rest + FIELD_ORDER : rest;
}

/** From 1 to r − 1. */
function randomScalar(): bigint {
  return (bytesToUint(new Uint8Array(randomBytes(64))) % (FIELD_ORDER - 1n)) + 1n;
}
