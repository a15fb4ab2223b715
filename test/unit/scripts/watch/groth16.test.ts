import assert from "node:assert/strict";
import { createProofVerifier } from "../../../../scripts/watch/groth16.ts";
import { BASE_FIELD_ORDER, FIELD_ORDER, mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { concatBytes, word } from "../../../../shared/protocol/bytes.ts";
import { compressProof, type Proof } from "../../../../shared/protocol/proof.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../../shared/protocol/statements.ts";
import type { VerificationKey } from "../../../../shared/protocol/verification-key.ts";
import {
  forge,
  g1,
  g2,
  negate,
  negateG2,
  onTwistOutsideSubgroup,
  toyKey,
} from "../../enclave/support/toy-groth16.ts";

const fields = (...values: readonly bigint[]): Field[] => values.map(mustField);
/** IC[0] + 2·IC[1] is zero: the signals [2, 0, …] make X the point at infinity. */
const icOf = (kind: Kind): bigint[] => [
  -10n,
  5n,
  ...Array.from({ length: signalCount(kind) - 1 }, (_, i) => BigInt(i + 6)),
];
const signalsOf = (kind: Kind): Field[] =>
  fields(...Array.from({ length: signalCount(kind) }, (_, i) => FIELD_ORDER - 1n - BigInt(i)));

describe("scripts/watch/groth16", function () {
  const keys = Object.fromEntries(KIND_NAMES.map((kind) => [kind, toyKey(icOf(kind))])) as Record<
    Kind,
    VerificationKey
  >;
  const verifier = createProofVerifier(keys);
  const ic = icOf("spend");
  const signals = signalsOf("spend");
  const good = forge(ic, signals);
  const faultOf = (proof: Proof, of = signals): string | undefined =>
    verifier.faultOf("spend", compressProof(proof), of);

  for (const kind of KIND_NAMES) {
    it(`accepts a proof of ${kind}, and of these signals only`, () => {
      const own = signalsOf(kind);
      const proof = compressProof(forge(icOf(kind), own));
      assert.equal(verifier.faultOf(kind, proof, own), undefined);
      const last = own.length - 1;
      assert.equal(verifier.faultOf(kind, proof, own.with(last, mustField(1n))), "EQUATION_FAILS");
    });
  }

  it("accepts either parity of every y, and not the other one in its place", () => {
    const met = new Set<bigint>();
    for (const [a, b] of [
      [2n, 3n],
      [3n, 4n],
      [5n, 7n],
    ] as const) {
      const proof = forge(ic, signals, a, b);
      assert.equal(faultOf(proof), undefined);
      assert.equal(faultOf({ ...proof, a: negate(proof.a), b: negateG2(proof.b) }), undefined, "the twin");
      assert.equal(faultOf({ ...proof, a: negate(proof.a) }), "EQUATION_FAILS");
      assert.equal(faultOf({ ...proof, b: negateG2(proof.b) }), "EQUATION_FAILS");
      assert.equal(faultOf({ ...proof, c: negate(proof.c) }), "EQUATION_FAILS");
      // Each with its negative: both parities of A, both of B, in every combination that they have.
      met.add((proof.a[1] & 1n) * 2n + (proof.b[1][0] & 1n));
    }
    assert.ok(met.size > 1, "more than one combination of parities");
  });

  it("accepts signals whose sum is the point at infinity, and no others for that proof", () => {
    const zero = fields(2n, ...Array.from({ length: signals.length - 1 }, () => 0n));
    const proof = forge(ic, zero);
    assert.equal(faultOf(proof, zero), undefined);
    assert.equal(faultOf(proof), "EQUATION_FAILS");
  });

  it("refuses another point in any place", () => {
    assert.equal(faultOf({ ...good, a: g1(8n) }), "EQUATION_FAILS");
    assert.equal(faultOf({ ...good, b: g2(8n) }), "EQUATION_FAILS");
    assert.equal(faultOf({ ...good, c: g1(8n) }), "EQUATION_FAILS");
  });

  it("refuses a B on the twist and outside the subgroup", () => {
    assert.equal(faultOf({ ...good, b: onTwistOutsideSubgroup() }), "PROOF_NOT_IN_SUBGROUP");
  });

  it("refuses coordinates that no point has, and infinity, which is spelled zero", () => {
    const bytes = compressProof(good);
    const at = (place: number, value: bigint): Uint8Array =>
      concatBytes(...[0, 1, 2, 3].map((i) => (i === place ? word(value) : bytes.slice(32 * i, 32 * i + 32))));
    for (const place of [0, 3]) {
      assert.equal(verifier.faultOf("spend", at(place, 0n), signals), "PROOF_NOT_ON_CURVE");
    }
    for (const place of [0, 1, 2, 3]) {
      assert.equal(verifier.faultOf("spend", at(place, BASE_FIELD_ORDER), signals), "PROOF_MALFORMED");
    }
    // The flag belongs to the imaginary part alone.
    assert.equal(verifier.faultOf("spend", at(2, 1n << 255n), signals), "PROOF_MALFORMED");
    assert.equal(verifier.faultOf("spend", new Uint8Array(128), signals), "PROOF_NOT_ON_CURVE");
  });

  it("refuses another length", () => {
    const bytes = compressProof(good);
    for (const other of [new Uint8Array(0), bytes.slice(1), concatBytes(bytes, Uint8Array.of(0))]) {
      assert.equal(verifier.faultOf("spend", other, signals), "PROOF_MALFORMED");
    }
  });
});
