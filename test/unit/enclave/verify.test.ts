import assert from "node:assert/strict";
import { groth16 } from "snarkjs";
import { bn254 } from "@noble/curves/bn254.js";
import { loadVerificationKeys } from "../../../enclave/verification-keys.ts";
import { buildVerifier, type ProofPoints, type Verifier } from "../../../enclave/verify.ts";
import { releaseCurve } from "../../../scripts/circuits/ceremony.ts";
import { FIELD_ORDER, mustField, type Field } from "../../../shared/protocol/brands.ts";
import { toSnarkjsProof, type Proof } from "../../../shared/protocol/proof.ts";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import type { VerificationKey } from "../../../shared/protocol/verification-key.ts";
import { aProvenDeposit, aProvenSpend, aToldSpend9, aToldSwap } from "./support/statements.ts";
import {
  forge,
  g1,
  g2,
  holdsByNoble,
  negate,
  negateG2,
  onTwistOutsideSubgroup,
  toSnarkjsKey,
  toyKey,
} from "./support/toy-groth16.ts";

const numbers = (from: bigint, count: number): bigint[] =>
  Array.from({ length: count }, (_, i) => from + BigInt(i));
/** IC[0] + 2·IC[1] is zero: the signals [2, 0, …] make X the point at infinity. */
const DEPOSIT_IC = [-10n, 5n, 6n, 7n, 8n, 9n, 10n];
const SPEND_IC = numbers(1n, 11);
const IC: Record<Kind, bigint[]> = {
  "deposit-shield": DEPOSIT_IC,
  spend: SPEND_IC,
  spend9: numbers(3n, 18),
  "private-swap": numbers(2n, 10),
};
const SIGNALS: Record<Kind, Field[]> = {
  "deposit-shield": fields(1n, 2n, 3n, 4n, 5n, FIELD_ORDER - 1n),
  spend: fields(9n, 8n, 7n, 6n, 5n, 4n, 3n, 2n, 1n, 0n),
  spend9: fields(...numbers(100n, 17)),
  "private-swap": fields(...numbers(FIELD_ORDER - 9n, 9)),
};

