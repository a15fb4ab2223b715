import assert from "node:assert/strict";
import fc from "fast-check";
import {
  attestationDigest,
  domainSeparator,
  rootUpdateDigest,
} from "../../../../shared/protocol/attestation.ts";
import { FIELD_ORDER, mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { toAddress, toBytes32, toHex } from "../../../../shared/protocol/bytes.ts";
import { KIND_NAMES, KINDS, type Home } from "../../../../shared/protocol/statements.ts";
import { attestationType, digestOf, domainSeparatorOf, rootUpdateType } from "../../../support/oracle.ts";

const uint64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toBytes32);
const field: fc.Arbitrary<Field> = fc.bigInt({ min: 0n, max: FIELD_ORDER - 1n }).map(mustField);
const home: fc.Arbitrary<Home> = fc.record({
  chainId: uint64,
  pool: fc.uint8Array({ minLength: 20, maxLength: 20 }).map(toAddress),
});

describe("shared/protocol/attestation beside ethers' TypedDataEncoder", () => {
  it("hashes the domain the same", () => {
    fc.assert(
      fc.property(home, (at) => {
        assert.equal(toHex(domainSeparator(at)), domainSeparatorOf(at));
      }),
    );
  });

  it("hashes attestations the same", () => {
    const message = fc.record({
      kind: fc.constantFrom(...KIND_NAMES),
      verifyingKeyHash: bytes32,
      statementHash: bytes32,
      proofHash: bytes32,
      deadline: uint64,
    });
    fc.assert(
      fc.property(home, message, (at, said) => {
        const theirs = { ...said, kind: KINDS[said.kind].id };
        const expected = digestOf(attestationType(at), theirs);
        assert.equal(toHex(attestationDigest(at, said)), expected);
      }),
    );
  });

  it("hashes root updates the same", () => {
    const message = fc.record({
      oldRoot: field,
      newRoot: field,
      fromIndex: uint64,
      toIndex: uint64,
      headBefore: bytes32,
      headAfter: bytes32,
    });
    fc.assert(
      fc.property(home, message, (at, said) => {
        const expected = digestOf(rootUpdateType(at), said);
        assert.equal(toHex(rootUpdateDigest(at, said)), expected);
      }),
    );
  });
});
