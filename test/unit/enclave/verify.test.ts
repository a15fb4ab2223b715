import assert from "node:assert/strict";
import { bn254 } from "@noble/curves/bn254.js";
import { groth16 } from "snarkjs";
import { buildBn254 } from "../../../enclave/bn254.ts";
import type { Claim, Verdict } from "../../../enclave/claims.ts";
import { parseConfiguration } from "../../../enclave/configuration.ts";
import { buildGroth16, MAX_CLAIMS, type Groth16 } from "../../../enclave/verify.ts";
import { releaseCurve } from "../../../scripts/build/circuits/ceremony.ts";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { BASE_FIELD_ORDER, FIELD_ORDER, mustField, type Field } from "../../../shared/protocol/brands.ts";
import { toSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { decodeProof, type Proof } from "../../../shared/protocol/proof.ts";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import type { VerificationKey } from "../../../shared/protocol/verification-key.ts";
import { aField, below, someBytes } from "./support/random.ts";
import { PROVEN } from "./support/statements.ts";
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
  let toy: Groth16;
  const keys: Record<Kind, VerificationKey> = {
    "deposit-shield": toyKey(IC["deposit-shield"]),
    spend: toyKey(IC.spend),
    spend9: toyKey(IC.spend9),
    "private-swap": toyKey(IC["private-swap"]),
  };

  before(async () => {
    toy = await buildGroth16(keys);
  });
  // What snarkjs keeps for the next proof would hold the process open.
  after(releaseCurve);

  const aClaim = (changes: Partial<Claim> = {}): Claim => {
    const kind = changes.kind ?? "spend";
    const signals = changes.signals ?? SIGNALS[kind];
    return { kind, signals, proof: forge(IC[kind], signals), ...changes };
  };
  /** Of any kind, with any signals, made with any A and B. */
  const anyClaim = (): Claim => {
    const kind = KIND_NAMES[below(KIND_NAMES.length)]!;
    const signals = SIGNALS[kind].map(() => aField());
    return { kind, signals, proof: forge(IC[kind], signals, aField(), aField()) };
  };
  const alone = (changes: Partial<Claim> = {}): Verdict => toy.verdicts([aClaim(changes)])[0]!;
  const bySnarkjs = (
    { kind, proof, signals }: Claim,
    changes: Record<string, unknown> = {},
  ): Promise<boolean> =>
    groth16.verify(toSnarkjsKey(keys[kind]), signals.map(String), { ...toSnarkjsProof(proof), ...changes });
  const byNoble = ({ kind, proof, signals }: Claim): boolean => holdsByNoble(keys[kind], proof, signals);

  describe("the points of a proof", () => {
    const good = forge(SPEND_IC, SIGNALS.spend);

    it("passes points of the prime-order groups", () => assert.equal(alone({ proof: good }), "PROOF_HOLDS"));

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
      it(`refuses ${name} at infinity`, () => assert.equal(alone({ proof }), "PROOF_AT_INFINITY"));
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
      it(`refuses ${name} off its curve`, () => assert.equal(alone({ proof }), "PROOF_NOT_ON_CURVE"));
    }

    it("refuses B on the twist but outside the subgroup, whatever cofactor part it has", () => {
      const outside = onTwistOutsideSubgroup();
      assert.equal(alone({ proof: { ...good, b: outside } }), "PROOF_NOT_IN_SUBGROUP");

      // A good B plus a point of cofactor order: the hardest to tell from a good one.
      const point = nobleG2(outside);
      const cofactorPart = point.multiplyUnsafe(FIELD_ORDER - 1n).add(point); // r·P
      assert.equal(cofactorPart.is0(), false);
      const { x, y } = bn254.G2.Point.BASE.multiply(7n).add(cofactorPart).toAffine();
      const shifted: Proof = {
        ...good,
        b: [
          [x.c0, x.c1],
          [y.c0, y.c1],
        ],
      };
      assert.equal(alone({ proof: shifted }), "PROOF_NOT_IN_SUBGROUP");
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
          const claim = { kind, proof: shown, signals };
          assert.equal(alone(claim), holds ? "PROOF_HOLDS" : "PROOF_INVALID");
          assert.equal(byNoble(claim), holds);
          assert.equal(await bySnarkjs(claim), holds);
        });
      }
    }

    it("knows no proof of one kind as a proof of another", () => {
      const { proof } = aClaim({ kind: "deposit-shield" });
      assert.equal(alone({ kind: "deposit-shield", proof }), "PROOF_HOLDS");
      assert.equal(alone({ kind: "spend", proof }), "PROOF_INVALID");
    });

    it("takes signals whose combination of the key's points is zero", () => {
      const claim = aClaim({ kind: "deposit-shield", signals: fields(2n, 0n, 0n, 0n, 0n, 0n) });
      assert.equal(alone(claim), "PROOF_HOLDS");
      assert.equal(alone({ ...claim, proof: { ...claim.proof, c: g1(3n) } }), "PROOF_INVALID");
      assert.deepEqual(toy.verdicts([claim, claim], someBytes(32)), ["PROOF_HOLDS", "PROOF_HOLDS"]);
    });
  });

  describe("where snarkjs is laxer", () => {
    it("it takes a missing last signal for zero; here another number of signals throws, never answers", async () => {
      const claim = aClaim();
      assert.equal(claim.signals.at(-1), 0n);
      const shorter = { ...claim, signals: claim.signals.slice(0, -1) };
      assert.equal(await bySnarkjs(shorter), true);
      assert.throws(() => toy.verdicts([shorter]));
      assert.throws(() => toy.verdicts([claim, shorter], someBytes(32)));
      assert.throws(() => alone({ signals: [...claim.signals, mustField(0n)], proof: claim.proof }));
    });

    it("it takes a coordinate above q; no such proof is decoded here", async () => {
      const claim = aClaim();
      const [x, y] = claim.proof.a;
      assert.equal(await bySnarkjs(claim, { pi_a: [String(x + BASE_FIELD_ORDER), String(y), "1"] }), true);
      const words = [x + BASE_FIELD_ORDER, y, 0n, 0n, 0n, 0n, 0n, 0n];
      const bytes = Buffer.from(words.map((word) => word.toString(16).padStart(64, "0")).join(""), "hex");
      assert.equal(decodeProof(bytes), undefined);
    });

    it("it looks at no subgroup, only at the equation; noble and we refuse the point itself", async () => {
      const proof = { ...aClaim().proof, b: onTwistOutsideSubgroup() };
      assert.equal(await bySnarkjs(aClaim({ proof })), false);
      assert.throws(() => nobleG2(proof.b).assertValidity());
      assert.equal(alone({ proof }), "PROOF_NOT_IN_SUBGROUP");
    });

    it("all three accept the negated twin (−A, −B, C), on which nothing in the protocol rests", async () => {
      const { proof } = aClaim();
      const twin = aClaim({ proof: { ...proof, a: negate(proof.a), b: negateG2(proof.b) } });
      assert.notDeepEqual(twin.proof, proof);
      assert.deepEqual([alone(twin), byNoble(twin), await bySnarkjs(twin)], ["PROOF_HOLDS", true, true]);
    });

    it("and a re-randomised proof (A/t, t·B, C), which a stranger makes from a published one", async () => {
      const t = 123n;
      const { Fr } = bn254.fields;
      const claim = aClaim({ proof: { ...aClaim().proof, a: g1(Fr.div(5n, t)), b: g2(7n * t) } });
      assert.deepEqual([alone(claim), byNoble(claim), await bySnarkjs(claim)], ["PROOF_HOLDS", true, true]);
    });
  });

  describe("many at once", () => {
    const bad = (claim: Claim): Claim => ({ ...claim, proof: { ...claim.proof, c: g1(aField()) } });
    const outside = (claim: Claim): Claim => ({
      ...claim,
      proof: { ...claim.proof, b: onTwistOutsideSubgroup() },
    });
    const atInfinity = (claim: Claim): Claim => ({ ...claim, proof: { ...claim.proof, a: [0n, 0n] } });
    const shifted = (claim: Claim): Claim => ({
      ...claim,
      signals: claim.signals.with(0, mustField((claim.signals[0]! + 1n) % FIELD_ORDER)),
    });
    const together = (claims: readonly Claim[], randomness = someBytes(16 * claims.length)): Verdict[] =>
      toy.verdicts(claims, randomness);

    it("holds for good proofs of one kind and of all kinds, up to the most that have room", () => {
      for (const claims of [
        Array.from({ length: 4 }, () => aClaim()),
        KIND_NAMES.map((kind) => aClaim({ kind })),
        Array.from({ length: MAX_CLAIMS }, (_, i) => aClaim({ kind: KIND_NAMES[i % 4]! })),
      ]) {
        assert.deepEqual(
          together(claims),
          claims.map(() => "PROOF_HOLDS"),
        );
        // The last of many has the largest scalars.
        assert.deepEqual(
          together(claims.with(-1, bad(claims.at(-1)!)), new Uint8Array(16 * claims.length).fill(0xff)),
          claims.map((_, i) => (i === claims.length - 1 ? "PROOF_INVALID" : "PROOF_HOLDS")),
        );
      }
    });

    it("refuses the one bad proof and no other, wherever it stands", () => {
      const claims = [...KIND_NAMES, ...KIND_NAMES].map((kind) => aClaim({ kind }));
      claims.forEach((_, place) => {
        assert.deepEqual(
          together(claims.with(place, bad(claims[place]!))),
          claims.map((_claim, i) => (i === place ? "PROOF_INVALID" : "PROOF_HOLDS")),
        );
      });
    });

    it("finds the one bad proof of sixteen by one product more, not by sixteen", async () => {
      const curves = await buildBn254();
      let products = 0;
      const counted = await buildGroth16(keys, {
        ...curves,
        product: (...given) => {
          products += 1;
          curves.product(...given);
        },
      });
      const productsFor = (claims: readonly Claim[]): number => {
        products = 0;
        counted.verdicts(claims, someBytes(16 * claims.length));
        return products;
      };
      const claims = Array.from({ length: 16 }, (_, i) => aClaim({ kind: KIND_NAMES[i % 4]! }));
      assert.equal(productsFor(claims), 1);
      claims.forEach((claim, place) => assert.equal(productsFor(claims.with(place, bad(claim))), 2));
      // Of two bad ones neither can be told: one by one.
      assert.equal(productsFor(claims.with(3, bad(claims[3]!)).with(9, bad(claims[9]!))), 2 + 16);
    });

    it("takes no fault for the middle of two around it", () => {
      // (1 − 2)·w·x + (3 − 2)·w·x = 0: with equal weights the second would be blamed for the first and the third.
      const one = bad(aClaim());
      const claims = [one, aClaim(), one];
      const right: Verdict[] = ["PROOF_INVALID", "PROOF_HOLDS", "PROOF_INVALID"];
      assert.deepEqual(together(claims), right);
      assert.notDeepEqual(together(claims, new Uint8Array(48).fill(7)), right);
    });

    it("tells each fault apart from its neighbours'", () => {
      const claims = [
        aClaim(),
        bad(aClaim()),
        outside(aClaim()),
        atInfinity(aClaim()),
        shifted(aClaim()),
        aClaim(),
      ];
      assert.deepEqual(together(claims), [
        "PROOF_HOLDS",
        "PROOF_INVALID",
        "PROOF_NOT_IN_SUBGROUP",
        "PROOF_AT_INFINITY",
        "PROOF_INVALID",
        "PROOF_HOLDS",
      ]);
    });

    it("gives any mixture the verdicts that each gets alone, from us and from noble", () => {
      const faults = [bad, outside, atInfinity, shifted];
      for (let round = 0; round < 5; round++) {
        const claims = Array.from({ length: 1 + below(16) }, () => {
          const claim = anyClaim();
          return below(4) === 0 ? faults[below(faults.length)]!(claim) : claim;
        });
        const alones = claims.flatMap((claim) => toy.verdicts([claim]));
        assert.deepEqual(together(claims), alones);
        assert.deepEqual(toy.verdicts(claims), alones);
        claims.slice(0, 3).forEach((claim, i) => {
          if (alones[i] === "PROOF_HOLDS" || alones[i] === "PROOF_INVALID")
            assert.equal(byNoble(claim), alones[i] === "PROOF_HOLDS");
        });
      }
    });

    // Two false proofs whose faults are each other's inverse: the product of the equations is one.
    describe("faults that cancel each other", () => {
      const point = (scalar: bigint) => bn254.G1.Point.BASE.multiply(scalar);
      const moved = (place: "a" | "c", claim: Claim, by: bigint): Claim => {
        const [x, y] = claim.proof[place];
        const sum = bn254.G1.Point.fromAffine({ x, y }).add(point(by)).toAffine();
        return { ...claim, proof: { ...claim.proof, [place]: [sum.x, sum.y] } };
      };
      const cases: Record<string, [Claim, Claim]> = {
        "in C": [moved("c", aClaim(), 5n), moved("c", aClaim(), FIELD_ORDER - 5n)],
        // Both are made with the same B.
        "in A": [moved("a", aClaim(), 6n), moved("a", aClaim(), FIELD_ORDER - 6n)],
        "over two kinds": [
          moved("c", aClaim({ kind: "private-swap" }), 9n),
          moved("c", aClaim({ kind: "spend9" }), FIELD_ORDER - 9n),
        ],
        "in the signals": [
          { ...aClaim(), signals: SIGNALS.spend.with(0, mustField(SIGNALS.spend[0]! + 1n)) },
          { ...aClaim(), signals: SIGNALS.spend.with(0, mustField(SIGNALS.spend[0]! - 1n)) },
        ],
      };
      for (const [where, claims] of Object.entries(cases)) {
        it(`${where}: are refused with weights that nobody knew`, () => {
          assert.deepEqual(together(claims), ["PROOF_INVALID", "PROOF_INVALID"]);
          assert.deepEqual(together([aClaim(), ...claims]), [
            "PROOF_HOLDS",
            "PROOF_INVALID",
            "PROOF_INVALID",
          ]);
        });

        it(`${where}: would pass with equal ones, so the weights carry the proof`, () => {
          assert.deepEqual(together(claims, new Uint8Array(32).fill(7)), ["PROOF_HOLDS", "PROOF_HOLDS"]);
        });
      }
    });

    it("no randomness makes a weight of zero, which would leave a claim out", () => {
      for (const byte of [0, 0xff]) {
        const randomness = new Uint8Array(48).fill(byte);
        assert.deepEqual(together([aClaim(), bad(aClaim()), aClaim()], randomness), [
          "PROOF_HOLDS",
          "PROOF_INVALID",
          "PROOF_HOLDS",
        ]);
        assert.deepEqual(together([aClaim(), aClaim(), aClaim()], randomness), [
          "PROOF_HOLDS",
          "PROOF_HOLDS",
          "PROOF_HOLDS",
        ]);
      }
    });

    it("throws for too little randomness and for more claims than have room; none is no fault", () => {
      assert.throws(() => together([aClaim(), aClaim()], someBytes(31)));
      assert.throws(() => toy.verdicts(Array.from({ length: MAX_CLAIMS + 1 }, () => aClaim())));
      assert.deepEqual(together([]), []);
    });
  });

  describe("with the committed keys", () => {
    let pinned: Groth16;
    let pinnedKeys: Readonly<Record<Kind, VerificationKey>>;
    before(async () => {
      pinnedKeys = parseConfiguration(await developmentConfiguration()).verificationKeys;
      pinned = await buildGroth16(pinnedKeys);
    });
    for (const [kind, make] of PROVEN) {
      it(`accepts a real ${kind} and refuses it with one changed signal, as snarkjs does`, async () => {
        const { proof, request } = make();
        const signals = request.signals.map(mustField);
        const key = toSnarkjsKey(pinnedKeys[kind]);
        assert.deepEqual(pinned.verdicts([{ kind, proof, signals }]), ["PROOF_HOLDS"]);
        assert.equal(await groth16.verify(key, signals.map(String), toSnarkjsProof(proof)), true);
        const changed = signals.with(-1, mustField((signals.at(-1)! + 1n) % FIELD_ORDER));
        assert.deepEqual(pinned.verdicts([{ kind, proof, signals: changed }]), ["PROOF_INVALID"]);
        assert.equal(await groth16.verify(key, changed.map(String), toSnarkjsProof(proof)), false);
      });
    }

    it("accepts real ones of every kind at once, and refuses the one that says another amount", () => {
      const claims = PROVEN.map(([kind, make]) => {
        const { proof, request } = make();
        return { kind, proof, signals: request.signals.map(mustField) };
      });
      assert.deepEqual(
        pinned.verdicts(claims, someBytes(64)),
        claims.map(() => "PROOF_HOLDS"),
      );
      const spend = claims[1]!;
      const lie = { ...spend, signals: spend.signals.with(3, mustField(spend.signals[3]! + 1n)) };
      assert.deepEqual(pinned.verdicts(claims.with(1, lie), someBytes(64)), [
        "PROOF_HOLDS",
        "PROOF_INVALID",
        "PROOF_HOLDS",
        "PROOF_HOLDS",
      ]);
    });
  });
});

function fields(...values: bigint[]): Field[] {
  return values.map(mustField);
}

function nobleG2([x, y]: Proof["b"]) {
  const { Fp2 } = bn254.fields;
  return bn254.G2.Point.fromAffine({ x: Fp2.fromBigTuple([...x]), y: Fp2.fromBigTuple([...y]) });
}