describe("enclave/verify", function () {
  this.timeout(120_000);

  let toy: Verifier;
  const keys: Record<Kind, VerificationKey> = {
    "deposit-shield": toyKey(IC["deposit-shield"]),
    spend: toyKey(IC.spend),
    spend9: toyKey(IC.spend9),
    "private-swap": toyKey(IC["private-swap"]),
  };

  before(async () => {
    toy = await buildVerifier(keys);
  });
  after(releaseCurve);

  const read = (proof: Proof): ProofPoints => {
    const points = toy.readPoints(proof);
    if (typeof points === "string") throw new Error(points);
    return points;
  };

  describe("the points of a proof", () => {
    const good = forge(SPEND_IC, SIGNALS.spend);

    it("passes points of the prime-order groups", () => {
      assert.equal(typeof toy.readPoints(good), "object");
    });

    for (const [name, proof] of Object.entries<Proof>({
      A: { ...good, a: [0n, 0n] },
      B: {
        ...good,
        b: [
          [0n, 0n],
          [0n, 0n],
        ],
      },
      C: { ...good, c: [0n, 0n] },
    })) {
      it(`refuses ${name} at infinity`, () => assert.equal(toy.readPoints(proof), "PROOF_AT_INFINITY"));
    }

    for (const [name, proof] of Object.entries<Proof>({
      A: { ...good, a: [good.a[0], good.a[1] ^ 1n] },
      "A with a zero x": { ...good, a: [0n, 5n] },
      B: { ...good, b: [good.b[0], [good.b[1][0] ^ 1n, good.b[1][1]]] },
      "B on the untwisted curve": {
        ...good,
        b: [
          [1n, 0n],
          [2n, 0n],
        ],
      },
      "B with the halves of its coordinates exchanged": {
        ...good,
        b: [
          [good.b[0][1], good.b[0][0]],
          [good.b[1][1], good.b[1][0]],
        ],
      },
      C: { ...good, c: [good.c[0] ^ 1n, good.c[1]] },
    })) {
      it(`refuses ${name} off its curve`, () => assert.equal(toy.readPoints(proof), "PROOF_NOT_ON_CURVE"));
    }

    it("refuses B on the twist but outside the subgroup, whatever cofactor part it has", () => {
      const outside = onTwistOutsideSubgroup();
      assert.equal(toy.readPoints({ ...good, b: outside }), "PROOF_NOT_IN_SUBGROUP");

      // A good B plus a point of cofactor order: the hardest to tell from a good one.
      const { Fp2 } = bn254.fields;
      const Point = bn254.G2.Point;
      const point = Point.fromAffine({
        x: Fp2.fromBigTuple([...outside[0]]),
        y: Fp2.fromBigTuple([...outside[1]]),
      });
      const cofactorPart = point.multiplyUnsafe(FIELD_ORDER - 1n).add(point); // r·P
      assert.equal(cofactorPart.is0(), false);
      const { x, y } = Point.BASE.multiply(7n).add(cofactorPart).toAffine();
      const shifted: Proof = {
        ...good,
        b: [
          [x.c0, x.c1],
          [y.c0, y.c1],
        ],
      };
      assert.equal(toy.readPoints(shifted), "PROOF_NOT_IN_SUBGROUP");
    });

    it("agrees with noble on the subgroup for points of both kinds", () => {
      for (const scalar of [1n, 2n, 3n, FIELD_ORDER - 1n, 1n << 200n]) {
        assert.equal(typeof toy.readPoints({ ...good, b: g2(scalar) }), "object");
      }
    });
  });

  describe("the pairing equation, beside snarkjs and noble", () => {
    for (const kind of KIND_NAMES) {
      const cases: Record<string, { proof: Proof; signals: Field[]; holds: boolean }> = {};
      const proof = forge(IC[kind], SIGNALS[kind]);
      cases["a good proof"] = { proof, signals: SIGNALS[kind], holds: true };
      cases["another good proof of the same"] = {
        proof: forge(IC[kind], SIGNALS[kind], 77n, 1n << 130n),
        signals: SIGNALS[kind],
        holds: true,
      };
      cases["another A"] = { proof: { ...proof, a: g1(6n) }, signals: SIGNALS[kind], holds: false };
      cases["another B"] = { proof: { ...proof, b: g2(8n) }, signals: SIGNALS[kind], holds: false };
      cases["another C"] = { proof: { ...proof, c: g1(1n) }, signals: SIGNALS[kind], holds: false };
      cases["A negated alone"] = {
        proof: { ...proof, a: negate(proof.a) },
        signals: SIGNALS[kind],
        holds: false,
      };
      cases["A and C exchanged"] = {
        proof: { ...proof, a: proof.c, c: proof.a },
        signals: SIGNALS[kind],
        holds: false,
      };
      SIGNALS[kind].forEach((value, place) => {
        const signals = SIGNALS[kind].with(place, mustField((value + 1n) % FIELD_ORDER));
        cases[`signal ${String(place)} one higher`] = { proof, signals, holds: false };
      });

      for (const [name, { proof: shown, signals, holds }] of Object.entries(cases)) {
        it(`${kind}: ${holds ? "accepts" : "refuses"} ${name}`, async () => {
          assert.equal(toy.holds(kind, read(shown), signals), holds);
          assert.equal(holdsByNoble(keys[kind], shown, signals), holds);
          const theirs = await groth16.verify(
            toSnarkjsKey(keys[kind]),
            signals.map(String),
            toSnarkjsProof(shown),
          );
          assert.equal(theirs, holds);
        });
      }
    }

    it("knows no proof of one kind as a proof of another", () => {
      const points = read(forge(DEPOSIT_IC, SIGNALS["deposit-shield"]));
      assert.equal(toy.holds("deposit-shield", points, SIGNALS["deposit-shield"]), true);
      assert.equal(toy.holds("spend", points, SIGNALS.spend), false);
    });

    it("takes signals whose combination of the key's points is zero", () => {
      const signals = fields(2n, 0n, 0n, 0n, 0n, 0n);
      const proof = forge(DEPOSIT_IC, signals);
      assert.equal(toy.holds("deposit-shield", read(proof), signals), true);
      assert.equal(toy.holds("deposit-shield", read({ ...proof, c: g1(3n) }), signals), false);
    });

    it("throws, never answers, when the number of signals is not the key's", () => {
      const points = read(forge(SPEND_IC, SIGNALS.spend));
      // snarkjs takes the missing last signal, which is 0, for granted.
      assert.throws(() => toy.holds("spend", points, SIGNALS.spend.slice(0, -1)));
      assert.throws(() => toy.holds("spend", points, [...SIGNALS.spend, mustField(0n)]));
    });
  });

  describe("malleability, which nothing in the protocol rests on", () => {
    it("accepts the negated twin (−A, −B, C)", () => {
      const proof = forge(SPEND_IC, SIGNALS.spend);
      const twin: Proof = { ...proof, a: negate(proof.a), b: negateG2(proof.b) };
      assert.notDeepEqual(twin, proof);
      assert.equal(toy.holds("spend", read(twin), SIGNALS.spend), true);
    });

    it("accepts a re-randomised proof (A/t, t·B, C), which a stranger makes from a published one", () => {
      const t = 123n;
      const inverse = bn254.fields.Fr.inv(t);
      const scaled: Proof = {
        a: g1(bn254.fields.Fr.mul(5n, inverse)),
        b: g2(7n * t),
        c: forge(SPEND_IC, SIGNALS.spend).c,
      };
      assert.equal(toy.holds("spend", read(scaled), SIGNALS.spend), true);
    });
  });

  describe("with the pinned keys", () => {
    let pinned: Verifier;
    before(async () => {
      pinned = await buildVerifier(loadVerificationKeys());
    });

    for (const [kind, make] of [
      ["deposit-shield", aProvenDeposit],
      ["spend", aProvenSpend],
      ["spend9", aToldSpend9],
      ["private-swap", aToldSwap],
    ] as const) {
      it(`accepts a real ${kind} and refuses it with one changed signal, as snarkjs does`, async () => {
        const { proof, request } = await make();
        const points = pinned.readPoints(proof);
        if (typeof points === "string") throw new Error(points);
        const signals = request.signals.map(mustField);
        const key = toSnarkjsKey(loadVerificationKeys()[kind]);
        assert.equal(pinned.holds(kind, points, signals), true);
        assert.equal(await groth16.verify(key, signals.map(String), toSnarkjsProof(proof)), true);
        const changed = signals.with(-1, mustField((signals.at(-1)! + 1n) % FIELD_ORDER));
        assert.equal(pinned.holds(kind, points, changed), false);
        assert.equal(await groth16.verify(key, changed.map(String), toSnarkjsProof(proof)), false);
      });
    }
  });
});

function fields(...values: bigint[]): Field[] {
  return values.map(mustField);
}
