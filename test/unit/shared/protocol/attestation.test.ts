import assert from "node:assert/strict";
import { TypedDataEncoder } from "ethers";
import fc from "fast-check";
import {
  ATTESTATION_TYPE,
  attestationDigest,
  DOMAIN_NAME,
  DOMAIN_VERSION,
  domainSeparator,
  ROOT_UPDATE_TYPE,
  rootUpdateDigest,
} from "../../../../shared/protocol/attestation.ts";
import { FIELD_ORDER, mustField, type Field } from "../../../../shared/protocol/brands.ts";
import { toAddress, toBytes32, toHex } from "../../../../shared/protocol/bytes.ts";
import { KIND_NAMES, KINDS, type Home } from "../../../../shared/protocol/statements.ts";

/** "Name(type field,…)" as ethers wants it, so that the strings in the source are what is compared. */
function typesOf(text: string): Record<string, { name: string; type: string }[]> {
  const [, name = "", fields = ""] = /^(\w+)\((.*)\)$/.exec(text) ?? [];
  return {
    [name]: fields.split(",").map((field) => ({ type: field.split(" ")[0]!, name: field.split(" ")[1]! })),
  };
}

const uint64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toBytes32);
const field: fc.Arbitrary<Field> = fc.bigInt({ min: 0n, max: FIELD_ORDER - 1n }).map(mustField);
const home: fc.Arbitrary<Home> = fc.record({
  chainId: uint64,
  pool: fc.uint8Array({ minLength: 20, maxLength: 20 }).map(toAddress),
});
const domainOf = ({ chainId, pool }: Home) => ({
  name: DOMAIN_NAME,
  version: DOMAIN_VERSION,
  chainId,
  verifyingContract: pool,
});

describe("shared/protocol/attestation beside ethers' TypedDataEncoder", () => {
  it("hashes the domain the same", () => {
    fc.assert(
      fc.property(home, (at) => {
        assert.equal(toHex(domainSeparator(at)), TypedDataEncoder.hashDomain(domainOf(at)));
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
        const expected = TypedDataEncoder.hash(domainOf(at), typesOf(ATTESTATION_TYPE), theirs);
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
        const expected = TypedDataEncoder.hash(domainOf(at), typesOf(ROOT_UPDATE_TYPE), said);
        assert.equal(toHex(rootUpdateDigest(at, said)), expected);
      }),
    );
  });
});
