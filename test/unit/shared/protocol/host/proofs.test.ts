import assert from "node:assert/strict";
import fc from "fast-check";
import { BASE_FIELD_ORDER } from "../../../../../shared/protocol/brands.ts";
import { concatBytes, word } from "../../../../../shared/protocol/bytes.ts";
import {
  encodeProof,
  parseSnarkjsProof,
  toSnarkjsProof,
} from "../../../../../shared/protocol/host/proofs.ts";
import { decodeProof, PROOF_BYTES, type Proof } from "../../../../../shared/protocol/proof.ts";

const coordinate = fc.bigInt({ min: 0n, max: BASE_FIELD_ORDER - 1n });
const pair = fc.tuple(coordinate, coordinate);
const anyProof: fc.Arbitrary<Proof> = fc.record(
  { a: pair, b: fc.tuple(pair, pair), c: pair },
  { noNullPrototype: true },
);

describe("shared/protocol/host/proofs", () => {
  it("writes eight words in EIP-197's order, imaginary part first", () => {
    const proof: Proof = {
      a: [1n, 2n],
      b: [
        [4n, 3n],
        [6n, 5n],
      ],
      c: [7n, 8n],
    };
    const bytes = encodeProof(proof);
    assert.equal(bytes.length, PROOF_BYTES);
    assert.deepEqual(bytes, concatBytes(...[1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n].map(word)));
    assert.deepEqual(decodeProof(bytes), proof);
  });

  it("reads snarkjs's form and writes it back", () => {
    fc.assert(
      fc.property(anyProof, (proof) => assert.deepEqual(parseSnarkjsProof(toSnarkjsProof(proof)), proof)),
    );
    const {
      protocol: _p,
      curve: _c,
      ...bare
    } = toSnarkjsProof({
      a: [1n, 2n],
      b: [
        [1n, 2n],
        [3n, 4n],
      ],
      c: [5n, 6n],
    });
    assert.notEqual(parseSnarkjsProof(bare), undefined);
  });

  describe("reads nothing else as snarkjs's form", () => {
    const good = toSnarkjsProof({
      a: [1n, 2n],
      b: [
        [1n, 2n],
        [3n, 4n],
      ],
      c: [5n, 6n],
    });
    const bad: Record<string, unknown> = {
      nothing: undefined,
      null: null,
      text: "proof",
      "another protocol": { ...good, protocol: "plonk" },
      "another curve": { ...good, curve: "bls12381" },
      "a missing point": { ...good, pi_c: undefined },
      "a point that is not affine": { ...good, pi_a: ["1", "2", "2"] },
      "a point at infinity": { ...good, pi_a: ["0", "1", "0"] },
      "a coordinate too many": { ...good, pi_c: ["1", "2", "1", "1"] },
      "B that is not affine": {
        ...good,
        pi_b: [
          ["1", "2"],
          ["3", "4"],
          ["1", "1"],
        ],
      },
      "B at infinity": {
        ...good,
        pi_b: [
          ["1", "2"],
          ["3", "4"],
          ["0", "0"],
        ],
      },
      "B without a part": { ...good, pi_b: [["1"], ["3", "4"], ["1", "0"]] },
      "a number instead of text": { ...good, pi_a: [1, "2", "1"] },
      "a leading zero": { ...good, pi_a: ["01", "2", "1"] },
      "a sign": { ...good, pi_a: ["-1", "2", "1"] },
      hexadecimal: { ...good, pi_a: ["0x1", "2", "1"] },
      "a coordinate of q": { ...good, pi_a: [String(BASE_FIELD_ORDER), "2", "1"] },
      "a coordinate of ten million digits": {
        ...good,
        pi_b: [
          ["9".repeat(10_000_000), "2"],
          ["3", "4"],
          ["1", "0"],
        ],
      },
    };
    for (const [what, value] of Object.entries(bad)) {
      it(what, () => assert.equal(parseSnarkjsProof(value), undefined));
    }
  });
});
